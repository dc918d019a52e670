"""The parts of a Responses item, read: text, images, files, sound."""

from collections.abc import Callable

from converter.dialects.openai_parts import document_of, source_of
from converter.model.conversation import Data, Document, Image, Sound, Stored, TextBlock
from converter.wire.checked import Fields

type Part = TextBlock | Image | Sound | Document


def read_parts(item: Fields, name: str, left_out: set[str]) -> list[Part]:
    """Return the parts of a field that is a string or a list; none when it is absent."""
    content = item.value(name)
    if content is None:
        return []
    if isinstance(content, str):
        return [TextBlock(content)]
    parts: list[Part] = []
    for part in item.children(name):
        kind = part.optional("type", str) or "input_text"
        if kind in PARTS:
            parts.append(PARTS[kind](part))
        else:
            left_out.add(kind)
    return parts


def _text(part: Fields) -> TextBlock:
    return TextBlock(part.optional("text", str) or "")


def _image(part: Fields) -> Image:
    url = part.optional("image_url", str)
    source = source_of(url) if url else Stored(part.optional("file_id", str) or "")
    return Image(source, part.optional("detail", str) or "")


def _audio(part: Fields) -> Sound:
    audio = part.child("input_audio") or part
    kind = audio.optional("format", str) or "wav"
    return Sound(Data(f"audio/{kind}", audio.optional("data", str) or ""))


PARTS: dict[str, Callable[[Fields], Part]] = {
    **dict.fromkeys(("input_text", "output_text", "text", "summary_text", "reasoning_text"), _text),
    "refusal": lambda part: TextBlock(part.optional("refusal", str) or ""),
    "input_image": _image,
    "computer_screenshot": _image,
    "input_file": document_of,
    "input_audio": _audio,
}


def with_id(item: object, name: str) -> object:
    """Return an item as the API shows it: with an id, a message with its type and parts."""
    if not isinstance(item, dict):
        return item
    shown = {"id": f"msg_{name}", "type": "message", "status": "completed", **item}
    if isinstance(content := item.get("content"), str):
        answered = item.get("role") == "assistant"
        part = {"type": "output_text", "annotations": []} if answered else {"type": "input_text"}
        shown["content"] = [{**part, "text": content}]
    return shown
