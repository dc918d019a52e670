"""The messages of a chat-completions request, read: one reader per role, one per content part.

Tolerant where servers are: a part with a clear meaning is read, one with none is left out with a
note. A request that goes on as it came is not changed by this; it is read for what it says.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from converter.dialects.openai_chat.messages import TOOL_ERROR
from converter.dialects.openai_parts import (
    CUSTOM_INPUT,
    TEXT_PARTS,
    document_of,
    read_arguments,
    read_parts,
    source_of,
)
from converter.dialects.reasoning_fields import thoughts_of, words_of
from converter.model.conversation import (
    Block,
    ContentBlock,
    Data,
    Document,
    Image,
    Sound,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    Turn,
)
from converter.wire.checked import Fields

type MessagePart = ContentBlock | ThinkingBlock

SYSTEM_ROLES = ("system", "developer")
RESULT_ROLES = ("tool", "function")


@dataclass(slots=True)
class Messages:
    """The messages read so far. `left_out`: kinds of parts that have no place in a conversation."""

    turns: list[Turn] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    _calls: int = 0
    _legacy: dict[str, str] = field(default_factory=dict)  # function name -> id of its last call

    def add(self, message: Fields) -> None:
        """Read one message; tool messages in a row are one turn."""
        role = message.optional("role", str) or "user"
        if role in SYSTEM_ROLES:
            self.turns.append(Turn("system", self._parts(message)))
        elif role == "assistant":
            self.turns.append(Turn("assistant", self._assistant(message)))
        elif role in RESULT_ROLES:
            self._add_result(self._result(message, role))
        else:
            if role != "user":
                self.left_out.add(f"role {role!r}, read as user")
            self.turns.append(Turn("user", self._parts(message)))

    def _add_result(self, result: ToolResult) -> None:
        last = self.turns[-1] if self.turns else None
        if last and last.role == "user" and isinstance((*last.blocks, None)[0], ToolResult):
            self.turns[-1] = Turn("user", (*last.blocks, result))
        else:
            self.turns.append(Turn("user", (result,)))

    def _result(self, message: Fields, role: str) -> ToolResult:
        call = message.optional("tool_call_id", str) or ""
        if role == "function":
            call = self._legacy.get(message.optional("name", str) or "", call)
        parts = tuple(part for part in self._parts(message) if not isinstance(part, ThinkingBlock))
        first = parts[0].text if parts and isinstance(parts[0], TextBlock) else ""
        if not first.startswith(f"{TOOL_ERROR}\n"):
            return ToolResult(call, parts)
        return ToolResult(
            call, (TextBlock(first.removeprefix(f"{TOOL_ERROR}\n")), *parts[1:]), True
        )

    def _assistant(self, message: Fields) -> tuple[Block, ...]:
        thoughts = map(ThinkingBlock, filter(None, thoughts_of(message.values).values()))
        blocks: list[Block] = [*thoughts, *self._parts(message)]
        if refusal := message.optional("refusal", str):
            blocks.append(TextBlock(refusal))
        blocks += map(self._call, message.children("tool_calls"))
        if legacy := message.child("function_call"):
            call = self._call(Fields({"function": legacy.values}, message.place))
            self._legacy[call.name] = call.id
            blocks.append(call)
        return tuple(blocks)

    def _call(self, entry: Fields) -> ToolUse:
        self._calls += 1
        name = entry.optional("id", str) or f"call_{self._calls}"
        if custom := entry.child("custom"):
            said = custom.optional("input", str) or ""
            return ToolUse(name, custom.required("name", str), {CUSTOM_INPUT: said})
        function = entry.inner("function")
        return ToolUse(
            name, function.required("name", str), read_arguments(function.value("arguments"))
        )

    def _parts(self, message: Fields) -> tuple[MessagePart, ...]:
        parts = read_parts(message, "content", PARTS, self.left_out)
        return tuple(parts) if message.value("content") != "" else ()


# Content parts.


def _thinking(part: Fields) -> ThinkingBlock:
    """Mistral's API: a list of text parts; others: a string."""
    return ThinkingBlock(words_of(part.value("thinking") or part.value("text")))


def _image(part: Fields) -> Image:
    value = part.value("image_url")
    if isinstance(value, str):  # llama.cpp and Ollama take the bare string as well
        return Image(source_of(value))
    image = part.inner("image_url")
    return Image(source_of(image.required("url", str)), image.optional("detail", str) or "")


def _audio(part: Fields) -> Sound:
    audio = part.inner("input_audio")
    kind = audio.optional("format", str) or "wav"
    return Sound(Data(f"audio/{kind}", audio.required("data", str)))


def _linked(part: Fields) -> Document:
    """vLLM's `audio_url` and `video_url`."""
    linked = part.inner(part.required("type", str))
    return Document(source_of(linked.required("url", str)))


PARTS: dict[str, Callable[[Fields], MessagePart]] = {
    **TEXT_PARTS,
    "thinking": _thinking,
    "image_url": _image,
    "input_audio": _audio,
    "audio_url": _linked,
    "video_url": _linked,
    "file": lambda part: document_of(part.inner("file")),
}
