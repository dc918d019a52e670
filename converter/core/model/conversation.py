"""A request as values that are free of any dialect.

Each dialect has a module that reads a request into a `Conversation`. One module writes a
`Conversation` as a request for chat completions, so that neither side knows the other dialect. All
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
        message: the path and the fault. `RequestError("messages.0.role", "Field required").message`
            is `messages.0.role: Field required`, as Anthropic's API words it.
        status: the HTTP status of the response with the error.
        details: further fields of the error, if the dialect's errors have such fields.
    """

    def __init__(self, path: str, problem: str, status: int = 400, **details: object) -> None:
        self.path, self.status, self.details = path, status, details
        self.message = f"{path}: {problem}" if path else problem
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes that came within the request, as base64."""

    media_type: str
    base64: str


@dataclass(frozen=True, slots=True)
class Linked:
    """Bytes that are to be fetched from a URL."""

    url: str


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that the client's vendor keeps under an id. No other server can fetch them."""

    file_id: str


type MediaSource = Data | Linked | Stored


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A text.

    Attributes:
        stood_in: the name of the field that held the text (`refusal`); empty if it was `content`.
    """

    text: str
    stood_in: str = ""


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """A thought.

    Attributes:
        signature: the vendor's proof that its model wrote the thought. It is not sent to servers.
        note: facts about the thought that are shown to people ("confidence 0.7").
    """

    text: str
    signature: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """A thought that only its vendor can read: `data` is encrypted."""

    data: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image.

    Attributes:
        detail: OpenAI's field for the resolution at which the model looks ("low", "high"); empty if
            the client did not set the field.
    """

    source: MediaSource
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Sound:
    """A sound."""

    source: Data


@dataclass(frozen=True, slots=True)
class Document:
    """A document.

    Attributes:
        content: its text and images, or the source of its bytes (a PDF).
        title: its title; empty for none.
        context: text about it that the client sent with it; empty for none.
    """

    content: tuple[TextBlock | Image, ...] | MediaSource
    title: str = ""
    context: str = ""


type ContentBlock = TextBlock | Image | Sound | Document
"""A block that a person's message or a tool's result may hold."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool by the model.

    Attributes:
        arguments: the arguments as JSON text.
        read_from: where the call was read, and its form ("text (hermes)"); empty if the server
            itself sent the call as a tool call.
    """

    id: str
    name: str
    arguments: str = ""
    read_from: str = ""

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
    """The result of a tool call.

    Attributes:
        tool_use_id: the id of the call.
        name: the tool's name; empty if the request has only the id of the call.
    """

    tool_use_id: str
    content: tuple[ContentBlock, ...] = ()
    is_error: bool = False
    name: str = ""

    @property
    def text(self) -> str:
        """The text blocks of the result, joined by line ends."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))


type Block = ContentBlock | ThinkingBlock | RedactedThinking | ToolUse | ToolResult


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: its role, and its blocks in order."""

    role: Role
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the client runs.

    Attributes:
        input_schema: the JSON schema of its parameters.
        strict: True if the arguments of its calls must follow the schema exactly.
    """

    name: str
    input_schema: Mapping[str, object]
    description: str = ""
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The client's choice whether the model may, must or must not call a tool.

    Attributes:
        mode: the rule. "required": it must call some tool; "named": the tool `name`.
        name: the name of this tool; empty in all other modes.
    """

    mode: ToolChoiceMode
    name: str = ""


@dataclass(frozen=True, slots=True)
class ThinkingSwitch:
    """The thinking that the client requests.

    Attributes:
        mode: whether the model thinks.
        budget: the most tokens of thinking; `None` for no limit.
        shown: False if the client wants the reply without the text of the thinking.
    """

    mode: ThinkingMode
    budget: int | None = None
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings by which the server draws tokens. The server chooses each value that is `None`."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that a request asks for.

    Attributes:
        effort: how much the model shall think ("low", "high"); `None` if the client did not say.
        output_schema: the JSON schema that the answer must follow; `None` for none.
        output_name: the name of this schema; empty if the dialect has no such field.
        output_strict: True if the answer must follow this schema exactly; `None` if the dialect has
            no such field.
        extensions: fields that are sent to the server unchanged, by their names.
        notes: lines for the log, one about each field or block that was left out.
        own: a value that the client's dialect keeps here until it writes the reply. No other module
            reads the value.
    """

    model: str
    turns: tuple[Turn, ...]
    system: tuple[str, ...] = ()
    max_tokens: int | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_use: bool = True
    stop_sequences: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    stream: bool = False
    thinking: ThinkingSwitch | None = None
    effort: str | None = None
    output_schema: Mapping[str, object] | None = None
    output_name: str = ""
    output_strict: bool | None = None
    user_id: str | None = None
    extensions: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    own: object = field(default=None, compare=False, repr=False)
