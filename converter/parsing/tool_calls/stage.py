"""A stage of the pipeline: the text of one choice goes through the parser of tool calls.

A server that sends tool calls itself reads them better than anyone: from its first one on, the
text is left alone, and a call that was read from the text and is told again is one. Calls in
thoughts count only where there is no other.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from converter.parsing.tool_calls.forms import THINKERS
from converter.parsing.tool_calls.parser import ToolCallParser
from converter.parsing.tool_calls.reading import Expectations
from converter.parsing.whole_calls import failure_of
from converter.wire.bounds import HELD_LIMIT
from converter.wire.partial_json import is_open


class ThoughtCalls:
    """Calls that stand within a thought, for models that are known to call there. Feed the words of
    thoughts; `take` the calls in them once the reply has ended.

    Such a thought has gone out when its end comes, and stays as it was. Its calls wait, because
    models draft calls in a thought as well. They count only if the reply ends by itself and has no
    other call; and a call behind which the thought goes on is a draft if there is an answer.

    `forms`: how those that were taken were written, one each.
    """

    def __init__(self, asked: Expectations) -> None:
        self._asked = asked
        self._parser = ToolCallParser(Expectations(asked.tools), whole_forms=False)
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
        places: dict[tuple[str, str], str] = {}
        for index, call in enumerate(self._parser.calls if self._length <= HELD_LIMIT else ()):
            draft = answered and index not in self._ending
            if call.done and call.form in THINKERS and not draft:
                places.setdefault((call.name, "".join(self._arguments[index])), call.form)
        counted = list(places.items())[: self._asked.most]
        self.forms = [form for _, form in counted]
        ids, choice = self._asked.ids, self._asked.choice
        return [
            ToolCall(
                number, f"{ids}{number}", *words, choice, read_from=f"a thought ({form})", ends=True
            )
            for number, (words, form) in enumerate(counted)
        ]


type Said = tuple[str, str]
"""The name and the arguments of a call."""


class Repeats:
    """Calls that a model writes twice: as a draft that ended its thought, and once more behind the
    thought's closer. Events in, events out: they come once. `dropped`: the indices of those that
    were left out.

    The draft has gone out at once, because its opener ends the thought. What repeats it letter by
    letter is held until it is the same or another call; no other call waits.
    """

    def __init__(self) -> None:
        self._drafts: list[Said] = []
        self._held: list[ToolCall] = []
        self._other = -1  # the call that is known to be no draft
        self.dropped: list[int] = []

    @property
    def holds(self) -> bool:
        """Tell whether pieces of a call wait."""
        return bool(self._held)

    def closed(self, calls: Iterable[Sequence[ToolCall]]) -> None:
        """The thought is closed behind these calls; one that was cut off is no draft."""
        keys = map(_said, calls)
        self._drafts = [draft for draft in keys if not is_open(draft[1])]

    def feed(self, events: Iterable[Event]) -> list[Event]:
        """Return the words that can go out."""
        if not (self._drafts or self.dropped):
            return list(events)
        return [made for event in events for made in self._of(event)]

    def close(self) -> list[Event]:
        """Return the held words: it is no draft."""
        held, self._held = self._held, []
        return [replace(piece, index=piece.index - len(self.dropped)) for piece in held]

    def _of(self, event: Event) -> list[Event]:
        if not isinstance(event, ToolCall):
            return [*self.close(), event]
        before = self.close() if self._held and self._held[-1].index != event.index else []
        self._held.append(event)
        held = _said(self._held)
        if held in self._drafts and event.index != self._other:
            self._drafts.remove(held)
            self._held.clear()
            self.dropped.append(event.index)
            return before
        if event.index == self._other or not any(_begins(held, draft) for draft in self._drafts):
            self._other = event.index
            return [*before, *self.close()]
        return before


def _begins(call: Said, draft: Said) -> bool:
    return call[0] == draft[0] and draft[1].startswith(call[1])


def _said(pieces: Sequence[ToolCall]) -> Said:
    """Return the name and the arguments of a call."""
    name = next((piece.name for piece in pieces if piece.name), "")
    return name, "".join(piece.arguments for piece in pieces)


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
        known = [_meaning(pieces) for pieces in self._told.values()]
        held, self._native = self._native, {}
        new = [pieces for pieces in held.values() if _meaning(pieces) not in known]
        return [piece for pieces in new for piece in pieces]


def _meaning(pieces: Sequence[ToolCall]) -> tuple[str, object]:
    name, arguments = _said(pieces)
    try:
        return name, json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return name, arguments
