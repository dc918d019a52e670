"""A request, whatever dialect it was written in.

One module per dialect reads a request into a `Conversation`, and one writes a `Conversation` as a
chat completion, so that neither knows the other dialect. Every value is frozen, and the reader has
checked what a block may hold, so that a writer need not check it again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

type Role = Literal["system", "user", "assistant"]
type ThinkingMode = Literal["enabled", "adaptive", "disabled", "between_tools"]
type ToolChoiceMode = Literal["auto", "required", "named", "none"]


class RequestError(ValueError):
    """A request breaks the format of its dialect: `path` says where, `message` is the path and the
    fault there.

    `RequestError("messages.0.role", "Field required").message` is `messages.0.role: Field
    required`, as Anthropic's API words it. An empty path means the request as a whole. `status`
    and `details`: of the answer, where its dialect has more to say than words.
    """

    def __init__(self, path: str, problem: str, status: int = 400, **details: object) -> None:
        self.path, self.status, self.details = path, status, details
        self.message = f"{path}: {problem}" if path else problem
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes that came with the request, still in base64."""

    media_type: str
    base64: str


@dataclass(frozen=True, slots=True)
class Linked:
    """Bytes to be fetched from a URL."""

    url: str


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes kept by the client's vendor under an id, because no other server can fetch them."""

    file_id: str


type MediaSource = Data | Linked | Stored


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A text. `stood_in`: the field that held it, if that was not the content."""

    text: str
    stood_in: str = ""


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """A thought. The signature names its vendor and never goes to a server. `note`: other facts of
    it, for people.
    """

    text: str
    signature: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """A thought only its vendor can read: there is no text in it."""

    data: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image; `detail`: how closely to look at it, as OpenAI names it, if the client set it."""

    source: MediaSource
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Sound:
    """A sound."""

    source: Data


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its readable text, or the source of its bytes when it has none (a PDF)."""

    content: tuple[TextBlock | Image, ...] | MediaSource
    title: str = ""
    context: str = ""


type ContentBlock = TextBlock | Image | Sound | Document
"""Things that a person or a tool can show a model."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model calls a tool.

    Attributes:
        arguments: JSON text.
        read_from: the form in which the call stood, if the server did not send it as one.
    """

    id: str
    name: str
    arguments: str = ""
    read_from: str = ""

    @property
    def input(self) -> Mapping[str, object]:
        """The arguments as values; none where they are no JSON object."""
        try:
            values = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return {}
        return values if isinstance(values, dict) else {}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call. `name`: of the tool, if the result has it."""

    tool_use_id: str
    content: tuple[ContentBlock, ...] = ()
    is_error: bool = False
    name: str = ""

    @property
    def text(self) -> str:
        """The text of the result."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))


type Block = ContentBlock | ThinkingBlock | RedactedThinking | ToolUse | ToolResult


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: its role, and its blocks in order."""

    role: Role
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the client runs; `input_schema` is JSON Schema."""

    name: str
    input_schema: Mapping[str, object]
    description: str = ""
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Permission or duty to call a tool; `name` only in mode "named"."""

    mode: ToolChoiceMode
    name: str = ""


@dataclass(frozen=True, slots=True)
class ThinkingSwitch:
    """The client's wish about thinking: `budget` in tokens (None: no limit), `shown` False when it
    wants no thinking text.
    """

    mode: ThinkingMode
    budget: int | None = None
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Sampling:
    """Ways to draw tokens; None leaves one to the server."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that a request asks for.

    Attributes:
        extensions: fields in the server's own terms.
        output_name, output_strict: of the output schema, where the client's dialect has them.
        notes: a line for each omission, for the log.
        own: the value that the client's dialect needs again when it writes the reply; no other
            module reads it.
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
