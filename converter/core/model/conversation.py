"""Defines a client's request as values of no dialect: a `Conversation` with turns, blocks
(`TextBlock`, `ThinkingBlock`, `ToolUse` ...), tools and settings; also `RequestError`, the error
for an invalid request. Whole replies have such blocks too.

Each dialect has a module that reads its requests into a `Conversation`. One module writes a
`Conversation` as a request of chat completions, so it need not know the client's dialect. All
values are frozen. The reader has checked them, so that the writer need not check them again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

type Role = Literal["system", "user", "assistant"]
type ThinkingMode = Literal["enabled", "adaptive", "disabled", "between_tools"]
type ToolChoiceMode = Literal["auto", "required", "named", "none"]


class RequestError(ValueError):
    """The error for a request that breaks the format of its dialect.

    Attributes:
        path: the path to the field with the fault; empty if it is the whole request.
        message: the path and the fault; without a path only the fault. For
            `RequestError("messages.0.role", "Field required")`, it is
            `messages.0.role: Field required`, as Anthropic's API words it.
        status: the HTTP status of the response with the error.
        details: further values of the error by their names, for dialects whose errors have fields
            for them.
    """

    def __init__(self, path: str, problem: str, status: int = 400, **details: object) -> None:
        self.path, self.status, self.details = path, status, details
        self.message = f"{path}: {problem}" if path else problem
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes that came within the request, as base64."""

    media_type: str
    """The media type, such as `image/png`."""
    base64: str
    """The bytes, encoded as base64."""


@dataclass(frozen=True, slots=True)
class Linked:
    """Bytes that are to be fetched from a URL."""

    url: str
    """The URL as the client wrote it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that the client's vendor keeps under an id. No other server can fetch them."""

    file_id: str
    """The id under which the vendor keeps the bytes."""


type MediaSource = Data | Linked | Stored


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A text in a message."""

    text: str
    """The text itself."""
    stood_in: str = ""
    """The name of the field that held the text (`refusal`); empty if it was `content`."""


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """A thought in a message of the model."""

    text: str
    """The text of the thought."""
    signature: str = ""
    """The vendor's proof that its model wrote the thought. Servers do not get the signature."""
    note: str = ""
    """Facts about the thought that are shown to people ("confidence 0.7")."""


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """A thought that only its vendor can read: `data` is encrypted."""

    data: str
    """The encrypted thought, as the vendor sent it."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image in a message."""

    source: MediaSource
    """The bytes of the image, or where they are."""
    detail: str = ""
    """OpenAI's field for the resolution at which the model looks ("low", "high"); empty if the
    client did not set the field.
    """


@dataclass(frozen=True, slots=True)
class Sound:
    """A sound in a message."""

    source: Data
    """The bytes of the sound."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document in a message."""

    content: tuple[TextBlock | Image, ...] | MediaSource
    """The document's text and images, or the source of its bytes (a PDF)."""
    title: str = ""
    """The title of the document; empty for none."""
    context: str = ""
    """Text that the client sent to explain the document; empty for none."""


type ContentBlock = TextBlock | Image | Sound | Document
"""A block that a person's message or a tool's result may hold."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool by the model."""

    id: str
    """The id of the call. The tool's result has the same id (`ToolResult.tool_use_id`)."""
    name: str
    """The name of the tool."""
    arguments: str = ""
    """The arguments as JSON text; in a reply that was cut, perhaps only its beginning."""
    read_from: str = ""
    """The place where the call was read, and its form: `text (hermes)`. Empty if it was not read
    from text, because the server itself sent it as a tool call.
    """

    @property
    def input(self) -> Mapping[str, object]:
        """The arguments as values; an empty mapping if they are not a JSON object."""
        try:
            values = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return {}
        return values if isinstance(values, dict) else {}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call."""

    tool_use_id: str
    """The id of the call whose result this is."""
    content: tuple[ContentBlock, ...] = ()
    """The text and other blocks of the result."""
    is_error: bool = False
    """True if the client says that the tool failed."""
    name: str = ""
    """The tool's name; empty if the request has only the id of the call."""

    @property
    def text(self) -> str:
        """The text blocks of the result, joined by line ends."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))


type Block = ContentBlock | ThinkingBlock | RedactedThinking | ToolUse | ToolResult


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: its role, and its blocks in order."""

    role: Role
    """Who says the message."""
    blocks: tuple[Block, ...]
    """The blocks of the message in order."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the client runs."""

    name: str
    """The name of the tool."""
    input_schema: Mapping[str, object]
    """The JSON schema of the tool's parameters."""
    description: str = ""
    """A text that tells the model what the tool does; empty for none."""
    strict: bool = False
    """True if the arguments of calls must follow the schema exactly."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The client's choice whether the model may, must or must not call a tool."""

    mode: ToolChoiceMode
    """The rule. "auto": the model may call tools; "none": it must not; "required": it must call
    some tool; "named": it must call the tool `name`.
    """
    name: str = ""
    """The name of the tool in the mode "named"; empty in all other modes."""


@dataclass(frozen=True, slots=True)
class ThinkingSwitch:
    """The thinking that the client requests."""

    mode: ThinkingMode
    """The rule. "enabled": the model thinks; "disabled": it does not; "adaptive": it decides
    itself; "between_tools": it thinks only between calls of tools.
    """
    budget: int | None = None
    """The most tokens of thinking; `None` for no limit."""
    shown: bool = True
    """False if the client wants the reply without the text of the thinking."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings by which the server draws tokens. The server chooses each value that is `None`."""

    temperature: float | None = None
    """How random the choice of tokens is; 0 for the most likely token."""
    top_p: float | None = None
    """A probability. The next token is drawn from the most likely tokens whose probabilities have
    this sum.
    """
    top_k: int | None = None
    """The number of the most likely tokens from which the next token is drawn."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request as values: its turns, its tools, and its settings."""

    model: str
    """The name of the requested model."""
    turns: tuple[Turn, ...]
    """The messages in order."""
    system: tuple[str, ...] = ()
    """The texts that instruct the model; they stand before all turns."""
    max_tokens: int | None = None
    """The most tokens of the reply; `None` if the client sets no limit."""
    tools: tuple[Tool, ...] = ()
    """The tools that the request lists."""
    tool_choice: ToolChoice | None = None
    """Whether the model may call a tool; `None` if the client did not say."""
    parallel_tool_use: bool = True
    """True if the model may make several calls in one reply."""
    stop_sequences: tuple[str, ...] = ()
    """The texts at which the server ends the reply."""
    sampling: Sampling = field(default_factory=Sampling)
    """The settings by which tokens are drawn."""
    stream: bool = False
    """True if the client wants the reply as a stream."""
    thinking: ThinkingSwitch | None = None
    """The requested thinking; `None` if the client did not say."""
    effort: str | None = None
    """How much the model shall think ("low", "high"); `None` if the client did not say."""
    output_schema: Mapping[str, object] | None = None
    """The JSON schema that the answer must follow; `None` for none."""
    output_name: str = ""
    """The name of `output_schema`; empty if the client sent none."""
    output_strict: bool | None = None
    """True if the answer must follow `output_schema` exactly, False if not; `None` if the client
    did not say.
    """
    user_id: str | None = None
    """The id that the client gives its user, for the server's records; `None` for none."""
    extensions: Mapping[str, object] = field(default_factory=dict)
    """Fields that are sent to the server unchanged, by their names."""
    notes: tuple[str, ...] = ()
    """Lines for the log: one about each field or block of the request that was left out."""
    own: object = field(default=None, compare=False, repr=False)
    """A value that the module of the client's dialect keeps here until it writes the reply. No
    other module reads the value.
    """
