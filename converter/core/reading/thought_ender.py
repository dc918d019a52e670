"""`ThoughtEnder`, a stage, ends a thought that has spent its budget or repeats itself
(`LoopFinder`), and acts on a reply that is a thought without an answer. `ThoughtLimits` (`reading`)
says which of these steps it takes:

- At its limit the thought is cut, a sentence is put at its end, and the rest of the reply is
  dropped. The addon (`continued_reply`) then asks the server to continue the turn, if the server
  can.
- Some servers can end a running thought when the addon asks them to. Then only the rest of the
  thought is dropped, and the reply goes on.
- If the whole reply is a thought, its text is also sent as the answer, or the addon asks the server
  once to continue the reply.
- A thought that repeats itself is not ended but only reported, if `loops` is `tell`.

The result does not depend on where the stream was cut into pieces.
"""

import re
from dataclasses import replace
from itertools import islice

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
from converter.core.reading.thought import part_of

SHORTEST, LONGEST = 4, 128
"""The fewest and the most words of a period. A period is the words that a loop repeats."""
TIMES = 3
"""How often the period must stand in a row to be a loop."""
SHORTEST_THOUGHT = 250
"""The fewest words of a thought that is searched for a loop. A shorter thought may repeat words in
a list.
"""
SEARCH_EVERY = 64
"""How many words come between two searches for a loop."""
LONGEST_WORD = 64
"""The most characters of a word; longer text without blanks is cut into words of this length."""
_CJK = r"\u2e80-\u9fff\uf900-\ufaff"
"""The characters of Chinese and Japanese, as ranges for a pattern."""
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]{{1,{LONGEST_WORD}}}")
"""The pattern of a word. In Chinese and Japanese, which have no blanks between words, each
character counts as a word. Other text without blanks is cut at `LONGEST_WORD` characters, because a
word is held until its end.
"""


class LoopFinder:
    """A search for a loop in one thought: the same words three times in a row. A model that has
    repeated words three times mostly does not stop.

    The result does not depend on where the text is cut into pieces, because a word counts only when
    the character behind it has come. The time grows linearly with the text: each word is read once,
    and a search takes no longer than the reading of the words since the last search.

    Attributes:
        period: the words that repeat; empty until a loop is found.
    """

    def __init__(self) -> None:
        self.period: tuple[str, ...] = ()
        self._part = ""
        self._count = 0
        self._tail: list[str] = []

    def feed(self, text: str) -> int | None:
        """Read the next text of the thought. If a loop is found, return the offset in `text`
        directly behind three equal periods; else `None`.
        """
        whole = self._part + text
        # In ASCII text without very long words, `str.split` returns the same words as the pattern
        # `_WORD`, in a third of the time.
        parts = whole.split() if whole.isascii() else []
        if not parts or max(map(len, parts)) > LONGEST_WORD:
            parts = _WORD.findall(whole)
        held = parts.pop() if parts and not whole[-1].isspace() else ""
        begin, done = len(self._part), 0
        self._part = held
        while done < len(parts):
            few = SEARCH_EVERY - self._count % SEARCH_EVERY
            self._tail += parts[done : done + few]
            self._count += len(parts[done : done + few])
            done += few
            if done <= len(parts) and self._count >= SHORTEST_THOUGHT and self._find_period():
                word = next(islice(_WORD.finditer(whole), done - 1, None))
                return max(word.end() - begin, 0)
        return None

    def _find_period(self) -> bool:
        """Return True, and set `period`, if the last words are the same period three times."""
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


JOINT = "\n\n"
"""The text between a thought and the sentence that the addon adds at its end."""
OVERRUN = 4096
"""How many characters of a thought may still come after the server was asked to end it: enough for
the tokens of some seconds and for the sentence. If more come, the addon ends the thought itself.
"""
MARK_TOKENS = 2
"""An estimate of the tokens of one opener or closer, with the line end beside it."""


def added_tokens(sentence: str, opened: bool) -> int:
    """Return an estimate of the tokens that the addon adds to a turn before it asks the server to
    continue the turn behind a thought: the sentence at the thought's end, the closer, and the
    opener unless the model has written it itself (`opened`).
    """
    marks = MARK_TOKENS if opened else 2 * MARK_TOKENS
    return len((JOINT + sentence).encode()) // BYTES_PER_TOKEN + marks


class ThoughtEnder:
    """The stage, for one choice: it ends thoughts at the limits of `ThoughtLimits`."""

    def __init__(self, limits: ThoughtLimits, findings: Findings) -> None:
        self._limits, self._findings, self._ends = limits, findings, findings.ends
        self._left = BYTES_PER_TOKEN * max(limits.budget or 0, 0)
        self._finder: LoopFinder | None = None
        self._looks = limits.loops != "off"
        # If this reply itself continues a reply whose thought was ended, and also has no answer, it
        # is not continued a second time.
        asks = limits.answers and limits.goes_on and not findings.ends.reasons
        # True while the reply has only thoughts, if something must be done when it ends so: ask the
        # server to continue it (`asks`), or send its thoughts as the answer (`shows`).
        self._alone = asks or limits.shows
        self._turn: list[Text | Thinking] = []
        self._has_calls = self._thinks = self._is_over = False
        # True from the first thinking of a thought until a call, or text that is not blank, comes
        # behind it.
        self._in_thought = False
        self._by_server = limits.by_server and not findings.ends.by_addon
        self._overrun = 0

    def feed(self, event: Event) -> list[Event]:
        """Return the event. If it makes a thought exceed its limit, return it cut at the limit, and
        behind it the sentence (`ThoughtLimits.sentence`) and the thought's end. All later events
        are dropped; but if the server itself ends the thought, only those of this thought. A finish
        may be replaced too: by `length`, if the limit of tokens cut a thought, and by
        `_finish_unanswered`.
        """
        if self._is_over or (self._ends.pending and self._must_drop(event)):
            return []
        match event:
            case Thinking():
                return self._read_thinking(event)
            case Finish(at_limit=True) if self._in_thought:
                return [replace(event, reason="length")]
            case Finish(reason="stop", stop_sequence=None) if self._alone:
                return self._finish_unanswered(event)
            case Text():
                if event.text.strip():
                    self._alone = self._in_thought = False
                self._keep_for_turn(Text(event.text))
            case ToolCall():
                self._alone, self._has_calls, self._in_thought = False, True, False
        self._finder, self._thinks = None, False
        return [event]

    def close(self) -> list[Event]:
        """Return an empty list, because nothing is held."""
        return []

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `kind` and no characters if text of this kind may now skip this stage on the fast
        path, whatever characters it has (`Stage.plain`). Return `None` for thinking that may have
        to be ended at a limit, and for all text while the rest of a thought or reply is dropped.
        """
        waits = self._is_over or self._ends.pending
        return None if waits or (kind is Thinking and self._limits.cuts) else (kind, "")

    def _must_drop(self, event: Event) -> bool:
        """Return True if the event belongs to the thought that the server was asked to end, or to
        the rest of a reply that is not read any further. Such events are dropped.

        The addon reads no further, and ends the thought itself, if the thought goes on too long
        (`OVERRUN`), or if the reply ends with this thought and the server can continue it.
        """
        if isinstance(event, Thinking):
            self._overrun += len(event.text)
            self._is_over = self._overrun > OVERRUN
        elif isinstance(event, Finish):
            self._is_over = bool(self._ends.turn)
        if self._is_over:
            self._ends.count_pending_by_addon()
            return True
        answers = isinstance(event, Text) and event.text.strip()
        self._ends.pending = not (answers or isinstance(event, ToolCall | Finish))
        return isinstance(event, Thinking | ThinkingEnd)

    def _keep_for_turn(self, event: Text | Thinking) -> None:
        """Keep an event of the reply, if the server may be asked later to continue the reply."""
        if self._limits.cuts or self._alone:
            self._turn.append(event)

    def _read_thinking(self, event: Thinking) -> list[Event]:
        """Return a thinking event; if it exceeds a limit, its part before the limit, the sentence,
        and the end of the thought.
        """
        text, why = event.text, ""
        if self._looks:
            self._finder = self._finder or LoopFinder()
            at = self._finder.feed(text)
            self._looks = at is None
            self._findings.repeated_text = self._finder.period or self._findings.repeated_text
            if at is not None and self._limits.loops == "end":
                text, why = text[:at], "loop"
        if self._limits.budget is not None:
            paid, self._left = _spend_budget(text, self._left)
            text, why = paid, why if paid == text else "budget"
        if not why:
            self._keep_for_turn(Thinking(text))
            self._thinks = self._in_thought = True
            return [event]
        return self._end_thought(event, text, why)

    def _end_thought(self, event: Thinking, text: str, why: str) -> list[Event]:
        """End the thought behind `text`, the part of the event's text before the limit, and note it
        in the findings with the reason `why`. Return the last events of the thought.
        """
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
            self._keep_for_turn(Thinking(each))
        goes_on = self._limits.goes_on and not self._has_calls
        self._ends.turn = tuple(joined(self._turn)) if goes_on else ()
        opened = self._findings.marks is not None
        self._ends.added = added_tokens(self._limits.sentence, opened)
        self._ends.reasons.append(why)
        closed = [ThinkingEnd(event.choice)] if texts or self._thinks else []
        return [*(part_of(event, each) for each in texts), *closed]

    def _finish_unanswered(self, finish: Finish) -> list[Event]:
        """End a reply that has only thoughts. If they are sent as the answer (`shows`), return
        their text and the finish. Else note in the findings that the server must be asked to
        continue the reply, and return the end of the thought without the finish.

        If the reply has no thoughts either, return only the finish.
        """
        thoughts = [thinking for thinking in self._turn if isinstance(thinking, Thinking)]
        if not thoughts:
            return [finish]
        if self._limits.shows:
            answer = "".join(thinking.text for thinking in thoughts)
            return [ThinkingEnd(finish.choice), Text(answer, finish.choice), finish]
        self._is_over = True
        # If no opener was read in the text, as for thoughts in a field, the addon adds an opener
        # and a closer to the turn. Else the model has written these marks itself.
        self._ends.added = 0 if self._findings.marks else 2 * MARK_TOKENS
        self._ends.at = sum(len(thinking.text) for thinking in thoughts)
        self._ends.turn = tuple(joined(thoughts))
        self._ends.reasons.append("unanswered")
        return [ThinkingEnd(finish.choice)] if self._thinks else []


def _spend_budget(text: str, left: int) -> tuple[str, int]:
    """Return as much of the beginning of a thought's `text` as the budget pays for, and how many
    bytes of the budget then remain.

    `left`: how many bytes of UTF-8 the budget still allows (`BYTES_PER_TOKEN` for each token).
    """
    written = text.encode(errors="surrogatepass")  # the text may have half a surrogate pair
    end = min(left, len(written))
    # While the byte at `end` is not the first one of a character, `end` goes back: a character is
    # not divided.
    while 0 < end < len(written) and written[end] & 0xC0 == 0x80:
        end -= 1
    return written[:end].decode(errors="surrogatepass"), left - end
