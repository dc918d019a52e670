"""The calls of one choice that are open, and the call of each piece.

Servers tell calls apart by index, by id, by name, or by some of these. The call that stands at a
piece's index (without an index the last call) is the one that the piece may go on; a call is
replaced there when another begins. An id that another call has names that call. Then the two things
that a piece says of itself decide, its name and its id, held against that call:

    name \\ id   | none                    | the call's own | a new one
    -------------+-------------------------+----------------+--------------------------
    none         | goes on                 | goes on        | begins behind a whole call
    the call's   | begins behind a whole   | goes on        | begins behind a whole call,
                 | call without an id, if  |                | and where the call has an id
                 | an object begins        |                |
    more of it   | goes on                 | goes on        | begins where the call has an
                 |                         |                | id and a part of its name
    another one  | begins                  | begins         | begins

The offered names tell a name that goes on (`get`, `_weather`) from another one. While pieces may
still make it another offered name, a name waits. Calls go out one behind the other, though call 1
may begin between two pieces of call 0.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from converter.core.calls.arguments import Arguments
from converter.core.calls.free_text import FreeText
from converter.core.calls.names import may_become, offered_name
from converter.core.calls.schema_values import Schema
from converter.core.calls.typed_values import ArgumentValues
from converter.core.model.events import NO_INDEX, ToolCall

type Schemas = Mapping[str, Schema]


class Named(enum.Enum):
    """The name in a piece, held against that of a call."""

    NONE = enum.auto()
    AGAIN = enum.auto()
    MORE = enum.auto()
    OTHER = enum.auto()


@dataclass(slots=True)
class Call:
    """One call as far as it came.

    Attributes:
        written: its name as the server writes it.
        name: its name as it goes on.
        number: its number among the calls that were sent, -1 before.
        finish: the finish behind it, which is another for the calls of before 2024.
        over: nothing more comes of it.
        is_value: its arguments came as an object, which no limit cut.
        held: pieces that came before its name was decided.
        inner: the name and the arguments of a call that stands in its name.
        values: gives its values the types of the tool's schema.
    """

    arguments: Arguments | FreeText
    finish: str
    is_read: bool = False
    number: int = -1
    id: str = ""
    name: str = ""
    written: str = ""
    server_id: str = ""
    over: bool = False
    is_value: bool = False
    held: list[ToolCall] = field(default_factory=list)
    inner: tuple[str, str] | None = None
    values: ArgumentValues | None = None

    @property
    def is_text(self) -> bool:
        """Return True if its input is a free text."""
        return isinstance(self.arguments, FreeText)

    @property
    def sent(self) -> bool:
        """Return True if it has gone out, at least its name."""
        return self.number >= 0

    @property
    def complete(self) -> bool:
        """Return True if it has gone out, whole."""
        return self.sent and self.arguments.complete

    @property
    def wakes(self) -> str | None:
        """The characters up to which all text belongs to a string that stays a string; None where
        there is no such string.
        """
        return None if self.values and not self.values.in_string else self.arguments.wakes

    def typed(self, text: str, *, is_last: bool = False) -> str:
        """Return a piece of the arguments, with values of the schema's types. `is_last`: no other
        piece comes, though the arguments may have no end.
        """
        if self.values is None:
            return text
        text = self.values.feed(text)
        return text + (self.values.close() if is_last or self.complete else "")

    @property
    def held_arguments(self) -> str:
        """The arguments in the pieces that are held."""
        return "".join(piece.arguments for piece in self.held)

    @property
    def argued(self) -> bool:
        """Return True if anything of its arguments came."""
        return self.arguments.has_text or any(piece.arguments.strip() for piece in self.held)

    @property
    def ended(self) -> bool:
        """Return True if another call may follow: it is whole, or an empty object that may be all
        waits. A text has no end of its own.
        """
        return self.argued if self.is_text else self.complete or self.arguments.waiting


class OpenCalls:
    """The calls of a choice in their order. `waiting`: those that have not gone out."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._at_index: dict[int, Call] = {}
        self._of_id: dict[str, Call] = {}
        self.all: list[Call] = []
        self.waiting: list[Call] = []

    def find(self, event: ToolCall) -> Call | None:
        """Return the call that the piece goes on; None where it begins one."""
        call = self.at(event)
        if event.id and (event.id != call.server_id if call else not event.name):
            call = self._of_id.get(event.id, call)
        return None if call is None or self._begins(call, event) else call

    def at(self, event: ToolCall) -> Call | None:
        """Return the call at the index of the piece."""
        if event.index == NO_INDEX:
            return self.all[-1] if self.all else None
        return self._at_index.get(event.index)

    def add(self, call: Call) -> None:
        """Take a call that begins."""
        self.all.append(call)
        self.waiting.append(call)

    def register(self, call: Call, event: ToolCall) -> None:
        """Take the index, the id and the name of a piece of the call."""
        self._at_index[event.index] = call
        if event.id:
            self._of_id[event.id] = call
            call.server_id = event.id
        if event.name and not call.sent:
            call.written = self._named(call, event.name)[1]

    def clear(self) -> None:
        """Forget all calls: the reply is at its finish."""
        self.all, self.waiting = [], []
        self._at_index.clear()
        self._of_id.clear()

    def is_named(self, call: Call) -> bool:
        """Return True if the call's name is decided."""
        if call.argued or call.over:
            return True
        return not (self.is_dressed(call.written) or may_become(call.written, self._schemas))

    def _begins(self, call: Call, event: ToolCall) -> bool:
        """Return True if the piece begins another call than `call`, which stands at its index."""
        has_new_id = event.id not in ("", call.server_id)
        match self._named(call, event.name)[0]:
            case Named.NONE:
                return call.over or (has_new_id and call.complete)
            case Named.AGAIN if has_new_id:
                return call.over or call.ended or bool(call.server_id)
            case Named.MORE if has_new_id and call.written:
                return call.over or bool(call.server_id)
            case Named.AGAIN if not (event.id or call.server_id):
                begins_object = event.arguments.lstrip().startswith(("{", '"'))
                return call.over or (call.ended and (call.is_text or begins_object))
            case named:
                return call.over or named is Named.OTHER

    def _named(self, call: Call, piece: str) -> tuple[Named, str]:
        """Return how a piece of a name stands to the call's, and the name with this piece."""
        schemas, joined = self._schemas, call.written + piece
        if not piece or not call.written:
            return (Named.MORE if piece else Named.NONE), joined
        meant, whole = offered_name(joined, schemas), offered_name(piece, schemas)
        if piece == call.written or (whole and whole == call.name):
            return Named.AGAIN, call.written
        if call.sent:  # marks may follow the name
            goes_on = meant == call.name and not whole
        elif call.argued or (whole and offered_name(call.written, schemas)):
            goes_on = False
        elif piece.startswith(call.written):
            goes_on, joined = True, piece  # the whole name so far, in each piece
        else:
            begun = meant or may_become(joined, schemas) or self.is_dressed(call.written)
            goes_on = bool(begun) and not whole
        return (Named.MORE, joined) if goes_on else (Named.OTHER, piece)

    def is_dressed(self, written: str) -> bool:
        """Return True if an offered name stands within a name that is none by itself."""
        schemas = self._schemas
        return not offered_name(written, schemas) and any(name in written for name in schemas)
