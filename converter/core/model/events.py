"""A model's reply, free of any dialect: the values that pass between the machines.

A decoder makes them from frames, the stages turn `Text` into `Text`, `Thinking` and `ToolCall`, an
encoder writes them. They are flat: a delta is an event, a whole reply is the same events with
longer texts. Finish reasons are the words of chat completions (`stop`, `length`, `tool_calls`,
`content_filter`), which every local server sends.

The neutral fields say all that another dialect can say. Data of a single dialect is in `own`, under
the dialect's name: a frame written anew for that dialect holds all that the server sent, and no
other dialect writes such data.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Own:
    """Data that only `dialect` can write back: fields as they were sent, or the whole frame."""

    dialect: str
    fields: Mapping[str, object] = field(default_factory=dict)
    raw: bytes = b""


def own_fields(own: Own | None, dialect: str) -> Mapping[str, object] | None:
    """Return the fields if they are this dialect's."""
    return own.fields if own and own.dialect == dialect else None


@dataclass(frozen=True, slots=True)
class Start:
    """The head of a reply; comes again when a later frame has another head."""

    id: str
    model: str
    own: Own | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Text of the answer, or of a refusal. `own`: its dialect has the text among other fields
    already (content in parts), where no tags are looked for.
    """

    text: str
    choice: int = 0
    refusal: bool = False
    own: Own | None = None


@dataclass(frozen=True, slots=True)
class Thinking:
    """Text of a thought. `own`: the reasoning fields under which the server itself sent it; none
    when the thought stood in the text.
    """

    text: str
    choice: int = 0
    own: Own | None = None


@dataclass(frozen=True, slots=True)
class ThinkingEnd:
    """The end of a thought; more thinking is another block. Only attribute forms have a type and a
    confidence. `around`: the line ends before and behind the thought, which are no part of it.
    """

    choice: int = 0
    thought_type: str | None = None
    confidence: float | None = None
    signature: str = ""
    around: tuple[str, str] = field(default=("", ""), compare=False)

    @property
    def note(self) -> str:
        """The type and the confidence, for people."""
        confidence = "" if self.confidence is None else f"confidence {self.confidence}"
        return ", ".join(filter(None, (self.thought_type, confidence)))


@dataclass(frozen=True, slots=True)
class LateCloser(ThinkingEnd):
    """The closer of a thought that a tool call had ended: for the stage that reads the calls, which
    keeps it.
    """


NO_INDEX = -1
"""The index of a piece to which the server gives none."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A piece of a tool call: its name and id once, its arguments (JSON text) in pieces.

    Attributes:
        own: the piece as sent, under the name of the field where it stood.
        read_from: where a call stood that the server did not send as one, for people.
        ends: from a decoder, nothing more comes of the call; from the assembler, its arguments are
            whole now.
        misshapen: the piece is not as its dialect has it, so that it is to be written anew.
        free_text: the call is of the type `custom`; from a decoder its arguments are a text, from
            the assembler an object with it.
        is_value: the arguments came as an object and not as text, so they are whole.
    """

    index: int
    id: str
    name: str
    arguments: str
    choice: int = 0
    own: Own | None = None
    read_from: str = field(default="", compare=False)
    ends: bool = field(default=False, compare=False)
    misshapen: bool = False
    free_text: bool = False
    is_value: bool = field(default=False, compare=False)


type TextEvent = Text | Thinking | ToolCall
type TextKind = type[Text] | type[Thinking] | type[ToolCall]
"""An event with text of the model (of an answer, a thought, or a call's arguments), and its kind.
"""


@dataclass(frozen=True, slots=True)
class Finish:
    """The reason why a choice ended.

    Attributes:
        stop_sequence: the string that ended it, when the server names it; empty: one of the
            request's, it is unknown which.
        server_word: the server's own term for the reason.
        at_limit: the server gives another reason, but its counts reach the limit of tokens that was
            sent.
    """

    reason: str
    stop_sequence: str | None = None
    choice: int = 0
    server_word: str = field(default="", compare=False)
    at_limit: bool = field(default=False, compare=False)


BYTES_PER_TOKEN = 4
"""UTF-8 bytes that stand for a token. Vocabularies of local models are made of bytes: a token of
English prose is some 4 letters, each a byte, one of Russian 2 letters of two, one of Chinese 1 to 2
characters of three. Counted characters would allow a Chinese thought several times the English one.
It is an estimate: code takes more tokens than this says, up to a third.
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, counted by the server: `input` with the cached ones. `estimated`: the server counted
    none, or not all.
    """

    input: int
    output: int
    cached: int | None = None
    created: int | None = None
    thinking: int | None = None
    own: Own | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of the reply: the server reports one within it, or it broke off. `status`: the HTTP
    status it would have had.
    """

    message: str
    kind: str = "api_error"
    status: int = 0
    own: Own | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The end of a reply that the server calls complete."""

    own: Own | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """Fields of a choice that the decoder has no event for."""

    dialect: str
    inner: Mapping[str, object]  # beside the content
    outer: Mapping[str, object]  # beside the delta
    choice: int = 0
    covered: tuple[str, ...] = ()  # names of `inner` that other events say, for other dialects


@dataclass(frozen=True, slots=True)
class MappedField:
    """The value of a field of the server's own, or a piece of a string value, for a block of the
    user's choice.
    """

    block: str
    key: str
    value: object
    choice: int = 0


@dataclass(frozen=True, slots=True)
class DialectBlock:
    """An event of a block of a single dialect (`redacted_thinking`, ...), as it came."""

    dialect: str
    event: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OpaqueFrame:
    """A frame that the decoder cannot read.

    Attributes:
        comment: the frame is no part of the reply (a ping), so nothing is lost without it.
        lost: text of the reply is lost, so the reply is not whole.
    """

    own: Own
    comment: bool = False
    lost: bool = False


type Event = (
    Start
    | Text
    | Thinking
    | ThinkingEnd
    | ToolCall
    | Finish
    | Usage
    | Failure
    | End
    | Opaque
    | MappedField
    | DialectBlock
    | OpaqueFrame
)

_IN_PIECES = (Text, Thinking, ToolCall)


def joined[Joined: Event](events: Iterable[Joined], *, fields: bool = False) -> list[Joined]:
    """Return the events, with neighbouring text of one kind joined, and neighbouring pieces of one
    call.

    So text that no stage changed comes out as it went in. `fields`: also join events with the same
    fields of the server's own; the first event's fields stay.
    """
    groups: list[list[Joined]] = []
    for event in events:
        if groups and _goes_on(groups[-1][-1], event, fields):
            groups[-1].append(event)
        else:
            groups.append([event])
    return [group[0] if len(group) == 1 else _as_one(group) for group in groups]


def _goes_on(last: Any, event: Any, fields: bool) -> bool:
    """Return True if the event is another piece of the last one."""
    kind = type(event)
    if type(last) is not kind or kind not in _IN_PIECES or last.choice != event.choice:
        return False
    if kind is ToolCall:
        own = last.own or event.own
        return not (own or event.name or event.id) and last.index == event.index
    if (last.own or event.own) and not (fields and _names(last.own) == _names(event.own)):
        return False
    return kind is Thinking or last.refusal == event.refusal


def _names(own: Own | None) -> tuple[str, ...] | None:
    return tuple(own.fields) if own else None


def _as_one(group: Sequence[Any]) -> Any:
    first = group[0]
    if isinstance(first, ToolCall):
        text = "".join([piece.arguments for piece in group])
        return replace(first, arguments=text, ends=any(piece.ends for piece in group))
    text = "".join([event.text for event in group])
    refusal = (first.refusal,) if isinstance(first, Text) else ()
    return type(first)(text, first.choice, *refusal, first.own)  # in a third of `replace`'s time


def model_text(event: Event) -> str:
    """Return the text that the model wrote in an event: its text, or the arguments of a call."""
    if isinstance(event, Text | Thinking):
        return event.text
    return event.arguments if isinstance(event, ToolCall) else ""
