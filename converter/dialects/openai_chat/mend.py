"""Chat completions that are not quite of the shape: parts with a clear meaning are put right.

A server's slip in one field costs that field at most, not the frame: an index that is text, a
content in parts, a choice that is null. The decoder still finds the other parts wrong.
"""

from collections.abc import Mapping

from converter.dialects.error_words import as_index
from converter.dialects.reasoning_fields import REASONING_FIELDS

type Json = dict[str, object]


def mend(value: object) -> object:
    """Return the body of a frame or reply with its choices in shape."""
    if not isinstance(value, dict):
        return value
    choices = value.get("choices")
    if isinstance(choices, dict):
        choices = [choices] if choices else []
    if not isinstance(choices, list):
        return value
    whole = [choice for choice in choices if choice is not None]
    return {**value, "choices": [_choice(choice, place) for place, choice in enumerate(whole)]}


def _choice(choice: object, position: int) -> object:
    if not isinstance(choice, dict):
        return choice
    mended = {**choice, "index": as_index(choice.get("index"), position)}
    key = "message" if choice.get("message") else "delta"
    words = choice.get(key)
    mended[key] = _message({"content": words} if isinstance(words, (str, list)) else words or {})
    return mended


def _message(message: object) -> object:
    if not isinstance(message, dict):
        return message
    mended = {name: value for name, value in message.items() if not _is_odd(name, value)}
    for name in ("content", "refusal"):
        if name in mended:
            mended[name] = _words(mended[name])
    if calls := mended.get("tool_calls"):
        entries = calls if isinstance(calls, list) else [calls]
        mended["tool_calls"] = [_call(entry, place) for place, entry in enumerate(entries)]
    return mended


def _is_odd(name: str, value: object) -> bool:
    """Tell whether a field of thinking holds a value that no words can be in."""
    return name in REASONING_FIELDS and isinstance(value, (bool, int, float))


def _words(content: object) -> object:
    """Return the text of a content in parts, if all of them are text."""
    parts = content if isinstance(content, list) else [content]
    texts = [text for part in parts if isinstance(text := _text(part), str)]
    return content if len(texts) < len(parts) else "".join(texts)


def _text(part: object) -> object:
    if not isinstance(part, Mapping):
        return part
    return part.get("text") if part.get("type", "text") == "text" else None


def _call(entry: object, position: int) -> object:
    if not isinstance(entry, dict) or "index" not in entry:
        return entry
    return {**entry, "index": as_index(entry["index"], position)}
