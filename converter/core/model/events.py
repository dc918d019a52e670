"""Defines events, the values of which a model's reply consists in every dialect, such as `Text`,
`Thinking`, `ToolCall`, `Finish` and `Usage`. `joined` joins their pieces.

A decoder makes events from frames. The stages turn `Text` into `Text`, `Thinking` and `ToolCall`.
An encoder writes events as frames. The deltas of a stream become events one by one; a whole reply
becomes the same events with longer texts.

Data that only one dialect has is in the field `own` of an event, with the dialect's name. An
encoder of this dialect writes the data back, so that its client gets all that the server sent. The
encoders of all other dialects ignore `own`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Own:
    """Data of an event that only one dialect can write back."""

    dialect: str
    """The name of the dialect that has the data, such as `anthropic`."""
    fields: Mapping[str, object] = field(default_factory=dict)
    """The fields as the server sent them, by name."""
    raw: bytes = b""
    """All bytes of a frame as the server sent it; empty if `fields` or an `Opaque` has the data."""


def own_fields(own: Own | None, dialect: str) -> Mapping[str, object] | None:
    """Return the fields of `own` if its dialect is `dialect`; else `None`."""
    return own.fields if own and own.dialect == dialect else None


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning of a reply, with its id and model.

    Each frame of chat completions repeats the id, the model and further fields (`created`). Another
    `Start` comes if a later frame has other values in them.
    """

    id: str
    """The id of the reply."""
    model: str
    """The name of the model."""
    own: Own | None = None
    """Fields of the frame or body that begins the reply, as the server sent them; `None` if the
    dialect needs none to be written back.
    """


@dataclass(frozen=True, slots=True)
class Text:
    """Text of the answer, or of a refusal."""

    text: str
    """The text, or a piece of it."""
    choice: int = 0
    """The index of the choice: 0, unless the request asks for several replies (`n`)."""
    refusal: bool = False
    """True for text of a refusal."""
    own: Own | None = None
    """`None` for nearly all text. Set if the server sent the content as a list that has other parts
    than text and thinking (images). An `Opaque` then holds the whole list, and this text is a copy
    from it: it is not searched for tags, and the encoder of chat completions writes only the list.
    """


@dataclass(frozen=True, slots=True)
class Thinking:
    """Text of a thought."""

    text: str
    """The text, or a piece of it."""
    choice: int = 0
    """The index of the choice: 0, unless the request asks for several replies (`n`)."""
    own: Own | None = None
    """The fields of a chat completion in which the server sent the thought, such as
    `reasoning_content`. `None` if the thought was read from the text or from a part of the content,
    or came in another dialect. An `Own` without fields if an `Opaque` already holds the thought.
    """


@dataclass(frozen=True, slots=True)
class ThinkingEnd:
    """The end of a thought. Thinking that follows is another block."""

    choice: int = 0
    """The index of the choice: 0, unless the request asks for several replies (`n`)."""
    thought_type: str | None = None
    """The attribute `thought_type` of the thought's tag, as in `<thinking thought_type="plan">`;
    `None` for a tag without it.
    """
    confidence: float | None = None
    """The attribute `confidence` of the thought's tag, as in `<thinking confidence="0.7">`; 0.5 if
    a tag with attributes has no such number, `None` for a tag without attributes.
    """
    signature: str = ""
    """The vendor's proof that its model wrote the thought; empty for none."""
    around: tuple[str, str] = field(default=("", ""), compare=False)
    """The line ends that were removed from a thought in the text: at its beginning, and at its end.
    """

    @property
    def note(self) -> str:
        """Type and confidence as text for people ("plan, confidence 0.7"); empty if the event has
        neither.
        """
        confidence = "" if self.confidence is None else f"confidence {self.confidence}"
        return ", ".join(filter(None, (self.thought_type, confidence)))


@dataclass(frozen=True, slots=True)
class LateCloser(ThinkingEnd):
    """The closer of a thought that has already ended, because the model wrote a tool call in it.

    The engine that reads the text emits it. The engine's stage
    (`converter/core/reading/engine/stage.py`) takes it out, so that no client gets it. From then
    on, the stage drops a call that repeats an earlier one: a model that wrote a call in its thought
    may write it again in its answer.
    """


NO_INDEX = -1
"""The index of a piece of a tool call that the server sent without an index."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A piece of a tool call. Any piece may have arguments.

    In pieces from a decoder, name and id are as the server sent them, perhaps in parts. The
    assembler, a stage, joins the parts: in its pieces, the first one has the whole name and id.
    """

    index: int
    """The number that tells this call from the other calls of its choice; `NO_INDEX` if the server
    sent none and the decoder could not count the calls.
    """
    id: str
    """The id of the call; empty in a piece without it."""
    name: str
    """The name of the tool; empty in a piece without it."""
    arguments: str
    """A piece of the arguments, as JSON text."""
    choice: int = 0
    """The index of the choice: 0, unless the request asks for several replies (`n`)."""
    own: Own | None = None
    """The piece as the server sent it, under the name of its field (`tool_calls` or
    `function_call`); `None` for a call from another dialect or from text.
    """
    read_from: str = field(default="", compare=False)
    """The place where the call was read, and its form, for people: `text (hermes)`. Empty if it was
    not read from text, because the server itself sent it as a tool call.
    """
    ends: bool = field(default=False, compare=False)
    """True if no piece of the call follows; False if the sender of the piece does not know. If the
    piece comes from the assembler (the stage that joins calls), True also says that the arguments
    are whole. If it comes from a decoder, they may be cut off.
    """
    misshapen: bool = False
    """True if the server's piece breaks the format of its dialect, so that `own` cannot be sent on.
    """
    free_text: bool = False
    """True for a call of the type `custom`, whose arguments are plain text. A piece from a decoder
    has this text; a piece from the assembler (the stage that joins calls) has an object that
    holds it.
    """
    is_value: bool = field(default=False, compare=False)
    """True if the server broke the format of chat completions by sending the arguments as an object
    and not as JSON text. The arguments are then whole.
    """


type TextEvent = Text | Thinking | ToolCall
"""An event with text of the model: of an answer, a thought, or a call's arguments."""
type TextKind = type[Text] | type[Thinking] | type[ToolCall]


@dataclass(frozen=True, slots=True)
class Finish:
    """The reason why a choice ended."""

    reason: str
    """The meaning of the server's word: a finish reason of chat completions (`stop`, `length`,
    `tool_calls`, `content_filter`), `pause_turn` of the Messages API, or `error` if the reply is
    not whole. A word that means none of these stays as it is.
    """
    stop_sequence: str | None = None
    """The stop string that ended the choice, one of those in the request. Empty if the server says
    that one did, but not which; `None` if it says nothing of a stop string, as many servers do.
    """
    choice: int = 0
    """The index of the choice: 0, unless the request asks for several replies (`n`)."""
    server_word: str = field(default="", compare=False)
    """The finish reason as the server wrote it."""
    at_limit: bool = field(default=False, compare=False)
    """True if the limit of tokens probably cut the reply, although the server's finish reason is
    not `length`: by the server's count, the reply has as many tokens as the request allows.
    """


BYTES_PER_TOKEN = 4
"""How many UTF-8 bytes count as one token where the tokens of a text are estimated.

A token holds about 4 bytes in most languages: 4 letters of English, 2 of Russian, 1 to 2 characters
of Chinese. If characters were counted instead, the estimate for a Chinese thought would be several
times too low. Code has up to a third more tokens than this estimate.
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """The numbers of tokens of a request and its reply: the server's counts, or estimates."""

    input: int
    """The tokens of the prompt, including those that the server read from its cache."""
    output: int
    """The tokens of the reply."""
    cached: int | None = None
    """The tokens of the prompt that the server read from its cache; `None` if not known."""
    created: int | None = None
    """The tokens of the prompt that the server wrote to its cache; `None` if not known."""
    thinking: int | None = None
    """The tokens of `output` that are thinking; `None` if not known."""
    own: Own | None = None
    """The fields of the counts as the server sent them; `None` if the addon has changed or made the
    counts.
    """
    estimated: bool = False
    """True if some number is the addon's estimate, because the server did not count the tokens."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure that ends a reply: the server reports an error, the reply breaks off or is not
    whole, or the addon cannot send it on.
    """

    message: str
    """The fault in words, for people."""
    kind: str = "api_error"
    """The error's type as the server named it (`overloaded_error`); `api_error` for none."""
    status: int = 0
    """The HTTP status that a response with this error would have; 0 if it is not known."""
    own: Own | None = None
    """The server's frame with the error, if a client of the server's dialect can read it; else
    `None`.
    """
    code: str = field(default="", compare=False)
    """The error's `code` in OpenAI's APIs, such as `context_length_exceeded`; empty for none."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a reply: the server has marked it (`[DONE]`), a whole body has ended, or the addon
    ends the reply.
    """

    own: Own | None = None
    """The server's frame that ends the stream. In the Responses API, streamed or whole: the fields
    of the response that no other event has. `None` for other whole bodies, for Ollama, and if the
    addon ends the reply.
    """


@dataclass(frozen=True, slots=True)
class Opaque:
    """Fields of a choice for which there is no other event, such as `logprobs`. If it has none, the
    event only keeps the place of the frame's counts or own fields in the stream.
    """

    dialect: str
    """The name of the dialect that has the fields."""
    inner: Mapping[str, object]
    """The fields of the choice's delta or message beside its text, thoughts and calls, such as
    `role`. Content that is a list with images is in here whole; its text is also in a `Text`.
    """
    outer: Mapping[str, object]
    """The fields that stand in the choice itself, beside its delta or message."""
    choice: int = 0
    """The index of the choice: 0, unless the request asks for several replies (`n`)."""
    covered: tuple[str, ...] = ()
    """The names of fields in `inner` that the decoder also emits as a `MappedField`. Encoders of
    other dialects write only the `MappedField`.
    """


@dataclass(frozen=True, slots=True)
class MappedField:
    """The value of a server's own field that becomes a block for the client (`think_map`)."""

    block: str
    """The `type` of the block, as the user chose it in `think_map`."""
    key: str
    """The name of the block's field in which the value is sent."""
    value: object
    """The server's value; a piece of the value if the server streams a string."""
    choice: int = 0
    """The index of the choice: 0, unless the request asks for several replies (`n`)."""


@dataclass(frozen=True, slots=True)
class DialectBlock:
    """A part of a reply that only one dialect has: in the Messages API an event about a block
    (`redacted_thinking`), in the Responses API a whole item. Encoders of other dialects leave it
    out.
    """

    dialect: str
    """The name of the dialect that has the block, such as `anthropic`."""
    event: Mapping[str, object]
    """The JSON of the server-sent event's data, or of the item. For a block of a whole message, it
    is the event that a stream would have for the block.
    """


@dataclass(frozen=True, slots=True)
class OpaqueFrame:
    """A frame from which the decoder makes no other event: a ping, JSON that is no part of a reply,
    or one that it cannot read.
    """

    own: Own
    """The bytes of the frame, with the dialect that can send them on."""
    comment: bool = False
    """True for a frame such as a ping, which is no part of the reply and may be left out."""
    lost: bool = False
    """True if the frame cannot be read and may have held text, so that the reply is not whole."""


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
"""Types of events whose text comes in pieces, which `joined` joins."""


def joined[Joined: Event](events: Iterable[Joined], *, fields: bool = False) -> list[Joined]:
    """Return the events, with neighbours of one kind and choice joined into one: text, refusals,
    thinking, or pieces of one call. `[Text("a"), Text("b"), Thinking("c")]` -> `[Text("ab"),
    Thinking("c")]`.

    A piece with a call's name or id is not joined to the piece before it. An event with `own` is
    not joined. But if `fields` is True, text and thinking with `own` are joined if both have the
    same field names in it; the first event's `own` stays.
    """
    groups: list[list[Joined]] = []
    for event in events:
        if groups and _can_join(groups[-1][-1], event, fields):
            groups[-1].append(event)
        else:
            groups.append([event])
    return [group[0] if len(group) == 1 else _joined_event(group) for group in groups]


def _can_join(last: Any, event: Any, fields: bool) -> bool:
    """Return True if `event` can be joined to `last`, the event before it. `fields`: True if text
    and thinking with `own` may be joined, as in `joined`.
    """
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
    """Return the names of the fields in `own`; `None` if there is no `own`."""
    return tuple(own.fields) if own else None


def _joined_event(group: Sequence[Any]) -> Any:
    """Return a copy of the first event, with the joined text of all events in `group`. A piece of a
    call also has `ends` if one of them has it.
    """
    first = group[0]
    if isinstance(first, ToolCall):
        text = "".join([piece.arguments for piece in group])
        return replace(first, arguments=text, ends=any(piece.ends for piece in group))
    text = "".join([event.text for event in group])
    refusal = (first.refusal,) if isinstance(first, Text) else ()
    # The constructor takes a third of the time that `replace` would take.
    return type(first)(text, first.choice, *refusal, first.own)


def model_text(event: Event) -> str:
    """Return the text that the model wrote in an event: its text, or the arguments of a call. Empty
    for all other events.
    """
    if isinstance(event, Text | Thinking):
        return event.text
    return event.arguments if isinstance(event, ToolCall) else ""
