"""The assembler: every call of a reply goes through it; the package tells how."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from converter.core.calls.arguments import CUSTOM_INPUT, NEAR, Arguments
from converter.core.calls.free_text import FreeText
from converter.core.calls.ids import CallIds
from converter.core.calls.names import may_become, offered_name
from converter.core.calls.schema_values import Schema, properties_of
from converter.core.calls.within import call_within
from converter.core.model.events import NO_INDEX, Event, Failure, Finish, ToolCall, WordKind
from converter.core.wire.bounds import MOST_CALLS, WAITING_LIMIT, TooMuchError, fault_of

CALLED = ("tool_calls", "function_call")
"""The finishes that say that the calls are over."""
_WHOLE = ("stop", *CALLED)
"""The finishes of a reply that no limit and no filter cut off."""
BROKEN = "the model's call of {name!r} is no whole call, so it must not be run: {why}"
NO_MEANING = "its arguments are no JSON object, near {near!r}"
NO_END = "its arguments have no end"
NO_NAME = "the server's call has no name, so it must not be run"

type Schemas = Mapping[str, Schema]


def failure_of(name: str, why: str) -> Failure:
    """Return the end of a reply whose call must not be run."""
    return Failure(BROKEN.format(name=name, why=why), status=502)


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that calls are held against: schemas by name. `stops`: the request's own stop
    strings, one of which may have cut a call.
    """

    schemas: Schemas = field(default_factory=dict)
    stops: tuple[str, ...] = ()

    def takes_text(self, name: str) -> bool:
        """Tell whether a tool's only argument is a text, which models write without an object."""
        return [*properties_of(self.schemas.get(name, {}))] == [CUSTOM_INPUT]

    def has_parameters(self, name: str) -> bool:
        """Tell whether the tool may be given anything."""
        return bool(properties_of(self.schemas.get(name, {})))


@dataclass(slots=True)
class _Call:
    """One call as far as it came. `written`: its name as the server has it; `name`: as it goes on;
    `number`: among the calls that were told, -1 before.

    `from_text`: the stage that reads calls from text has judged it. `finish`: the finish behind it,
    which is another one for the calls of before 2024. `over`: nothing more comes of it. `is_value`:
    its arguments came as an object, which no limit cut. `closed`: its end was put there;
    `end_told`: it went out. `waiting`: pieces that came before its name was known.
    """

    arguments: Arguments | FreeText
    from_text: bool = False
    finish: str = CALLED[0]
    number: int = -1
    id: str = ""
    name: str = ""
    written: str = ""
    server_id: str = ""
    over: bool = False
    is_value: bool = False
    closed: bool = False
    end_told: bool = False
    waiting: list[ToolCall] = field(default_factory=list)

    @property
    def is_text(self) -> bool:
        """Tell whether its input is a free text."""
        return isinstance(self.arguments, FreeText)

    @property
    def told(self) -> bool:
        """Tell whether it has gone out, at least its name."""
        return self.number >= 0

    @property
    def complete(self) -> bool:
        """Tell whether it has gone out, whole."""
        if self.from_text:
            return self.over
        return self.closed or (self.told and self.arguments.complete)

    @property
    def said(self) -> bool:
        """Tell whether anything of its arguments came."""
        return self.arguments.said or any(piece.arguments.strip() for piece in self.waiting)


class Assembler:
    """Events of one choice in, events out; calls come out whole, or as no call.

    `mended` gets the names of calls that were put right.
    """

    def __init__(self, offer: Offer, ids: CallIds, mended: list[str]) -> None:
        self._offer = offer
        self._string = offer.stops[0] if len(offer.stops) == 1 else ""
        self._ids = ids
        self._mended = mended
        self._calls: list[_Call] = []
        self._told = self._held = self._choice = 0
        self._at_index: dict[int, _Call] = {}
        self._of_id: dict[str, _Call] = {}

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the event becomes."""
        match event:
            case ToolCall():
                try:
                    return self._piece(event)
                except TooMuchError as error:
                    words, status = fault_of(error)
                    return [Failure(words, status=status)]
            case Finish():
                return self._finish(event)
        return [event]

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return words of a string of the only call that is open, and all that are none of a
        call's.
        """
        if kind is not ToolCall:
            return kind, ""
        calls = [call for call in self._calls if not call.complete]
        if len(calls) != 1 or not calls[0].told:
            return None
        wakes = "" if calls[0].from_text else calls[0].arguments.wakes
        return None if wakes is None else (kind, wakes)

    def close(self) -> Sequence[Event]:
        """Return nothing: a call whose end did not come is no call."""
        return []

    # Which call a piece is of.

    def _piece(self, event: ToolCall) -> Sequence[Event]:
        self._choice = event.choice
        out: list[Event] = []
        call = self._known(event)
        if call is None or self._begins(call, event):
            here = self._at_index.get(event.index)
            for earlier in self._calls:
                takes_place = event.index == NO_INDEX or earlier is here
                out += self._settled(earlier, over=takes_place and not earlier.server_id)
            call = self._new(event)
        self._at_index[event.index] = call
        if event.id:
            self._of_id[event.id] = call
            call.server_id = event.id
        return [*out, *self._taken(call, event)]

    def _known(self, event: ToolCall) -> _Call | None:
        """Return the call that the piece may go on: the last one at its index, or the one with its
        id. A server may repeat an index with a new id (a new call), leave the index out, or send
        every call under index 0.
        """
        call = self._at_index.get(event.index)
        if event.index == NO_INDEX:
            call = self._calls[-1] if self._calls and not self._calls[-1].from_text else None
        other = call is None or event.id != call.server_id
        if event.id and other and (call is not None or not event.name):
            call = self._of_id.get(event.id, call)
        return call

    def _begins(self, call: _Call, event: ToolCall) -> bool:
        """Tell whether the piece begins another call than the one that its place names. The offered
        names decide: a piece that is one begins a call, pieces that join to one are one name.
        """
        if call.over or call.from_text:
            return call.over or bool(event.name)
        if not event.name:  # without a name no call begins but behind a whole one
            return bool(event.id and call.server_id != event.id and call.complete)
        joined = self._joined(call, event.name) if call.written else event.name
        if not joined:
            return True
        repeats = joined == call.written
        if call.is_text and call.said:  # a text has no end of its own
            return not (event.id and event.id == call.server_id)
        again = call.complete or call.arguments.waiting
        if event.id and (call.server_id or again):
            return event.id != call.server_id and repeats
        return repeats and again and event.arguments.lstrip().startswith(("{", '"'))

    def _joined(self, call: _Call, piece: str) -> str:
        """Return the call's name with this piece of it; empty for the name of another one."""
        schemas, joined = self._offer.schemas, call.written + piece
        meant, whole = offered_name(joined, schemas), offered_name(piece, schemas)
        if piece == call.written or (whole and whole == call.name):
            return call.written  # said again
        if call.told:
            return joined if meant == call.name != "" and not whole else ""
        if whole and offered_name(call.written, schemas):
            return ""
        if call.said:
            return ""
        if piece.startswith(call.written):
            return piece  # it grows
        goes_on = meant or may_become(joined, schemas) or self._is_dressed(call.written)
        return joined if goes_on and not whole else ""

    def _is_dressed(self, written: str) -> bool:
        """Tell whether an offered name stands within a name that is none by itself."""
        schemas = self._offer.schemas
        return not offered_name(written, schemas) and any(name in written for name in schemas)

    def _new(self, event: ToolCall) -> _Call:
        if len(self._calls) == MOST_CALLS:
            raise TooMuchError(MOST_CALLS)
        legacy = event.own is not None and CALLED[1] in event.own.fields
        arguments = FreeText() if event.free_text else Arguments()
        call = _Call(arguments, bool(event.read_from), CALLED[legacy])
        self._calls.append(call)
        return call

    # What a piece says.

    def _taken(self, call: _Call, event: ToolCall) -> Sequence[Event]:
        call.over = call.over or event.ends
        call.is_value = call.is_value or event.is_value
        if call.from_text:
            return self._of_text(call, event)
        if call.told:
            return self._said(call, event, self._fed(call, event.arguments))
        if event.name:
            call.written = self._joined(call, event.name) if call.written else event.name
        call.waiting.append(event)
        self._count(event.arguments)
        return [] if self._waits(call) else self._begun(call)

    def _of_text(self, call: _Call, event: ToolCall) -> Sequence[Event]:
        """Return a piece of a call that was read from text, where its end was judged."""
        if not call.told:
            call.id = self._numbered(call, event.id)
            call.name = call.written = event.name
            return [replace(event, index=call.number, id=call.id)]
        return [replace(event, index=call.number)]

    def _numbered(self, call: _Call, wanted: str) -> str:
        """Give the call its number; return its id."""
        call.number, self._told = self._told, self._told + 1
        return self._ids.take(wanted)

    def _waits(self, call: _Call) -> bool:
        """Tell whether the call's name may go on."""
        if not call.written.strip():
            return True
        if call.said or call.over:
            return False
        return self._is_dressed(call.written) or may_become(call.written, self._offer.schemas)

    def _settled(self, call: _Call, *, over: bool) -> Sequence[Event]:
        """Return the name that waits, because another call begins or the reply is at its finish.
        `over`: no arguments follow either, so an empty object that waits is all of them.
        """
        call.arguments.forget()
        if not call.told:
            return self._begun(call) if call.written.strip() else []
        if over and (rest := call.arguments.release()):
            return [ToolCall(call.number, "", "", rest, self._choice, ends=True)]
        return []

    def _begun(self, call: _Call) -> Sequence[Event]:
        """Return the pieces that waited for the name, as one."""
        schemas, pieces = self._offer.schemas, call.waiting
        arguments = "".join(piece.arguments for piece in pieces)
        name = offered_name(call.written, schemas)
        if not name and schemas and not call.is_text:
            name, given = call_within(call.written, schemas)
            name = name if arguments.strip() in ("", "{}", given) else ""
            arguments = given if name else arguments
        call.name, call.waiting = name or call.written, []
        if not call.is_text:
            call.arguments = Arguments(waits_for_more=self._offer.has_parameters(call.name))
        call.id = self._numbered(call, call.server_id)
        named = next(piece for piece in pieces if piece.name)
        return self._said(call, named, self._fed(call, arguments), begins=True)

    def _fed(self, call: _Call, text: str) -> str:
        """Return the part that can go on. Raises TooMuchError for too much that is no object."""
        fresh = call.arguments.feed(text)
        if not call.arguments.begun:
            self._count(text)
        return fresh + call.arguments.release() if call.over else fresh

    def _count(self, text: str) -> None:
        self._held += len(text)
        if self._held > WAITING_LIMIT:
            raise TooMuchError(WAITING_LIMIT)

    def _said(
        self, call: _Call, event: ToolCall, fresh: str, *, begins: bool = False
    ) -> Sequence[Event]:
        """Return the event as it goes out; a piece that says nothing does not."""
        complete = call.complete
        changes = begins or complete or event.id or event.name or event.ends or event.misshapen
        if not changes and fresh == event.arguments and event.index == call.number:
            return [event] if fresh else []  # all of it went on
        out: list[Event] = []
        if begins or fresh or (complete and not call.end_told):
            call.end_told = complete
            made = replace(
                event,
                index=call.number,
                id=call.id if begins or event.id else "",
                name=call.name if begins else "",
                arguments=fresh,
                ends=complete,
                misshapen=False,
                free_text=call.is_text,
            )
            out.append(made)
        if near := call.arguments.unfit[:NEAR]:
            out.append(failure_of(call.name, NO_MEANING.format(near=near)))
        return out

    # The end.

    def _finish(self, event: Finish) -> Sequence[Event]:
        """Return the finish behind the calls; an open one becomes a call that nobody runs."""
        out: list[Event] = []
        for call in self._calls:
            out += self._settled(call, over=event.reason in _WHOLE or call.is_value)
            if self._may_close(call, event.reason) and (rest := self._closed(call)):
                call.closed = True
                text = call.is_text
                end = ToolCall(call.number, "", "", rest, event.choice, ends=True, free_text=text)
                out.append(end)
        calls, told = self._calls, [call for call in self._calls if call.told]
        self._mended += [call.name for call in calls if call.arguments.mended]
        self._calls = []
        self._at_index.clear()
        self._of_id.clear()
        if any(isinstance(made, Failure) for made in out):
            return out
        nameless = any(call.said or call.server_id for call in calls if not call.told)
        return [*out, self._ending(event, told, nameless)]

    def _ending(self, event: Finish, told: Sequence[_Call], nameless: bool) -> Finish | Failure:
        """Return the finish as it is true of the calls, or the reply's failure."""
        cut = [call for call in told if not call.complete]
        if event.reason not in _WHOLE:
            return event
        if nameless:
            return Failure(NO_NAME, status=502)
        if not cut:
            calls = told and event.reason == "stop"
            return replace(event, reason=told[0].finish) if calls else event
        stopped = self._offer.stops or event.stop_sequence
        if stopped and not any(call.arguments.odd for call in cut):
            named = event.stop_sequence or self._string
            return replace(event, reason="stop", stop_sequence=named)
        return failure_of(cut[0].name, NO_END)

    def _closed(self, call: _Call) -> str:
        """Return the text that completes the arguments, nothing where that has no meaning."""
        words = call.arguments.words if self._offer.takes_text(call.name) else ""
        made = call.arguments.close()
        return made or (json.dumps({CUSTOM_INPUT: words}, ensure_ascii=False) if words else "")

    def _may_close(self, call: _Call, reason: str) -> bool:
        """Tell whether the finish says that the call is over. A stop string may have cut brackets
        off, but not all of the arguments.
        """
        if call.complete or call.from_text or not call.told or reason not in _WHOLE:
            return False
        if call.is_text:
            return reason in CALLED or not self._offer.stops
        return not call.arguments.said or (reason in CALLED and not self._offer.stops)
