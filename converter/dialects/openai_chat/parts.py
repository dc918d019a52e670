"""The parts of a chat-completions message, read: people are shown a request by them."""

from collections.abc import Callable

from converter.dialects.openai_parts import TEXT_PARTS, document_of, source_of
from converter.dialects.reasoning_fields import words_of
from converter.model.conversation import (
    ContentBlock,
    Data,
    Document,
    Image,
    Sound,
    ThinkingBlock,
)
from converter.wire.checked import Fields


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


PARTS: dict[str, Callable[[Fields], ContentBlock | ThinkingBlock]] = {
    **TEXT_PARTS,
    "thinking": _thinking,
    "image_url": _image,
    "input_audio": _audio,
    "audio_url": _linked,
    "video_url": _linked,
    "file": lambda part: document_of(part.inner("file")),
}
