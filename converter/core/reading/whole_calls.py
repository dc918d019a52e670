"""The judge of tool calls, a stage that all calls go through, whoever read them and whatever the
dialects: a call is whole, or it is not told as one.

Behind it each call has an index and an id of its own, its arguments are one JSON object, and the
piece that ends it says so. Arguments with one meaning are mended
(`converter.core.wire.partial_json`). What has none, or stays open though no limit cut it, ends the
reply in a failure, because some of it may have gone out already, because clients that read half an
object would run it without its last fields.

A call may be cut by a limit, or by a stop string of the request. llama.cpp stops in the middle of a
call that it parses itself and calls the reply `tool_calls` all the same (xllamacpp 2026.10), or
`stop` where it leaves calls in the text, and names no string. vLLM names the string, and says
`tool_calls`. Such a call stays open, under a finish on which no client runs it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from converter.core.model.events import Event, Failure, Finish, ToolCall, WordKind
from converter.core.wire.bounds import WAITING_LIMIT, TooMuchError, fault_of
from converter.core.wire.partial_json import PartialJson

_CALLED = ("tool_calls", "function_call")
"""The finishes that say that the calls are over."""
_WHOLE = ("stop", *_CALLED)
"""The finishes of a reply that no limit and no filter cut off."""
BROKEN = "the model's call of {name!r} is no whole call, so it must not be run: {why}"
NO_MEANING = "its arguments are no JSON object, near {near!r}"
NO_END = "its arguments have no end"
CUSTOM_INPUT = "input"
"""The only argument of a tool that takes a text."""
_NEAR = 60
"""Characters of arguments without a meaning that are told."""


def failure_of(name: str, why: str) -> Failure:
    """Return the end of a reply whose call must not be run."""
    return Failure(BROKEN.format(name=name, why=why), status=502)


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    name: str = ""
    server_id: str = ""  # as the server has it, once it tells
    begun: bool = False
    # a bare name shows that the server's own reader has failed: such a call is not trusted
    arguments: PartialJson = field(default_factory=lambda: PartialJson(bare_names=False))
    from_text: bool = False  # the stage that reads calls from text has judged it
    ended: bool = False

    @property
    def complete(self) -> bool:
        return self.ended or self.arguments.complete


class CallIds:
    """The ids of a conversation's calls: `taken` are those of its history, `suffix` what makes one
    unlike any other.
    """

    def __init__(self, taken: frozenset[str], suffix: str) -> None:
        self._taken = set(taken)
        self._suffix = suffix
        self._made = 0

    def take(self, wanted: str) -> str:
        """Return an id that no call has, the wanted one if it is free."""
        made = wanted
        while not made or made in self._taken:
            made = f"{wanted or 'call'}_{self._suffix}_{self._made}"
            self._made += 1
        self._taken.add(made)
        return made


class WholeCalls:
    """Events of one choice in, events out. `strings`: the stop strings of the request. `mended`
    gets the names of calls that were put right. `free`: the tools whose only argument is a text,
    which models write without an object.
    """

    def __init__(
        self,
        strings: Sequence[str],
        ids: CallIds,
        mended: list[str],
        free: frozenset[str] = frozenset(),
    ) -> None:
        self._free = free
        self._string = strings[0] if len(strings) == 1 else ""
        self._stops = bool(strings)
        self._ids = ids
        self._mended = mended
        self._calls: list[_Call] = []
        self._held = 0
        self._at_index: dict[int, _Call] = {}
        self._of_id: dict[str, _Call] = {}

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the event becomes."""
        match event:
            case ToolCall():
                return self._piece(event)
            case Finish():
                return self._finish(event)
        return [event]

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return the words as they are: none of them matters here."""
        return kind, ""

    def close(self) -> Sequence[Event]:
        """Return nothing: nothing is held."""
        return []

    def _piece(self, event: ToolCall) -> Sequence[Event]:
        call = self._call(event)
        call.from_text = call.from_text or bool(event.read_from)
        if call.from_text:
            call.ended = call.ended or event.ends
            return self._made(call, event, event.arguments)
        try:
            fresh = self._fed(call, event.arguments)
        except TooMuchError as error:
            words, status = fault_of(error)
            return [Failure(words, status=status)]
        if call.arguments.broken:
            near = call.arguments.unfit[:_NEAR]
            broken = failure_of(call.name, NO_MEANING.format(near=near))
            return [*self._made(call, event, fresh), broken]
        return self._made(call, event, fresh)

    def _fed(self, call: _Call, text: str) -> str:
        """Return the part that can go on. Raises TooMuchError for too much that is no object."""
        fresh = call.arguments.feed(text)
        self._held += 0 if call.arguments.begun or call.arguments.complete else len(text)
        if self._held > WAITING_LIMIT:
            raise TooMuchError(WAITING_LIMIT)
        return fresh

    def _made(self, call: _Call, event: ToolCall, fresh: str) -> Sequence[Event]:
        """Return the event as it goes out; a piece that says nothing does not."""
        id_ = call.id if event.id or not call.begun else ""
        if call.begun and not (fresh or event.name):
            return []
        call.begun, ends = True, call.complete
        same = (event.index, event.id, event.arguments) == (call.index, id_, fresh)
        if same and not ends:
            return [event]
        return [replace(event, index=call.index, id=id_, arguments=fresh, ends=ends)]

    def _call(self, event: ToolCall) -> _Call:
        """Return the call that the piece belongs to: the last one at its index, or the one there
        with its id, or a new one. A server may repeat an index with a new id (a new call), leave
        the index out, or send every call under index 0.
        """
        call = self._at_index.get(event.index)
        other = call is None or event.id != call.server_id
        if event.id and other and (call is not None or not event.name):
            call = self._of_id.get(event.id, call)
        if call is None or _is_new(call, event):
            call = _Call(len(self._calls), self._ids.take(event.id))
            self._calls.append(call)
        call.name = call.name or event.name
        self._at_index[event.index] = call
        if event.id:
            self._of_id[event.id] = call
            call.server_id = event.id
        return call

    def _finish(self, event: Finish) -> Sequence[Event]:
        """Return the finish behind the calls; an open one becomes a call that nobody runs."""
        out: list[Event] = []
        for call in self._calls:
            if self._may_close(call, event.reason) and (rest := self._closed(call)):
                call.ended = True
                out.append(ToolCall(call.index, "", "", rest, event.choice, ends=True))
        self._mended += [call.name for call in self._calls if call.arguments.mended]
        cut = [call for call in self._calls if not call.complete]
        self._calls.clear()
        self._at_index.clear()
        if not cut or event.reason not in _WHOLE:
            return [*out, event]
        if (self._stops or event.stop_sequence) and not any(call.arguments.unfit for call in cut):
            named = event.stop_sequence or self._string
            return [*out, replace(event, reason="stop", stop_sequence=named)]
        return [*out, failure_of(cut[0].name, NO_END)]

    def _closed(self, call: _Call) -> str:
        """Return the text that completes the arguments, nothing where that has no meaning."""
        words = call.arguments.words if call.name in self._free else ""
        made = call.arguments.close()
        return made or (json.dumps({CUSTOM_INPUT: words}, ensure_ascii=False) if words else "")

    def _may_close(self, call: _Call, reason: str) -> bool:
        """Tell whether the finish says that the call is over, so that no more was to come: a stop
        string may have cut brackets off, but not all of the arguments.
        """
        if call.complete or call.from_text or reason not in _WHOLE:
            return False
        return not call.arguments.said or (reason in _CALLED and not self._stops)


def _is_new(call: _Call, event: ToolCall) -> bool:
    if event.id and call.server_id:
        return event.id != call.server_id
    another = bool(event.arguments.strip()) or event.name != call.name
    return bool(event.name and call.name) and call.complete and another
