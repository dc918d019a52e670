"""`GrowingBlocks` joins the events of one choice to blocks of `converter.core.model.conversation`:
text, thoughts and tool calls. `message` makes a whole reply of them.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolUse
from converter.core.model.events import Event, Text, Thinking, ThinkingEnd, ToolCall

type Grown = TextBlock | ThinkingBlock | ToolUse


@dataclass(slots=True)
class _GrowingText:
    """A text or thinking block, put together from its pieces."""

    kind: type[TextBlock | ThinkingBlock]
    """The type of the block: text of the answer, or a thought."""
    label: str = ""
    """In a text: the field from which it came (`refusal`), empty for the content. In a thought:
    facts about it for people (`ThinkingEnd.note`).
    """
    signature: str = ""
    """The vendor's proof that its model wrote the thought; empty for none, and for a text."""
    pieces: list[str] = field(default_factory=list)
    """The text of the block so far, in pieces."""

    def block(self) -> Grown:
        """Return the block as it is so far."""
        self.pieces = ["".join(self.pieces)]
        if self.kind is ThinkingBlock:
            return ThinkingBlock(self.pieces[0], self.signature, self.label)
        return TextBlock(self.pieces[0], self.label)


@dataclass(slots=True)
class GrowingCall:
    """A tool call, put together from its pieces."""

    id: str = ""
    """The id of the call; empty until a piece has it."""
    name: str = ""
    """The name of the tool; empty until a piece has it."""
    read_from: str = ""
    """The place where the call was read, and its form: `text (hermes)`. Empty if it was not read
    from text, because the server itself sent it as a tool call.
    """
    pieces: list[str] = field(default_factory=list)
    """The JSON of the arguments so far, in pieces."""

    def block(self) -> ToolUse:
        """Return the call as it is so far."""
        self.pieces = ["".join(self.pieces)]
        return ToolUse(self.id, self.name, self.pieces[0], self.read_from)

    def add(self, event: ToolCall) -> None:
        """Add a piece of the call. The call takes its name and id from the first piece that has
        them.
        """
        self.id = self.id or event.id
        self.name = self.name or event.name
        self.read_from = self.read_from or event.read_from
        self.pieces.append(event.arguments)


class GrowingBlocks[Other]:
    """The blocks of one choice so far, in the order in which they began.

    A caller may `append` parts of a type `Other` between them, such as images; `Other` is `Never`
    for a caller that has no such parts.
    """

    def __init__(self) -> None:
        self._entries: list[_GrowingText | GrowingCall | Other] = []
        self._open: _GrowingText | None = None
        self._calls: dict[Hashable, GrowingCall] = {}

    def parts(self) -> tuple[Grown | Other, ...]:
        """Return all blocks and other parts as they are so far."""
        return tuple(
            each.block() if isinstance(each, _GrowingText | GrowingCall) else each
            for each in self._entries
        )

    def feed(self, event: Event) -> None:
        """Add an event of the choice. Text and thinking are added to the open block if that is of
        the same kind; else they begin a block. A piece of a call is added to the call with its
        index, or begins one (`call_of`). A `ThinkingEnd` ends the open block. Other events change
        nothing.
        """
        match event:
            case Text():
                self.grow(TextBlock, event.text, "refusal" if event.refusal else "")
            case Thinking():
                self.grow(ThinkingBlock, event.text)
            case ThinkingEnd():
                self.end_thought(event.signature, event.note)
            case ToolCall():
                self.call_of(event.index, event.id)[0].add(event)

    def grow(self, kind: type[TextBlock | ThinkingBlock], text: str, label: str = "") -> bool:
        """Add text of the answer or of a thought. Return True if it begins a block, False if it is
        added to the open one. `label`: the field from which text of the answer came; empty for the
        content.
        """
        entry = self._open
        fresh = entry is None or (entry.kind, entry.label) != (kind, label)
        if entry is None or fresh:
            entry = self._open = _GrowingText(kind, label)
            self._entries.append(entry)
        entry.pieces.append(text)
        return fresh

    def end_thought(self, signature: str, note: str) -> None:
        """Set the signature and the note (`ThinkingEnd.note`) of the open thought, and end it. An
        open text is only ended.
        """
        if self._open and self._open.kind is ThinkingBlock:
            self._open.signature, self._open.label = signature, note
        self._open = None

    def end(self) -> None:
        """End the open text or thought."""
        self._open = None

    def append(self, part: Other) -> None:
        """Add a complete part of the caller's type, and end the open text or thought."""
        self._open = None
        self._entries.append(part)

    def call_of(self, key: Hashable, id: str = "") -> tuple[GrowingCall, bool]:  # noqa: A002
        """Return the call to which a piece belongs, and True if the piece begins this call.

        `key`: the index of the piece, or another value by which the caller tells calls apart. `id`:
        the id in the piece; empty if it has none. A piece with the key of an earlier call, but with
        another id, begins a new call.
        """
        call = self._calls.get(key)
        if call is not None and not (id and call.id and id != call.id):
            return call, False
        return self.begin_call(key), True

    def begin_call(self, key: Hashable) -> GrowingCall:
        """Begin a call and return it. Later pieces with this `key` belong to it, until another call
        begins with the same key.
        """
        self._open = None
        call = self._calls[key] = GrowingCall()
        self._entries.append(call)
        return call
