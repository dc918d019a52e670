"""The end of a thought that spends its budget, repeats itself or has no answer, a stage.

A thought is cut there, a sentence closes it, and the rest of the reply is dropped. A reply that is
a thought and no answer goes on behind the closed thought, once, in place of its finish. The stage
stands before the thought events. The text cut anywhere gives the same message.
"""

import re
from dataclasses import replace

from converter.core.model.events import (
    BYTES_PER_TOKEN,
    Event,
    Finish,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
    joined,
)
from converter.core.reading.findings import Findings
from converter.core.reading.reading import ThoughtLimits

SHORTEST, LONGEST = 4, 128
"""Words of a period."""
TIMES = 3
LEAST = 250
"""Words of a thought before the first look, because a short one may count or list."""
EVERY = 64
"""Words between two looks."""
LONGEST_WORD = 64
_CJK = r"\u2e80-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]{{1,{LONGEST_WORD}}}")
"""Chinese and Japanese have no blanks, so that each character is a word; what else has none is cut,
because a word is held until it ends.
"""


class LoopFinder:
    """Words of one thought in. `period`: the words that repeat, three times in a row and then most
    often for ever, once they are found.

    Cut anywhere, the same answer: a word counts when the next character has come. Linear: each word
    is read once, and each look at the tail costs no more than the words since the last one.
    """

    def __init__(self) -> None:
        self.period: tuple[str, ...] = ()
        self._part = ""
        self._count = 0
        self._tail: list[str] = []

    def feed(self, text: str) -> int | None:
        """Return where in `text` the third time ends, None while there is no loop."""
        words = _words(whole := self._part + text)
        held = words.pop() if words and not whole[-1].isspace() else ""
        begin, done = len(self._part), 0
        self._part = held
        while done < len(words):
            few = EVERY - self._count % EVERY
            self._tail += words[done : done + few]
            self._count += len(words[done : done + few])
            done += few
            if done <= len(words) and self._count >= LEAST and self._repeats():
                return max(_end_of(whole, done) - begin, 0)
        return None

    def _repeats(self) -> bool:
        tail = self._tail
        del tail[: -TIMES * LONGEST]
        last, before = tail[-1], tail[-2 : -LONGEST - 2 : -1]
        at = SHORTEST - 2
        while True:
            try:
                at = before.index(last, at + 1)
            except ValueError:
                return False
            size = at + 1
            if tail[-size:] == tail[-2 * size : -size] == tail[-3 * size : -2 * size]:
                self.period = tuple(tail[-size:])
                return True


def _words(text: str) -> list[str]:
    """Return the words; almost always blanks alone tell them apart, which takes a third as long."""
    words = text.split() if text.isascii() else []
    return words if words and max(map(len, words)) <= LONGEST_WORD else _WORD.findall(text)


def _end_of(text: str, count: int) -> int:
    """Return where the word of this number ends."""
    matches = _WORD.finditer(text)
    return next(word.end() for number, word in enumerate(matches, 1) if number == count)


JOINT = "\n\n"
"""Between the thought and the sentence that ends it."""
MARK = 2
"""Tokens of an opener or a closer and the line ends beside it, in most vocabularies."""


def added_tokens(sentence: str, opened: bool) -> int:
    """Return about how many tokens are put into the turn that goes on behind a thought. `opened`:
    the model has written its opener.
    """
    marks = MARK if opened else 2 * MARK
    return len((JOINT + sentence).encode()) // BYTES_PER_TOKEN + marks


class ThoughtEnder:
    """The thoughts of one choice. Where nothing is ended, words pass it by."""

    def __init__(self, limits: ThoughtLimits, findings: Findings) -> None:
        self._limits, self._findings, self._ends = limits, findings, findings.ends
        self._left = BYTES_PER_TOKEN * max(limits.budget or 0, 0)
        self._finder: LoopFinder | None = None
        self._looks = limits.loops != "off"
        # nothing but thoughts so far, of a reply that does not go on already
        asks = limits.answers and limits.goes_on and not findings.ends.reasons
        self._alone = asks or limits.shows
        self._turn: list[Text | Thinking] = []
        self._has_calls = self._thinks = self._is_over = False
        self._in_thought = False  # nothing was said since a thought, though it have its closer

    def feed(self, event: Event) -> list[Event]:
        """Return the part of `event` that goes on."""
        if self._is_over:
            return []
        match event:
            case Thinking():
                return self._think(event)
            case Finish(at_limit=True) if self._in_thought:
                return [replace(event, reason="length")]
            case Finish(reason="stop", stop_sequence=None) if self._alone:
                thoughts = [thinking for thinking in self._turn if isinstance(thinking, Thinking)]
                follow = self._shown if self._limits.shows else self._go_on
                return follow(event, thoughts) if thoughts else [event]
            case Text():
                if event.text.strip():
                    self._alone = self._in_thought = False
                self._keep(Text(event.text))
            case ToolCall():
                self._alone, self._has_calls, self._in_thought = False, True, False
        self._finder, self._thinks = None, False
        return [event]

    def close(self) -> list[Event]:
        """Return nothing: nothing is held."""
        return []

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return words that may come later: those of a thought only if it is not to be ended. Of a
        thought alone only the finish matters, which comes behind them.
        """
        return None if self._is_over or (kind is Thinking and self._limits.cuts) else (kind, "")

    def _keep(self, words: Text | Thinking) -> None:
        if self._limits.cuts or self._alone:
            self._turn.append(words)

    def _think(self, event: Thinking) -> list[Event]:
        text, why = self._loop(event.text)
        if self._limits.budget is not None:
            paid, self._left = _spend(text, self._left)
            text, why = paid, why if paid == text else "budget"
        if not why:
            self._keep(Thinking(text))
            self._thinks = self._in_thought = True
            return [event]
        return self._end(event, text, why)

    def _loop(self, text: str) -> tuple[str, str]:
        """Return what of the text comes before the end of a loop, and `loop` if there is one that
        is to be ended.
        """
        if not self._looks:
            return text, ""
        self._finder = self._finder or LoopFinder()
        at = self._finder.feed(text)
        self._looks = at is None
        self._findings.loop = self._finder.period or self._findings.loop
        return (text, "") if at is None or self._limits.loops != "end" else (text[:at], "loop")

    def _end(self, event: Thinking, text: str, why: str) -> list[Event]:
        self._is_over = True
        thought = sum(
            len(thinking.text) for thinking in self._turn if isinstance(thinking, Thinking)
        )
        self._ends.at = thought + len(text)
        events = [text] if text else []
        if self._limits.sentence:
            events.append((JOINT if events or self._thinks else "") + self._limits.sentence)
        for words in events:
            self._keep(Thinking(words))
        goes_on = self._limits.goes_on and not self._has_calls
        self._ends.turn = tuple(joined(self._turn)) if goes_on else ()
        opened = self._findings.marks is not None
        self._ends.added = added_tokens(self._limits.sentence, opened)
        self._ends.reasons.append(why)
        closed = [ThinkingEnd(event.choice)] if events or self._thinks else []
        return [*(_shortened(event, words) for words in events), *closed]

    def _shown(self, finish: Finish, thoughts: list[Thinking]) -> list[Event]:
        """Return a thought that has no answer as the answer, too."""
        answer = "".join(thinking.text for thinking in thoughts)
        return [ThinkingEnd(finish.choice), Text(answer, finish.choice), finish]

    def _go_on(self, finish: Finish, thoughts: list[Thinking]) -> list[Event]:
        """End a reply that is nothing but thoughts. Marks in the text are the model's own tokens;
        those of a thought that the server sent in a field are put into the turn that goes on.
        """
        self._is_over = True
        self._ends.added = 0 if self._findings.marks else 2 * MARK
        self._ends.at = sum(len(thinking.text) for thinking in thoughts)
        self._ends.turn = tuple(joined(thoughts))
        self._ends.reasons.append("unanswered")
        return [ThinkingEnd(finish.choice)] if self._thinks else []


def _shortened(event: Thinking, text: str) -> Thinking:
    """Return the beginning of a thought, without the fields that tell all of it in another form
    than as a string.
    """
    if event.own is None:
        return replace(event, text=text)
    words = {name: text for name, value in event.own.fields.items() if isinstance(value, str)}
    return replace(event, text=text, own=replace(event.own, fields=words))


def _spend(text: str, left: int) -> tuple[str, int]:
    """Return the whole characters that `left` bytes pay for, and the bytes that are left then."""
    written = text.encode(errors="surrogatepass")  # JSON can say half a character
    end = min(left, len(written))
    while 0 < end < len(written) and written[end] & 0xC0 == 0x80:  # in the middle of a character
        end -= 1
    return written[:end].decode(errors="surrogatepass"), left - end
