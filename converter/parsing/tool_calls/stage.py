"""A stage of the pipeline: the text of one choice goes through the parser of tool calls.

A server that sends tool calls itself reads them better than anyone: from its first one on, the
text is left alone, and a call that was read from the text and is told again is one. Calls in
thoughts count only where there is no other.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from converter.model.events import (
    Event,
    Finish,
    LateCloser,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    WordKind,
)
from converter.parsing.tool_calls.call import Schema
from converter.parsing.tool_calls.parser import ToolCallParser
from converter.parsing.tool_calls.reading import Expectations
from converter.parsing.tool_calls.repeats import Repeats
from converter.parsing.tool_calls.thought_calls import ThoughtCalls
from converter.parsing.whole_calls import failure_of
from converter.wire.bounds import HELD_LIMIT

CUT = "length"
"""The finish of a reply that had more to say."""
BY_ITSELF = ("stop", "tool_calls")
"""The finishes of a reply that ended by itself."""


NO_FORM = "it does not go on as calls of its form do"
_PIECE_COST = 16
"""Characters that a held piece of a call counts as beside its own, because it may say nothing."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a request offers: schemas by name, whether a reply may call several at once,
    and whether the user asked for an answer in JSON.
    """

    schemas: Mapping[str, Schema]
    parallel: bool = True
    wants_json: bool = False


@dataclass(slots=True)
class CallsRead:
    """The calls that were read from the text of a reply.

    `forms`: those that were whole, by the names of their forms; `thought`: the same for those in a
    thought. `cut`: the tools of those that were cut off after their arguments had begun; `text`: of
    those cut off before; `repeated`: of those that repeated a draft, and were left out; `mended`:
    of any calls whose arguments were not quite JSON.
    """

    forms: Counter[str] = field(default_factory=Counter)
    thought: Counter[str] = field(default_factory=Counter)
    cut: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)

    @property
    def hints(self) -> list[str]:
        """The facts that a person may want to know, a line each."""
        return [*_counted(self.forms, "text"), *_counted(self.thought, "a thought")]

    @property
    def notes(self) -> list[str]:
        """The notes for a person, a line each."""
        cut = [f"the call of {name!r} in the text was cut off" for name in self.cut]
        text = [f"a call of {name!r} was cut off and stays text" for name in self.text]
        again = [
            f"a call of {name!r} repeats one in its thought: left out" for name in self.repeated
        ]
        mended = [
            f"the arguments of the call of {name!r} were not quite JSON and were mended"
            for name in self.mended
        ]
        return [*cut, *text, *again, *mended]


def _counted(forms: Counter[str], place: str) -> list[str]:
    number = forms.total()
    calls = "call" if number == 1 else "calls"
    return [f"{number} {calls} read from {place}: {', '.join(forms)}"] if number else []


class ToolCallStage:
    """Events of one choice in, events out: content that is a tool call becomes one.

    `ids`: the beginning of the calls' ids. `read`: findings are noted there.
    """

    def __init__(self, tools: Tools, choice: int, ids: str, read: CallsRead) -> None:
        asked = Expectations(tools.schemas, ids, choice, None if tools.parallel else 1)
        self._parser = ToolCallParser(asked, not tools.wants_json)
        self._thoughts = ThoughtCalls(asked)
        self._answered = False
        self._read = read
        self._noted = 0
        self._stopped = False
        self._length = 0
        self._repeats = Repeats()
        self._told: dict[int, list[ToolCall]] = {}  # calls that went out, as pieces
        self._native: dict[int, list[ToolCall]] = {}  # of the server's own, held

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that it becomes. Held text comes out before a start or an end."""
        match event:
            case Text(refusal=False, own=None):
                return self._text(event)
            case ToolCall():
                return self._server_call(event)
            case Finish():
                return self._finish(event)
            case Text() | Thinking():
                return self._other_words(event)
            case LateCloser():
                self._repeats.closed(self._told.values())
                return []
            case ThinkingEnd():
                self._thoughts.end()
        return [event]

    def _text(self, event: Text) -> Sequence[Event]:
        self._thoughts.end()
        self._answered = self._answered or bool(event.text.strip())
        if self._stopped:
            return [event]
        out = self._sent(self._parser.feed(event.text))
        return [*out, failure_of(self._parser.broken, NO_FORM)] if self._parser.broken else out

    def _other_words(self, event: Text | Thinking) -> Sequence[Event]:
        if isinstance(event, Thinking):
            self._thoughts.feed(event.text)
        else:
            self._answered = True
        return [*self._drain(), event]

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return the meaning of plain words, and the characters that make words not plain."""
        if kind is Thinking:
            return None if self._parser.holds or self._native else (kind, "")
        if self._repeats.holds:
            return None
        wakes = "" if self._stopped else self._parser.wakes
        return None if wakes is None else (kind, wakes)

    def close(self) -> Sequence[Event]:
        """Return the held words: the reply is over, cut short if it has said no finish."""
        return self._drain(cut=True)

    def _drain(self, cut: bool = False) -> list[Event]:
        out = [*self._sent(self._parser.close(cut)), *self._repeats.close(), *self._new_native()]
        calls = self._parser.calls[self._noted :]
        self._noted += len(calls)
        again = self._repeats.dropped
        counted = [call for call in calls if call.done and call.index not in again]
        self._read.forms.update(call.form for call in counted)
        self._read.repeated += [call.name for call in calls if call.index in again]
        self._read.cut += [call.name for call in calls if not call.done]
        self._read.text += self._parser.cut
        self._parser.cut = []
        return out

    def _sent(self, events: list[Event]) -> list[Event]:
        """Remember the calls that go out, as far as they are short."""
        events = self._repeats.feed(events)
        for event in events:
            if isinstance(event, ToolCall):
                self._length += _PIECE_COST + len(event.arguments)
                if self._length <= HELD_LIMIT:
                    self._told.setdefault(event.index, []).append(event)
        return events

    def _finish(self, event: Finish) -> list[Event]:
        out = self._drain(event.reason == CUT)
        if event.reason in BY_ITSELF and not (self._stopped or self._parser.calls):
            out += self._thoughts.take(self._answered)
            self._read.thought.update(self._thoughts.forms)
        called = self._thoughts.forms or any(call.done for call in self._parser.calls)
        stopped = called and event.reason == "stop"
        return [*out, replace(event, reason="tool_calls") if stopped else event]

    # Calls of the server's own.

    def _server_call(self, event: ToolCall) -> list[Event]:
        """Pass a call of the server's own; hold it while it may repeat one that was read."""
        self._stopped = True
        out = self._sent(self._parser.close())
        number = len(self._parser.calls) - len(self._repeats.dropped)
        if not number:
            return [*out, event]
        self._native.setdefault(event.index, []).append(replace(event, index=event.index + number))
        self._length += _PIECE_COST + len(event.arguments)
        return [*out, *(self._new_native() if self._length > HELD_LIMIT else [])]

    def _new_native(self) -> list[Event]:
        """Return the calls of the server's own that were not read from the text."""
        known = [_said(pieces) for pieces in self._told.values()]
        held, self._native = self._native, {}
        return [piece for pieces in held.values() if _said(pieces) not in known for piece in pieces]


def _said(pieces: Sequence[ToolCall]) -> tuple[str, object]:
    """Return the name and the arguments of a call."""
    name = next((piece.name for piece in pieces if piece.name), "")
    arguments = "".join(piece.arguments for piece in pieces)
    try:
        return name, json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return name, arguments
