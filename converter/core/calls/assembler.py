"""`Assembler`, a stage, checks tool calls, the server's own and those in text, and emits them piece
by piece. `open_calls` finds the call of each piece, and `arguments` checks its JSON. `Offer` has
the tools of the request.

If a call is not whole, no client may run it: its last piece is not marked as the end (`ends`), or
the reply ends with a failure. The docstring of `converter.core.calls` has the rules, also for the
pieces that are held.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from converter.core.calls.arguments import CUSTOM_INPUT, QUOTED, Arguments
from converter.core.calls.free_text import FreeText
from converter.core.calls.ids import CallIds
from converter.core.calls.names import offered_name
from converter.core.calls.open_calls import Call, OpenCalls
from converter.core.calls.schema_values import Schemas, properties_of
from converter.core.calls.typed_values import ArgumentValues, wants_types
from converter.core.model.events import Event, Failure, Finish, TextKind, ToolCall
from converter.core.wire.bounds import MOST_CALLS, WAITING_LIMIT, TooMuchError, fault_of

CALLED = ("tool_calls", "function_call")
"""The finish reasons of a reply whose calls are complete."""
_WHOLE = ("stop", *CALLED)
"""The finish reasons of a reply that neither a limit nor a filter has cut."""
BROKEN = "the model's call of {name!r} is no whole call, so it must not be run: {why}"
"""The error that the client gets for a call that must not be run. `why`: the reason."""
NO_MEANING = "its arguments are no JSON object, near {near!r}"
"""A reason in `BROKEN`: text that is no part of the arguments. `near`: this text."""
NO_END = "its arguments have no end"
"""A reason in `BROKEN`: the reply ended before the arguments did, and nothing had cut the reply."""
NO_NAME = "the server's call has no name, so it must not be run"
"""The error that the client gets for a call without a name."""


def failure_of(name: str, why: str) -> Failure:
    """Return the failure that ends a reply because one of its calls must not be run."""
    return Failure(BROKEN.format(name=name, why=why), status=502)


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that the request offers, and how calls of them are read."""

    schemas: Schemas = field(default_factory=dict)
    """Name of a tool -> the schema of its parameters."""
    stop_strings: tuple[str, ...] = ()
    """The request's own stop strings. If there are any, one of them may have cut a call that is not
    whole. The reply then ends with `stop` and not with a failure, unless the call has text that is
    no part of its arguments.
    """
    call_in_name: Callable[[str, Schemas], tuple[str, str]] = lambda *_: ("", "")
    """A function that takes the text in a call's name field and `schemas`. If the text is a whole
    call (`get_weather(city="Oslo")`), it returns the call's offered name and its arguments as JSON;
    else two empty strings.
    """
    converts_values: bool = False
    """True if the assembler changes values to the types of the schema: `"5"` -> `5`."""

    def parameters(self, name: str) -> Collection[str]:
        """Return the names of the parameters of a tool; empty if no such tool is offered."""
        return properties_of(self.schemas.get(name, {})).keys()

    def takes_text(self, name: str) -> bool:
        """Return True if a tool's only parameter is `input`.

        Some models write the value of such a parameter alone, without an object around it.
        """
        return [*self.parameters(name)] == [CUSTOM_INPUT]


class Assembler:
    """Takes and returns the events of one choice; finds and checks the call of each piece. A call
    that is not whole gets no end (`ToolCall.ends`), or the reply ends with a failure.

    Arguments:
        offer: the offered tools.
        ids: makes the id of each call unique.
        mended: a list. At the finish, the name of each call whose arguments were mended is added
            to it.
        typed: a list. At the finish, the name of each argument whose value got another type is
            added to it. `None` if nobody wants these names.
    """

    def __init__(
        self, offer: Offer, ids: CallIds, mended: list[str], typed: list[str] | None = None
    ) -> None:
        self._offer = offer
        self._ids = ids
        self._mended, self._typed = mended, [] if typed is None else typed
        self._calls = OpenCalls(offer.schemas)
        self._sent = self._held = self._choice = 0

    def feed(self, event: Event) -> Sequence[Event]:
        """Take the next event; return the events that can be emitted now.

        Only pieces of calls and the finish are changed; any other event is returned as it is. A
        `Failure` is returned for a call that must not be run, and for calls beyond a bound
        (`MOST_CALLS`, `WAITING_LIMIT`, and those of `PartialJson`).
        """
        if not isinstance(event, ToolCall):
            return self._finish(event) if isinstance(event, Finish) else [event]
        try:
            return self._feed_piece(event)
        except TooMuchError as error:
            message, status = fault_of(error)
            return [Failure(message, status=status)]

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `kind`, if text of this kind may skip the assembler now (see `Stage.plain`), and
        the characters that it must not have then: none for thinking and text.

        Arguments may skip it only while exactly one call is open, and a string is open in it that
        needs no change; they must not have the characters of `Call.not_plain`. Else return None for
        arguments.
        """
        if kind is not ToolCall:
            return kind, ""
        calls = [call for call in self._calls.growing if not call.complete]
        not_plain = calls[0].not_plain if len(calls) == 1 and calls[0].sent else None
        return None if not_plain is None else (kind, not_plain)

    def close(self) -> Sequence[Event]:
        """Return nothing: without a finish the calls that are still held are not whole."""
        return []

    def _feed_piece(self, event: ToolCall) -> Sequence[Event]:
        """Add a piece to its call; return the events of all calls that can be emitted now. Raises
        TooMuchError if the choice has more calls than `MOST_CALLS`, or too much of them is held
        (`WAITING_LIMIT`, and the bounds in `Arguments.feed`).
        """
        self._choice = event.choice
        out: list[Event] = []
        call = self._calls.find(event)
        if call is None:
            for earlier in self._calls.growing:
                earlier.arguments.forget()
            # If the new call has the index of an earlier one, the earlier one gets no more pieces,
            # unless it has an id, by which a later piece may be recognised.
            replaced = self._calls.last_at_index(event)
            if replaced and not (replaced.is_over or replaced.server_id):
                replaced.is_over = True
                if replaced.sent:
                    out += self._last_event(replaced, replaced.arguments.release())
                else:
                    out += self._begin_next()
            if len(self._calls.all) == MOST_CALLS:
                raise TooMuchError(MOST_CALLS)
            legacy = event.own is not None and CALLED[1] in event.own.fields
            arguments = FreeText() if event.free_text else Arguments()
            call = Call(arguments, CALLED[legacy], bool(event.read_from))
            self._calls.add(call)
        self._calls.register(call, event)
        call.is_over = call.is_over or event.ends
        call.sent_as_object = call.sent_as_object or event.is_value
        if call.sent:
            out += self._feed_begun(call, event)
        else:
            call.held_pieces.append(event)
            self._count_held(event.arguments)
        return [*out, *self._begin_next()]

    def _begin_next(self) -> Sequence[Event]:
        """Return the first events of all calls that can begin now.

        A call can begin if its name is decided, and also whether its arguments stand in the name
        field (`Offer.call_in_name`). Each call before it must be whole, because most clients read
        one call after another; but a call whose name has not come is passed over.
        """
        out: list[Event] = []
        for call in [*self._calls.waiting]:
            if not call.server_name.strip():
                continue
            is_open = any(each.sent and not each.complete for each in self._calls.growing)
            if is_open or not self._calls.is_named(call):
                break
            # If the name field holds a whole call, its arguments count, unless the server sends
            # different arguments in the field for arguments. Wait while that field has nothing, or
            # the beginning of `{}` or of the same arguments.
            name, inner = self._inner_call(call)
            text = call.held_arguments.strip()
            if name and not call.is_over and ("{}".startswith(text) or inner.startswith(text)):
                break
            out += self._begin(call)
        return out

    def _inner_call(self, call: Call) -> tuple[str, str]:
        """Return name and arguments of a call in the name field (see `Offer.call_in_name`).

        Two empty strings if there is none.
        """
        if call.inner is None and not call.is_text and self._calls.contains_name(call.server_name):
            call.inner = self._offer.call_in_name(call.server_name, self._offer.schemas)
        return call.inner or ("", "")

    def _begin(self, call: Call) -> Sequence[Event]:
        """Begin to emit a call: decide its name, index and id; return its first event.

        The event has the text that can be emitted now of the arguments in all held pieces, or of
        those in the name field (`_inner_call`). If they make the call broken, a failure is returned
        behind the event.
        """
        self._calls.waiting.remove(call)
        pieces, arguments = call.held_pieces, call.held_arguments
        name, inner = self._inner_call(call)
        if name and arguments.strip() in ("", "{}", inner):
            arguments = inner
        else:
            name = offered_name(call.server_name, self._offer.schemas)
        call.name, call.held_pieces = name or call.server_name, []
        if not call.is_text:
            call.arguments = Arguments(self._offer.parameters(call.name))
            schema = self._offer.schemas.get(call.name, {}) if self._offer.converts_values else {}
            call.values = ArgumentValues(schema) if wants_types(schema) else None
        call.index, self._sent = self._sent, self._sent + 1
        take = self._ids.take_for_text if call.from_text else self._ids.take
        call.id = take(call.server_id)
        named = next(piece for piece in pieces if piece.name)
        return self._feed_begun(call, replace(named, arguments=arguments), begins=True)

    def _feed_begun(self, call: Call, event: ToolCall, *, begins: bool = False) -> Sequence[Event]:
        """Take a piece of a call whose beginning was emitted; return the events for it.

        A piece that needs no change is returned itself. Nothing is returned for a piece of which no
        text can be emitted now, unless it begins or ends the call. A failure is added if the piece
        makes the call broken. `begins`: True if the piece is the call's first event.
        """
        was_complete = call.complete and not begins
        fresh = call.arguments.feed(event.arguments)
        if not call.arguments.begun:
            self._count_held(event.arguments)
        fresh += call.arguments.release() if call.is_over else ""
        fresh, complete = call.with_types(fresh), call.complete
        changes = begins or complete or event.id or event.name or event.ends or event.misshapen
        if not changes and fresh == event.arguments and event.index == call.index:
            return [event] if fresh else []  # as it came, so that the server's own bytes are sent
        out: list[Event] = []
        if begins or fresh or complete > was_complete:
            piece = replace(
                event,
                index=call.index,
                id=call.id if begins or event.id else "",
                name=call.name if begins else "",
                arguments=fresh,
                ends=complete,
                misshapen=False,
                free_text=call.is_text,
            )
            out.append(piece)
        if near := call.arguments.unfit[:QUOTED]:
            out.append(failure_of(call.name, NO_MEANING.format(near=near)))
        return out

    def _count_held(self, text: str) -> None:
        """Count `text` as held. Raise TooMuchError if more than `WAITING_LIMIT` characters of the
        choice were held in all, even if they have been emitted since.
        """
        self._held += len(text)
        if self._held > WAITING_LIMIT:
            raise TooMuchError(WAITING_LIMIT)

    # The methods below end calls, most of them at the finish of the choice.

    def _last_event(self, call: Call, rest: str) -> Sequence[Event]:
        """Return an event with `rest`, the last text of a call's arguments, and with the text that
        `Call.values` has held; no event if there is no such text.
        """
        rest, ends = call.with_types(rest, is_last=True), call.complete
        end = ToolCall(call.index, "", "", rest, self._choice, ends=ends, free_text=call.is_text)
        return [end] if rest else []

    def _finish(self, event: Finish) -> Sequence[Event]:
        """Return the ends of all calls, then the finish, or a failure (`_finish_of`). If the ends
        have a failure already, nothing is returned behind them.

        A call that a limit has cut gets no end, and the finish reason `length` keeps clients from
        running it.
        """
        if event.at_limit and not all(call.complete for call in self._calls.all):
            event = replace(event, reason="length")
        out: list[Event] = []
        sent = [call for call in self._calls.all if call.sent or call.server_name.strip()]
        for call in sent:
            if not call.sent:
                out += self._begin(call)
            whole = event.reason in _WHOLE or call.sent_as_object
            rest = call.arguments.release() if whole else ""
            if self._may_close(call, event.reason):
                rest += call.arguments.close(self._offer.takes_text(call.name))
            out += self._last_event(call, rest)
            self._typed += call.values.changed if call.values and call.complete else ()
        nameless = any(call.has_arguments or call.server_id for call in self._calls.waiting)
        self._mended += [call.name for call in sent if call.arguments.mended]
        self._calls = OpenCalls(self._offer.schemas)
        failed = any(isinstance(piece, Failure) for piece in out)
        return out if failed else [*out, self._finish_of(event, sent, nameless)]

    def _finish_of(self, event: Finish, calls: Sequence[Call], nameless: bool) -> Finish | Failure:
        """Return the finish with a reason that fits the calls. Return a failure if a call has no
        name, or is not whole and neither a limit, a filter nor a stop string may have cut it.

        `calls`: all calls of the choice that have a name. `nameless`: True if a call without a name
        came too.
        """
        cut = [call for call in calls if not call.complete]
        if event.reason not in _WHOLE:
            return event
        if nameless:
            return Failure(NO_NAME, status=502)
        if not cut:
            if event.reason == "stop" and calls:
                return replace(event, reason=calls[0].finish_reason)
            return event if calls or event.reason == "stop" else replace(event, reason="stop")
        stops = self._offer.stop_strings
        if (stops or event.stop_sequence) and not any(call.arguments.has_unfit for call in cut):
            named = event.stop_sequence or (stops[0] if len(stops) == 1 else "")
            return replace(event, reason="stop", stop_sequence=named)
        return failure_of(cut[0].name, NO_END)

    def _may_close(self, call: Call, reason: str) -> bool:
        """Return True if the call's arguments may be completed now that the reply has ended: with
        the brackets that they lack; or as `{}`, if none of their text came.

        - If the reply was cut (`reason`), or the arguments are whole, nothing is completed.
        - Arguments of which some text came are completed only if `reason` says that the calls are
          complete, and the request has no stop strings, which could have cut them.
        - Free text needs only one of these two conditions.
        - A call that was read from text is not completed here:
          `converter.core.reading.tool_calls` has added its missing brackets already.
        """
        if call.complete or call.from_text or reason not in _WHOLE:
            return False
        if call.is_text:
            return reason in CALLED or not self._offer.stop_strings
        return not call.arguments.has_text or (reason in CALLED and not self._offer.stop_strings)
