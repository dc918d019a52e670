"""A stage that ends a thought which has spent its budget or repeats itself, and a reply that is a
thought without an answer.

A thought is cut at the limit, a sentence is put at its end, and the rest of the reply is dropped.
Other code then asks the server to continue the turn behind this thought. It does the same, once,
behind a thought without an answer. If the server itself ends the thought, only the rest of the
thought is dropped. The result does not depend on where the stream was cut.
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
"""The fewest and the most words of a period: the words that a loop repeats."""
TIMES = 3
LEAST = 250
"""How many words a thought has before it is searched for a loop. A shorter one may repeat words in
a list.
"""
EVERY = 64
"""How many words come between two searches for a loop."""
LONGEST_WORD = 64
_CJK = r"\u2e80-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]{{1,{LONGEST_WORD}}}")
"""A word. Chinese and Japanese have no blanks between words, so that each character counts as a
word. Other text without blanks is cut at `LONGEST_WORD` characters, because a word is held until it
ends.
"""


class LoopFinder:
    """A search for a loop in one thought: the same words three times in a row. A model that writes
    them so often mostly repeats them for ever.

    The result does not depend on how the text is cut, because a word counts only when the next
    character has come. The time is linear: each word is read once, and a search takes no longer
    than the reading of the words since the last search.

    Attributes:
        period: the words that repeat; empty until a loop is found.
    """

    def __init__(self) -> None:
        self.period: tuple[str, ...] = ()
        self._part = ""
        self._count = 0
        self._tail: list[str] = []

    def feed(self, text: str) -> int | None:
        """Return the offset in `text` at which the third repetition ends; `None` if no loop is
        found.
        """
        parts = _split(whole := self._part + text)
        held = parts.pop() if parts and not whole[-1].isspace() else ""
        begin, done = len(self._part), 0
        self._part = held
        while done < len(parts):
            few = EVERY - self._count % EVERY
            self._tail += parts[done : done + few]
            self._count += len(parts[done : done + few])
            done += few
            if done <= len(parts) and self._count >= LEAST and self._repeats():
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


def _split(text: str) -> list[str]:
    """Return the words of a text."""
    # `split` takes a third of the pattern's time, and is right for almost all ASCII text.
    parts = text.split() if text.isascii() else []
    return parts if parts and max(map(len, parts)) <= LONGEST_WORD else _WORD.findall(text)


def _end_of(text: str, count: int) -> int:
    """Return the offset at which the word number `count` ends, counted from 1."""
    matches = _WORD.finditer(text)
    return next(word.end() for number, word in enumerate(matches, 1) if number == count)


JOINT = "\n\n"
"""The text between a thought and the sentence at its end."""
OVERRUN = 4096
"""Characters for which a thought may go on after its server was told to end it: some seconds of
tokens, and the sentence.
"""
MARK = 2
"""How many tokens an opener or a closer has, with the line end beside it, in most vocabularies."""


def added_tokens(sentence: str, opened: bool) -> int:
    """Return about how many tokens the addon adds to a turn that is continued behind a thought: the
    sentence and the marks. `opened`: the model itself has written the opener.
    """
    marks = MARK if opened else 2 * MARK
    return len((JOINT + sentence).encode()) // BYTES_PER_TOKEN + marks


class ThoughtEnder:
    """The stage, for one choice."""

    def __init__(self, limits: ThoughtLimits, findings: Findings) -> None:
        self._limits, self._findings, self._ends = limits, findings, findings.ends
        self._left = BYTES_PER_TOKEN * max(limits.budget or 0, 0)
        self._finder: LoopFinder | None = None
        self._looks = limits.loops != "off"
        # `_alone`: the reply is only thoughts so far. It is always False if nothing is done about a
        # thought without an answer, or if this reply is a continuation already.
        asks = limits.answers and limits.goes_on and not findings.ends.reasons
        self._alone = asks or limits.shows
        self._turn: list[Text | Thinking] = []
        self._has_calls = self._thinks = self._is_over = False
        self._in_thought = False  # no text or call since the last thought, even if it was closed
        self._by_server = limits.by_server and not findings.ends.here
        self._overrun = 0

    def feed(self, event: Event) -> list[Event]:
        """Return the event, up to the end of a thought that is ended. The rest of the thought, or
        of the reply, is dropped.
        """
        if self._is_over or (self._ends.pending and self._is_rest(event)):
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
        """Return an empty list, because nothing is held."""
        return []

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Pass plain text on; see `Stage.plain`. Thinking is plain only if no thought can be ended
        before its end: a reply without answer is known only at its finish.
        """
        waits = self._is_over or self._ends.pending
        return None if waits or (kind is Thinking and self._limits.cuts) else (kind, "")

    def _is_rest(self, event: Event) -> bool:
        """Return True if an event belongs to the thought that the server is ending."""
        if isinstance(event, Thinking):
            self._overrun += len(event.text)
            self._is_over = self._overrun > OVERRUN
            if self._is_over:
                self._ends.leave()
            return True
        self._ends.pending = not isinstance(event, ThinkingEnd | Text | ToolCall | Finish)
        return isinstance(event, ThinkingEnd)

    def _keep(self, event: Text | Thinking) -> None:
        if self._limits.cuts or self._alone:
            self._turn.append(event)

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
        """Return the text up to the end of a loop, and `loop` as the reason to end the thought;
        else the whole text and no reason.
        """
        if not self._looks:
            return text, ""
        self._finder = self._finder or LoopFinder()
        at = self._finder.feed(text)
        self._looks = at is None
        self._findings.loop = self._finder.period or self._findings.loop
        return (text, "") if at is None or self._limits.loops != "end" else (text[:at], "loop")

    def _end(self, event: Thinking, text: str, why: str) -> list[Event]:
        self._is_over, self._overrun = not self._by_server, 0
        self._ends.by_server += self._by_server
        self._ends.pending = self._by_server
        thought = sum(
            len(thinking.text) for thinking in self._turn if isinstance(thinking, Thinking)
        )
        self._ends.at = thought + len(text)
        texts = [text] if text else []
        if self._limits.sentence:
            texts.append((JOINT if texts or self._thinks else "") + self._limits.sentence)
        for each in texts:
            self._keep(Thinking(each))
        goes_on = self._limits.goes_on and not self._has_calls
        self._ends.turn = tuple(joined(self._turn)) if goes_on else ()
        opened = self._findings.marks is not None
        self._ends.added = added_tokens(self._limits.sentence, opened)
        self._ends.reasons.append(why)
        closed = [ThinkingEnd(event.choice)] if texts or self._thinks else []
        return [*(_shortened(event, each) for each in texts), *closed]

    def _shown(self, finish: Finish, thoughts: list[Thinking]) -> list[Event]:
        """Return a thought without answer once more, as the answer, and then the finish."""
        answer = "".join(thinking.text for thinking in thoughts)
        return [ThinkingEnd(finish.choice), Text(answer, finish.choice), finish]

    def _go_on(self, finish: Finish, thoughts: list[Thinking]) -> list[Event]:
        """End a reply that is only thoughts, so that the server is asked to continue it.

        If the thought came in a field, two marks are added to the continued turn. If it came in the
        text, the model has written its marks itself.
        """
        self._is_over = True
        self._ends.added = 0 if self._findings.marks else 2 * MARK
        self._ends.at = sum(len(thinking.text) for thinking in thoughts)
        self._ends.turn = tuple(joined(thoughts))
        self._ends.reasons.append("unanswered")
        return [ThinkingEnd(finish.choice)] if self._thinks else []


def _shortened(event: Thinking, text: str) -> Thinking:
    """Return the event with the beginning of its text. Fields that are not strings are left out,
    because they hold the whole text in another form.
    """
    if event.own is None:
        return replace(event, text=text)
    fields = {name: text for name, value in event.own.fields.items() if isinstance(value, str)}
    return replace(event, text=text, own=replace(event.own, fields=fields))


def _spend(text: str, left: int) -> tuple[str, int]:
    """Return the text that fits in `left` bytes of UTF-8, and the number of bytes that remain."""
    written = text.encode(errors="surrogatepass")  # the text may have half a character
    end = min(left, len(written))
    while 0 < end < len(written) and written[end] & 0xC0 == 0x80:  # the middle of a character
        end -= 1
    return written[:end].decode(errors="surrogatepass"), left - end
