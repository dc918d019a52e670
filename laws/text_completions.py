"""Write replies of the text completions API, which `is_text` recognises, as chat completions
(`as_chat`) or in their other form: `fold` makes a body of a stream, `unfold` the opposite.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from converter.core.dialects.table import Form

type Json = dict[str, Any]
TEXT_COMPLETION = "text_completion"  # the `object` of a reply of /v1/completions
_CHAT_OBJECTS = {Form.STREAM: "chat.completion.chunk", Form.WHOLE: "chat.completion"}


def is_text(value: Json) -> bool:
    """Return True if a frame or a body belongs to a text completion."""
    return value.get("object") == TEXT_COMPLETION


def as_chat(value: Json, form: Form) -> Json:
    """Return the frame or body of a text completion as that of a chat completion."""
    key = "delta" if form is Form.STREAM else "message"
    choices = [_replace_text(it, **{key: {"content": it["text"]}}) for it in value["choices"]]
    return {**value, "object": _CHAT_OBJECTS[form], "choices": choices}


def _replace_text(choice: Json, **fields: Any) -> Json:
    """Return a choice with these fields in place of its text."""
    return {**{name: value for name, value in choice.items() if name != "text"}, **fields}


def fold(values: Sequence[Json]) -> Json:
    """Return the one body that the server would send in place of these frames of a stream."""
    whole: Json = {}
    choices: dict[int, Json] = {}
    for value in values:
        whole |= {name: field for name, field in value.items() if name != "choices"}
        for choice in value["choices"]:
            kept = choices.setdefault(choice["index"], {"text": ""})
            kept |= {**choice, "text": kept["text"] + choice["text"]}
    return {**whole, "choices": [choices[index] for index in sorted(choices)]}


def unfold(value: Json, cut: Any) -> Iterator[Json]:
    """Yield a text completion as a stream's frames. `cut` cuts a text into pieces, one a frame."""
    counts = ("usage", "timings")
    head = {name: field for name, field in value.items() if name not in ("choices", *counts)}
    for choice in value["choices"]:
        for piece in cut(choice["text"]):
            frame = {"text": piece, "index": choice["index"], "finish_reason": None}
            yield copy.deepcopy({**head, "choices": [frame]})
        yield {**head, "choices": [{**choice, "text": ""}]}
    if any(name in value for name in counts):
        yield {**head, "choices": [], **{name: value[name] for name in counts if name in value}}
