"""Events: a model's reply as values that are free of any dialect.

A decoder makes events from frames, the stages turn `Text` into `Text`, `Thinking` and `ToolCall`,
an encoder writes events. A delta of a stream is an event; a whole reply is the same events with
longer texts. Finish reasons are the words of chat completions (`stop`, `length`, `tool_calls`,
`content_filter`), which every local server sends.

Data that only one dialect has is in the field `own` of an event, with the dialect's name. An
encoder of this dialect writes the data back, so that its client gets all that the server sent. The
encoders of all other dialects leave `own` alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Own:
    """Data that only `dialect` can write back: `fields` as they were sent, or `raw`, a frame."""

    dialect: str
    fields: Mapping[str, object] = field(default_factory=dict)
    raw: bytes = b""


def own_fields(own: Own | None, dialect: str) -> Mapping[str, object] | None:
    """Return the fields of `own` if they are of this dialect, else `None`."""
    return own.fields if own and own.dialect == dialect else None


@dataclass(frozen=True, slots=True)
class Start:
    """The id and model of a reply. Another `Start` comes if a later frame has others."""

    id: str
    model: str
    own: Own | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Text of the answer, or of a refusal.

    Attributes:
        own: set if the server sent the content as a list that has parts of other types beside
            text (images). An `Opaque` holds the list, and this text is not searched for tags.
    """

    text: str
    choice: int = 0
    refusal: bool = False
    own: Own | None = None


@dataclass(frozen=True, slots=True)
class Thinking:
    """Text of a thought.

    Attributes:
        own: the reasoning fields in which the server sent the thought; `None` if the thought was
            read from the text.
    """

    text: str
    choice: int = 0
    own: Own | None = None


@dataclass(frozen=True, slots=True)
class ThinkingEnd:
    """The end of a thought. Thinking that follows is another block.

    Attributes:
        thought_type, confidence: from the attributes of the thought's tag
            (`<thinking thought_type="plan" confidence="0.7">`).
        around: the line ends that stood before and behind the thought and were taken from it.
    """

    choice: int = 0
    thought_type: str | None = None
    confidence: float | None = None
    signature: str = ""
    around: tuple[str, str] = field(default=("", ""), compare=False)

    @property
    def note(self) -> str:
        """The type and the confidence, as people are shown them."""
        confidence = "" if self.confidence is None else f"confidence {self.confidence}"
        return ", ".join(filter(None, (self.thought_type, confidence)))


@dataclass(frozen=True, slots=True)
class LateCloser(ThinkingEnd):
    """The closer of a thought that had ended before, at a tool call in the thought.

    The engine emits it, and the stage around the engine (`converter/core/reading/engine/stage.py`)
    takes it out again.
    """


NO_INDEX = -1
"""The index of a piece that the server sent without an index."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A piece of a tool call. One piece has name and id; any piece may have arguments (JSON text).

    Attributes:
        own: the piece as sent, under the name of its field (`tool_calls` or `function_call`).
        read_from: the text in which the call was read, and its form ("text (hermes)"); empty if the
            server itself sent the call as a tool call. It is shown to people.
        ends: True in the last piece of a call. If the piece comes from the assembler, the call's
            arguments are whole; if it comes from a decoder, they may be cut.
        misshapen: True if the piece breaks the format of its dialect and must be written anew.
        free_text: True if the call is of the type `custom`. Its arguments are plain text in a piece
            from a decoder, and an object that holds this text in a piece from the assembler.
        is_value: True if the server sent the arguments as an object and not as text, so that they
            are whole.
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
"""An event with text of the model: of an answer, a thought, or a call's arguments."""
type TextKind = type[Text] | type[Thinking] | type[ToolCall]


@dataclass(frozen=True, slots=True)
class Finish:
    """The reason why a choice ended.

    Attributes:
        stop_sequence: the stop string of the request that ended the choice. `None`: no stop string
            ended it. Empty: a stop string did, but the server does not name the string.
        server_word: the reason in the server's own word.
        at_limit: True if the server gives another reason than `length`, although it counts as many
            tokens as the request allowed.
    """

    reason: str
    stop_sequence: str | None = None
    choice: int = 0
    server_word: str = field(default="", compare=False)
    at_limit: bool = field(default=False, compare=False)


BYTES_PER_TOKEN = 4
"""How many UTF-8 bytes count as one token, where tokens of a reply are estimated.

A token holds about 4 bytes in most languages: 4 letters of English, 2 of Russian, 1 to 2 characters
of Chinese. If characters were counted, a Chinese thought could have several times as many tokens as
an English one. Code has up to a third more tokens than this estimate.
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers of tokens, as the server counted them.

    Attributes:
        input: tokens of the prompt, including those that were read from the server's cache.
        cached, created: tokens of the prompt that were read from the cache, and written to it.
        thinking: the part of `output` that is thinking.
        estimated: True if the server counted nothing or not everything, and the addon estimated.
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
    """A failure in the middle of a reply: the server reports an error, or the reply breaks off.

    Attributes:
        status: the HTTP status that the error would have as a response of its own; 0: unknown.
        code: another name that the error has, such as `context_length_exceeded`.
    """

    message: str
    kind: str = "api_error"
    status: int = 0
    own: Own | None = None
    code: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class End:
    """The end of a reply that the server calls complete."""

    own: Own | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """Fields of a choice that have no event of their own.

    Attributes:
        inner: fields that stand beside the content, in the delta or message.
        outer: fields that stand beside the delta or message.
        covered: names of `inner` that came as a `MappedField` too. Encoders of other dialects pass
            over these names.
    """

    dialect: str
    inner: Mapping[str, object]
    outer: Mapping[str, object]
    choice: int = 0
    covered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MappedField:
    """The value of a server's field that the option `think_map` turns into a block of its own.

    Attributes:
        block: the type of the block.
        key: the field of the block that gets the value.
        value: the server's value; a piece of the value if the server streams a string.
    """

    block: str
    key: str
    value: object
    choice: int = 0


@dataclass(frozen=True, slots=True)
class DialectBlock:
    """A wire event of a block that only one dialect has (`redacted_thinking`), as it was sent."""

    dialect: str
    event: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OpaqueFrame:
    """A frame that the decoder cannot read.

    Attributes:
        comment: True if the frame is not a part of the reply (a ping) and may be left out.
        lost: True if the frame may have held text of the reply, so that the reply is not whole.
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
    """Return the events, with neighbours of one kind joined: text, thinking, or pieces of one call.

    `[Text("a"), Text("b"), Thinking("c")]` -> `[Text("ab"), Thinking("c")]`. `fields`: also join
    events that have an `own` with the same field names; the first event's `own` stays.
    """
    groups: list[list[Joined]] = []
    for event in events:
        if groups and _goes_on(groups[-1][-1], event, fields):
            groups[-1].append(event)
        else:
            groups.append([event])
    return [group[0] if len(group) == 1 else _as_one(group) for group in groups]


def _goes_on(last: Any, event: Any, fields: bool) -> bool:
    """Return True if `event` can be joined to `last`."""
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
    # The constructor takes a third of the time of `replace`.
    return type(first)(text, first.choice, *refusal, first.own)


def model_text(event: Event) -> str:
    """Return the text that the model wrote in an event: its text, or the arguments of a call."""
    if isinstance(event, Text | Thinking):
        return event.text
    return event.arguments if isinstance(event, ToolCall) else ""
