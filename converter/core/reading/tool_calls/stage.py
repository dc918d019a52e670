"""A stage of the pipeline: the text of one choice goes through the parser of tool calls.

A server that sends tool calls itself reads them better than anyone: from its first one on, the
text is left alone, and a call that was read from the text and is told again is one. Calls in
thoughts count only where there is no other.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from converter.core.calls.assembler import failure_of
from converter.core.model.events import (
    NO_INDEX,
    Event,
    Finish,
    LateCloser,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    WordKind,
)
from converter.core.reading.tool_calls.call import Call, Schema
from converter.core.reading.tool_calls.forms import THINKERS
from converter.core.reading.tool_calls.parser import ToolCallParser
from converter.core.reading.tool_calls.reading import Expectations
from converter.core.wire.bounds import HELD_LIMIT


class ThoughtCalls:
    """Calls that stand within a thought. Feed the words of thoughts; `take` the calls in them once
    the reply has ended.

    Such a thought has gone out when its end comes, and stays as it was. Its calls wait, because
    models draft calls in a thought as well. They count only if the reply ends by itself and has no
    other call. If there is an answer, a call behind which the thought goes on is a draft, and the
    others count for models that are known to call there.

    `forms`: how those that were taken were written, one each.
    """

    def __init__(self, asked: Expectations) -> None:
        self._asked = asked
        self._parser = ToolCallParser(Expectations(asked.tools), False, in_sentences=False)
        self._arguments: dict[int, list[str]] = {}
        self._length = 0
        self._last: set[int] = set()  # calls behind which this thought has said nothing
        self._ending: set[int] = set()  # those that ended their thought
        self.forms: list[str] = []

    def feed(self, text: str) -> None:
        """Take the next words of a thought."""
        if self._length <= HELD_LIMIT:
            self._keep(self._parser.feed(text))

    def end(self) -> None:
        """End the thought: nothing that follows belongs to it."""
        self._keep(self._parser.close())
        self._ending |= self._last
        self._last.clear()

    def _keep(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, ToolCall):
                self._length += len(event.arguments)
                self._arguments.setdefault(event.index, []).append(event.arguments)
                self._last.add(event.index)
            elif isinstance(event, Text) and event.text.strip():
                self._last.clear()

    def take(self, answered: bool) -> Sequence[ToolCall]:
        """Return the calls that count, the same one only once; none where they have too many words.
        `answered`: the reply has said something else.
        """
        self.end()
        places: dict[tuple[str, str], Call] = {}
        for index, call in enumerate(self._parser.calls if self._length <= HELD_LIMIT else ()):
            draft = answered and index not in self._ending
            if call.done and not draft and (call.form in THINKERS or not answered):
                places.setdefault((call.name, "".join(self._arguments[index])), call)
        counted = list(places.items())[: self._asked.most]
        self.forms = [call.form for _, call in counted]
        ids, choice = self._asked.ids, self._asked.choice
        return [
            ToolCall(
                number,
                call.own_id or f"{ids}{number}",
                *words,
                choice,
                read_from=f"a thought ({call.form})",
                ends=True,
            )
            for number, (words, call) in enumerate(counted)
        ]


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

    Models write a draft that ended its thought once more behind the thought's closer, and servers
    tell a call that stood in the text. So where calls are `known` that may come again, later ones
    wait for their end, and those that mean the same are `dropped`.
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
        self._told: dict[int, list[ToolCall]] = {}  # calls that went out, as pieces
        self._known: list[object] = []
        self._held: dict[int, list[ToolCall]] = {}
        self._dropped: list[int] = []

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
                out = self._released()
                self._await_repeats()
                return out
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
        if self._held:
            return None
        if kind is Thinking:
            return None if self._parser.holds else (kind, "")
        wakes = "" if self._stopped else self._parser.wakes
        return None if wakes is None else (kind, wakes)

    def close(self) -> Sequence[Event]:
        """Return the held words: the reply is over, cut short if it has said no finish."""
        return self._drain(cut=True)

    def _drain(self, cut: bool = False) -> list[Event]:
        out = [*self._sent(self._parser.close(cut)), *self._released()]
        calls = self._parser.calls[self._noted :]
        self._noted += len(calls)
        again = self._dropped
        counted = [call for call in calls if call.done and call.index not in again]
        self._read.forms.update(call.form for call in counted)
        self._read.repeated += [call.name for call in calls if call.index in again]
        self._read.cut += [call.name for call in calls if not call.done]
        self._read.text += self._parser.cut
        self._parser.cut = []
        return out

    def _sent(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that go out; the calls among them are remembered if they are short."""
        out: list[Event] = []
        for event in events:
            if not isinstance(event, ToolCall):
                out += [*self._released(), event]
                continue
            self._length += _PIECE_COST + len(event.arguments)
            if self._known and self._length <= HELD_LIMIT:
                self._held.setdefault(event.index, []).append(event)
            else:
                out += [*self._released(), self._numbered(event)]
        return out

    def _await_repeats(self) -> None:
        """From here on hold calls that may repeat those that went out."""
        meanings = map(_meaning, self._told.values())
        self._known = [meaning for meaning in meanings if meaning is not None]

    def _released(self) -> list[Event]:
        """Return the held calls that repeat none."""
        held, self._held = self._held, {}
        out: list[Event] = []
        for index, pieces in held.items():
            if (meaning := _meaning(pieces)) in self._known:
                self._known.remove(meaning)
                self._dropped.append(index)
            else:
                out += map(self._numbered, pieces)
        return out

    def _numbered(self, piece: ToolCall) -> ToolCall:
        """Return a piece that goes out, under its number without those that were dropped."""
        if self._length <= HELD_LIMIT:
            self._told.setdefault(piece.index, []).append(piece)
        return replace(piece, index=piece.index - len(self._dropped)) if self._dropped else piece

    def _finish(self, event: Finish) -> list[Event]:
        out = self._drain(event.reason == CUT)
        if event.reason in BY_ITSELF and not (self._stopped or self._parser.calls):
            out += self._thoughts.take(self._answered)
            self._read.thought.update(self._thoughts.forms)
        called = self._thoughts.forms or any(call.done for call in self._parser.calls)
        stopped = called and event.reason == "stop"
        return [*out, replace(event, reason="tool_calls") if stopped else event]

    def _server_call(self, event: ToolCall) -> list[Event]:
        """Pass a call of the server's own; hold it while it may repeat one that was read."""
        out = self._sent(self._parser.close())
        if not self._stopped:
            self._stopped = True
            out += self._released()
            self._await_repeats()
        number = len(self._parser.calls)
        return [
            *out,
            *self._sent([_behind(event, number)]),
        ]


def _behind(event: ToolCall, number: int) -> ToolCall:
    """Return a server's piece under its index behind so many calls of the text."""
    numbered = number and event.index != NO_INDEX
    return replace(event, index=event.index + number) if numbered else event


def _meaning(pieces: Sequence[ToolCall]) -> tuple[str, object] | None:
    """Return the name and the arguments of a call; None of one that was cut off."""
    name = next((piece.name for piece in pieces if piece.name), "")
    try:
        return name, json.loads("".join(piece.arguments for piece in pieces) or "{}")
    except (ValueError, RecursionError):
        return None
