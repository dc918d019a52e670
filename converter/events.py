"""What a model's reply says, free of any dialect: the values that pass between the machines.

A decoder makes them from frames, the think parser turns `Text` into `Text` and `Thinking`, an
encoder writes them. They are flat: a delta is an event, a whole reply is the same events with
longer texts. Finish reasons are the words of chat completions (`stop`, `length`, `tool_calls`,
`content_filter`), being what every local server sends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

type Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Start:
    """The head of a reply; comes again when a later frame has another head (`head`: the dialect's
    own fields, whole).
    """

    id: str
    model: str
    head: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """Words of the answer. `field`: where they stood, when it was not the content (a refusal)."""

    text: str
    choice: int = 0
    field: str = "content"


@dataclass(frozen=True, slots=True)
class Thinking:
    """Words of a thought. `names`: the reasoning fields the server itself sent it under; none when
    it stood in tags.

    `sent`: those fields as they came, when they hold more than `text`: a list, or words that
    another name has told before.
    """

    text: str
    choice: int = 0
    names: tuple[str, ...] = ()
    sent: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ThinkingEnd:
    """The thought so far is complete; what follows is another block. Type and confidence are only
    known of attribute forms.
    """

    choice: int = 0
    thought_type: str | None = None
    confidence: float | None = None
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A piece of a tool call: its name and id once, its arguments (JSON text) in pieces. `entry`:
    as sent; `field`: where.
    """

    index: int
    id: str
    name: str
    arguments: str
    choice: int = 0
    entry: Fields = field(default_factory=dict)
    field: str = "tool_calls"


@dataclass(frozen=True, slots=True)
class Finish:
    """Why a choice ended. `stop_sequence`: the string that ended it, when the server tells. `said`:
    the server's own word.
    """

    reason: str
    stop_sequence: str | None = None
    choice: int = 0
    said: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, counted by the server: `input` with the cached ones. `entry`: the count as sent."""

    input: int
    output: int
    cached: int | None = None
    created: int | None = None
    thinking: int | None = None
    entry: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """The server says, within the reply, that it failed. `raw`: its frame; `status`: the HTTP
    status it would have had.
    """

    message: str
    kind: str = "api_error"
    raw: bytes = b""
    status: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """The server says that the reply is complete. `raw`: the frame that said so, if one did."""

    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Opaque:
    """Fields of a choice that the decoder has no event for: `inner` beside the content, `outer`
    beside the delta.

    `told`: those of `inner` that events of their own tell as well, for a dialect that has no place
    for the fields.
    """

    inner: Fields
    outer: Fields
    choice: int = 0
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vendor:
    """What a field of the server's own says, or a piece of it, if it is a string; the user wants it
    in a block of this kind.
    """

    block: str
    key: str
    value: object
    choice: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """One event of a block that only the Messages API has (`redacted_thinking`, ...), as it came."""

    event: Fields


@dataclass(frozen=True, slots=True)
class OpaqueFrame:
    """A frame the decoder cannot read. `comment`: it is none of the reply's (a ping), so nothing is
    lost without it.
    """

    raw: bytes
    comment: bool = False


type Event = (
    Start | Text | Thinking | ThinkingEnd | ToolCall | Finish | Usage | Failure | End | Opaque | Vendor | Block | OpaqueFrame
)  # fmt: skip
