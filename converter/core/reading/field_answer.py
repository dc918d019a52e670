"""`FieldAnswer`, a stage, turns an answer into text if the server has sent it in the field for
thinking.

The reasoning parsers of some servers take a reply without a closer for one long thought: SGLang
0.5.23 with `--reasoning-parser deepseek-r1`, vLLM 0.32 with `deepseek_r1` in whole replies, LM
Studio if a grammar constrains the answer. mlx-lm leaves the closer and the answer of Kimi-K2.6 in
the reasoning field.

The stage holds the thinking if there is a sign that it may be the answer (`_Sign`): no thought is
expected, the thinking may be an answer by the request's grammar, or a closer stands in it. If the
model ends the reply without text or a call, the held thinking is the answer: behind a closer, only
the text behind it; by a grammar, only an answer that the grammar allows. Else it is a thought.
Thinking of more than `LONGEST` characters is not held.
"""

import enum
from collections.abc import Sequence

from converter.core.model.events import (
    Event,
    Finish,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
)
from converter.core.reading.beginning import JSON_BEGINS, Grammar
from converter.core.reading.findings import Findings
from converter.core.reading.mark_search import search_for
from converter.core.reading.reading import Expected
from converter.core.reading.thought import part_of
from converter.core.wire import json_text

LONGEST = 1 << 18
"""The most characters of thinking that are held. Longer thinking counts as a thought, because
hardly any answer is so long.
"""


class _Sign(enum.Enum):
    """The signs that thinking in a field may be the answer. NONE and DECIDED are no such sign."""

    NONE = enum.auto()
    """No sign has come so far."""
    NO_THOUGHT_DUE = enum.auto()
    """No thought is expected: the request turns thinking off, or its last message ends in a closed
    thought.
    """
    GRAMMAR = enum.auto()
    """The request's grammar allows an answer that begins like the thinking."""
    CLOSER = enum.auto()
    """A closer of a thought stands in the thinking; the answer may stand behind it."""
    DECIDED = enum.auto()
    """It is certain that the thinking is a thought, because text, a call or a finish has come, or
    because it is long (`LONGEST`).
    """


class FieldAnswer:
    """The stage, for one choice: it turns thinking that is the answer into text. It stands before
    the engine. Thinking that consists of blanks is dropped.

    `closers`: the closers of the families by which the reply is read.
    """

    def __init__(self, expected: Expected, closers: Sequence[str], findings: Findings) -> None:
        self._expected, self._findings = expected, findings
        self._marks = search_for(*closers)
        by_grammar = expected.choices or expected.grammar is Grammar.JSON
        self._sign = _Sign.GRAMMAR if by_grammar else _Sign.NONE
        self._sign = _Sign.NO_THOUGHT_DUE if expected.no_thought_due else self._sign
        self._held: list[Event] = []
        self._size = 0
        self._blank = True  # True if the open thought has only blanks so far

    def feed(self, event: Event) -> Sequence[Event]:
        """Read an event, and return the events that need not be held any longer."""
        match event:
            case Thinking(text=text) if text:
                self._held.append(event)
                self._size += len(text)
                return self._release_thought()
            case ThinkingEnd() | Text(refusal=False, own=None) if not _text_of(event).strip():
                if self._may_be_answer and self._held and not self._blank:
                    self._held.append(event)
                    return []
                return [event] if isinstance(event, Text) else self._release_before(event)
            case Finish(reason="stop", at_limit=False):
                return [*self._release_answer(event.choice), *self._release_before(event)]
            case Text() | ToolCall() | Finish():
                self._sign = _Sign.DECIDED
                return self._release_before(event)
            case _:
                return [event]

    def close(self) -> Sequence[Event]:
        """Return the held thinking unchanged; nothing if it has only blanks."""
        held = [] if self._blank else self._held
        self._held, self._size = [], 0
        return held

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `kind`, if text of this kind may now skip this stage on the fast path
        (`Stage.plain`), and the characters that such text must not have: in thinking, the first
        characters of closers. Return `None` if it must be fed, as while thinking is held.
        """
        if self._held or self._may_be_answer or self._blank == (kind is Thinking):
            return None
        if self._sign is _Sign.DECIDED:
            return kind, ""
        return (kind, self._marks.firsts) if kind is Thinking else None

    @property
    def _may_be_answer(self) -> bool:
        """True if thinking is held until the reply ends, because it may be the answer."""
        return self._sign not in (_Sign.NONE, _Sign.DECIDED)

    def _release_before(self, event: Event) -> Sequence[Event]:
        """Return the held thinking unchanged, and behind it `event`, which ends the thought."""
        out = [*self.close(), event]
        self._blank = True
        return out

    def _release_thought(self) -> Sequence[Event]:
        """Return the part of the held thinking that certainly is a thought. Hold the rest, which
        may be the answer, and set `_sign` to the sign for it.
        """
        self._blank = self._blank and not _joined_text(self._held).strip()
        if self._size > LONGEST:
            self._sign, self._blank = _Sign.DECIDED, False
        if self._blank:
            return []
        if self._sign is _Sign.GRAMMAR and not self._may_fit_grammar():
            self._sign = _Sign.NONE
        if self._sign is _Sign.NONE:
            return self._release_up_to_closer()
        return [] if self._may_be_answer else self.close()

    def _may_fit_grammar(self) -> bool:
        """Return True if the held thinking may be the beginning of an answer that the request's
        grammar allows.
        """
        if choices := self._expected.choices:
            short = self._size <= 2 * max(map(len, choices))
            text = _joined_text(self._held).strip() if short else ""
            return short and any(choice.startswith(text) for choice in choices)
        first = next(text for each in self._held if (text := _text_of(each).lstrip()))
        return first.startswith(JSON_BEGINS)

    def _fits_grammar(self, text: str) -> bool:
        """Return True if `text` is a whole answer that the request's grammar allows."""
        if choices := self._expected.choices:
            return text.strip() in choices
        return json_text.readable(text.encode(errors="surrogatepass"), json_text.read_strictly)

    def _release_up_to_closer(self) -> Sequence[Event]:
        """Return the held thinking up to its first closer, or up to a part of a closer with which
        it ends (`</thi`). The text from there on stays held. If it has neither, return all of it.
        """
        text = _joined_text(self._held)
        closer = self._marks.search(text)
        at = closer.start() if closer else len(text) - self._marks.begun_length(text, 0)
        self._sign = _Sign.CLOSER if closer else self._sign
        before, self._held = _split_events(self._held, at)
        self._size = len(text) - at
        return _join_thinking(before)

    def _release_answer(self, choice: int) -> Sequence[Event]:
        """Return the held thinking as text, if it is the answer; else leave it held. If a closer
        stands in it, only the text behind the closer is the answer; a thought before the closer
        comes first, as thinking. `choice`: the index of the choice to which the text belongs.
        """
        thought: Sequence[Event] = []
        if self._sign is _Sign.GRAMMAR and not self._fits_grammar(_joined_text(self._held)):
            self._sign = _Sign.NONE
            thought = self._release_up_to_closer()
        text = _joined_text(self._held)
        if self._sign is _Sign.CLOSER and (closer := self._marks.search(text)):
            text = text[closer.end() :]
        if not (self._may_be_answer and text.strip()):
            return thought
        self._findings.answers_as_thinking = True
        self._held = []
        return [*thought, Text(text, choice)]


def _text_of(event: Event) -> str:
    """Return the text of an event of text or thinking; empty for any other event."""
    return event.text if isinstance(event, Text | Thinking) else ""


def _joined_text(events: Sequence[Event]) -> str:
    """Return the joined text of the events."""
    return "".join(map(_text_of, events))


def _split_events(events: Sequence[Event], at: int) -> tuple[list[Event], list[Event]]:
    """Return the events before and behind the offset `at` of their joined text. An event of
    thinking in which the offset lies is divided.
    """
    before, behind = list[Event](), list[Event]()
    for event in events:
        size = len(_text_of(event))
        if 0 < at < size and isinstance(event, Thinking):
            before.append(part_of(event, event.text[:at]))
            behind.append(part_of(event, event.text[at:], rest=True))
        else:
            (before if at > 0 else behind).append(event)
        at -= size
    return before, behind


def _join_thinking(events: list[Event]) -> list[Event]:
    """Return the events joined into one, if all are thinking that came in fields of the same names
    with strings as values, or all in none. Else return the events unchanged.
    """
    thoughts = [each for each in events if isinstance(each, Thinking)]
    fields = [each.own.fields if each.own else {} for each in thoughts]
    if len(events) < 2 or len(thoughts) < len(events) or len({(*each,) for each in fields}) > 1:
        return events
    if not all(isinstance(value, str) for each in fields for value in each.values()):
        return events
    return [part_of(thoughts[0], _joined_text(events))]
