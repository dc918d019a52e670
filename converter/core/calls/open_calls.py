"""`OpenCalls` keeps the calls of one choice, each a `Call` as far as it has come, and decides to
which call each piece belongs. `assembler` emits them.

Servers distinguish calls by index, by id, by name, or by several of these. A piece is compared with
one call: the last call with the piece's index (without an index, the last call of all). If the
piece has the id of another call, it is compared with that call instead; but a piece with a name, at
an index that no call has, always begins a call. Otherwise the piece's name (the rows below) and its
id (the columns) decide whether the piece continues the call or begins another one:

    name \\ id       | none                     | the call's id | a new id
    ----------------+--------------------------+---------------+----------------------------
    none            | continues                | continues     | begins if the call is whole
    the call's name | begins if the call is    | continues     | begins if the call is whole
                    | whole, has no id, and    |               | or has an id
                    | the piece begins with an |               |
                    | object                   |               |
    a further part  | continues                | continues     | begins if the call has an
    of the name     |                          |               | id and a part of its name
    another name    | begins                   | begins        | begins

If the condition behind an "if" of the table is not true, the piece continues the call. But if no
more pieces of the call can come (`Call.is_over`), the piece always begins another call. In the row
"the call's name", a call with the arguments `{}` counts as whole too. So does a call with any free
text, for which the piece need not begin with an object.

The offered names show whether `_weather` behind `get` is a further part of the name or another
name. While a call has no arguments, its name is held if further pieces may turn it into another
offered name or into a whole call (`get_weather(city=`). Calls are emitted one after another, even
if call 1 begins between two pieces of call 0.
"""

import enum
from dataclasses import dataclass, field

from converter.core.calls.arguments import Arguments
from converter.core.calls.free_text import FreeText
from converter.core.calls.names import may_become, offered_name
from converter.core.calls.schema_values import Schemas
from converter.core.calls.typed_values import ArgumentValues
from converter.core.model.events import NO_INDEX, ToolCall


class NameRelation(enum.Enum):
    """The relation of the name in a piece to the name of the call that it may continue."""

    NO_NAME = enum.auto()
    """The piece has no name."""
    SAME_NAME = enum.auto()
    """The piece repeats the call's name."""
    NAME_PART = enum.auto()
    """The piece has a further part of the call's name, or its first part."""
    OTHER_NAME = enum.auto()
    """The piece has the name of another call."""


@dataclass(slots=True)
class Call:
    """A call, as far as its pieces have come."""

    arguments: Arguments | FreeText
    """The reader of the text of the arguments."""
    finish_reason: str
    """The finish reason of a reply with this call: `function_call` if the server sent the call in
    the field of this name, which APIs had before `tool_calls`; else `tool_calls`.
    """
    from_text: bool = False
    """True if the call was read from text of the model. False if the server sent it as a call."""
    index: int = -1
    """The index with which the call is emitted; -1 before its first event is emitted."""
    id: str = ""
    """The id with which the call is emitted; empty before its first event is emitted."""
    name: str = ""
    """The name with which the call is emitted: the offered name that the server's name means, else
    the server's name. Empty before the first event is emitted.
    """
    server_name: str = ""
    """The name as the server sent it, as far as its parts have come."""
    server_id: str = ""
    """The id as the server sent it."""
    is_over: bool = False
    """True if no further piece of the call can come. Text of the call may still be held."""
    sent_as_object: bool = False
    """True if the server sent the arguments as a JSON object and not as a string. They are then
    whole even if the reply was cut off.
    """
    held_pieces: list[ToolCall] = field(default_factory=list)
    """The pieces that came before the call's first event was emitted."""
    inner: tuple[str, str] | None = None
    """The name and arguments of a whole call that stands in the name field; two empty strings if
    none stands there; None before the field was searched.
    """
    values: ArgumentValues | None = None
    """The machine that changes values to the types of the tool's schema; None if no value needs a
    change.
    """

    @property
    def is_text(self) -> bool:
        """True if the call's input is free text."""
        return isinstance(self.arguments, FreeText)

    @property
    def sent(self) -> bool:
        """True if the first event of the call was emitted."""
        return self.index >= 0

    @property
    def complete(self) -> bool:
        """True if the whole call was emitted."""
        return self.sent and self.arguments.complete

    @property
    def not_plain(self) -> str | None:
        """The characters in the open string that only `feed` can read (see `JsonReader.not_plain`).

        Text without them may be sent on unread. None if no string is open, or if the string may
        become a value of another type.
        """
        return None if self.values and not self.values.in_string else self.arguments.not_plain

    def with_types(self, text: str, *, is_last: bool = False) -> str:
        """Return the text that can be emitted now for `text`, the next piece of the arguments: with
        its values in the types of the schema. If no value needs a change, return `text` itself.

        `is_last`: True if no further piece comes, even if the arguments are cut.
        """
        if self.values is None:
            return text
        text = self.values.feed(text)
        return text + (self.values.close() if is_last or self.complete else "")

    @property
    def held_arguments(self) -> str:
        """The arguments of all held pieces, joined."""
        return "".join(piece.arguments for piece in self.held_pieces)

    @property
    def has_arguments(self) -> bool:
        """True if any text of the arguments has come, held or emitted."""
        return self.arguments.has_text or any(piece.arguments.strip() for piece in self.held_pieces)

    @property
    def may_have_ended(self) -> bool:
        """True if the call may be at its end, so that the next piece may begin another call.

        The object of its arguments is then complete, or is an empty `{}` that another object may
        still replace. Free text may end anywhere behind its beginning.
        """
        return self.has_arguments if self.is_text else self.complete or self.arguments.waiting


class OpenCalls:
    """The calls of one choice, in the order of their first pieces.

    Attributes:
        all: all calls since the last finish.
        growing: the calls that may get another piece, or of which some text is still held. It is
            brought up to date when a call is added.
        waiting: the calls of which nothing was emitted yet.
    """

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._at_index: dict[int, Call] = {}
        self._of_id: dict[str, Call] = {}
        self.all: list[Call] = []
        self.growing: list[Call] = []
        self.waiting: list[Call] = []

    def find(self, event: ToolCall) -> Call | None:
        """Return the call that a piece continues; None if the piece begins a call."""
        call = self.last_at_index(event)
        if event.id and (event.id != call.server_id if call else not event.name):
            call = self._of_id.get(event.id, call)
        return None if call is None or self._begins(call, event) else call

    def last_at_index(self, event: ToolCall) -> Call | None:
        """Return the last call that has the index of the piece; None if there is none.

        For a piece without an index, return the last call of all.
        """
        if event.index == NO_INDEX:
            return self.all[-1] if self.all else None
        return self._at_index.get(event.index)

    def add(self, call: Call) -> None:
        """Add a new call. Nothing of it is emitted yet."""
        self.all.append(call)
        self.growing = [each for each in self.growing if not (each.is_over and each.complete)]
        self.growing.append(call)
        self.waiting.append(call)

    def register(self, call: Call, event: ToolCall) -> None:
        """Record that `event` is a piece of `call`: later pieces with the same index or id are then
        compared with this call. A part of the name in the piece is added to `Call.server_name`, if
        nothing of the call was emitted yet.
        """
        self._at_index[event.index] = call
        if event.id:
            self._of_id[event.id] = call
            call.server_id = event.id
        if event.name and not call.sent:
            call.server_name = self._compare_name(call, event.name)[1]

    def is_named(self, call: Call) -> bool:
        """Return True if the call's name is decided: its arguments have begun, or it is over; or
        no further part can make it another offered name or a whole call.
        """
        name, has_all = call.server_name, call.has_arguments or call.is_over
        return has_all or not (self.contains_name(name) or may_become(name, self._schemas))

    def _begins(self, call: Call, event: ToolCall) -> bool:
        """Return True if the piece begins another call, by the table in the module's docstring;
        False if it continues `call`.
        """
        has_new_id = event.id not in ("", call.server_id)
        match self._compare_name(call, event.name)[0]:
            case NameRelation.NO_NAME:
                return call.is_over or (has_new_id and call.complete)
            case NameRelation.SAME_NAME if has_new_id:
                return call.is_over or call.may_have_ended or bool(call.server_id)
            case NameRelation.NAME_PART if has_new_id and call.server_name:
                return call.is_over or bool(call.server_id)
            case NameRelation.SAME_NAME if not (event.id or call.server_id):
                begins_object = event.arguments.lstrip().startswith(("{", '"'))
                return call.is_over or (call.may_have_ended and (call.is_text or begins_object))
            case named:
                return call.is_over or named is NameRelation.OTHER_NAME

    def _compare_name(self, call: Call, piece: str) -> tuple[NameRelation, str]:
        """Compare `piece`, the text in the name field of a piece, with the name of `call` so far.
        Return their relation, and the name so far of the call to which the piece then belongs:
        `_weather` behind `get` -> NAME_PART and `get_weather`.
        """
        schemas, joined = self._schemas, call.server_name + piece
        if not piece or not call.server_name:
            return (NameRelation.NAME_PART if piece else NameRelation.NO_NAME), joined
        meant, whole = offered_name(joined, schemas), offered_name(piece, schemas)
        if piece == call.server_name or (whole and whole == call.name):
            return NameRelation.SAME_NAME, call.server_name
        if call.sent:  # its name was emitted: only marks (`<|x|>`) may still be added
            goes_on = meant == call.name and not whole
        elif call.has_arguments or (whole and offered_name(call.server_name, schemas)):
            goes_on = False
        elif piece.startswith(call.server_name):
            goes_on, joined = True, piece  # some servers repeat the name so far in each piece
        else:
            begun = meant or may_become(joined, schemas) or self.contains_name(call.server_name)
            goes_on = bool(begun) and not whole
        return (NameRelation.NAME_PART, joined) if goes_on else (NameRelation.OTHER_NAME, piece)

    def contains_name(self, written: str) -> bool:
        """Return True if an offered name stands in `written`, but `offered_name` finds none,
        because the text around the name is more than marks: `get_weather(city=`. Such text may be
        the beginning of a whole call in the name field.
        """
        schemas = self._schemas
        return not offered_name(written, schemas) and any(name in written for name in schemas)
