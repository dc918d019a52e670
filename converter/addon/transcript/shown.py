"""Write a transcript as JSON values for the page at /think: each part has its kind and its text, in
which JSON is indented. `text` and `terminal` write most parts from the same values (`part_json`).

The texts are not escaped. The page must make control characters visible, and must never insert a
text as HTML.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from converter.addon.transcript import facts as in_words
from converter.addon.transcript.accumulator import News
from converter.addon.transcript.turns import (
    Facts,
    FailurePart,
    Field,
    Media,
    Part,
    Raw,
    Transcript,
)
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from converter.core.wire.printable import fits, json_of, laid_out, without_base64

type Values = dict[str, Any]
"""A JSON object for the page."""

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Media types of pictures that a browser decodes and that hold no scripts."""
_LARGEST_PICTURE = 8_000_000
"""The most characters of base64 in a picture that is sent to the page. For a larger picture the
page gets only a line of text.
"""


def transcript_json(shown: Transcript, more: Facts | None = None) -> Values:
    """Return the transcript of a request or reply as JSON values. `more`: facts that were recorded
    while the reply came, such as its times.
    """
    return {
        "asked": [[name, in_words.as_text(value)] for name, value in shown.settings.items()],
        "turns": [
            {
                "role": turn.role,
                "choice": turn.choice,
                "parts": [part_json(part) for part in turn.parts],
            }
            for turn in shown.turns
        ],
        "facts": facts_json(shown, more),
        "beside": [part_json(field) for field in shown.beside],
        "rest": [part_json(Raw(text)) for text in shown.rest],
    }


def facts_json(shown: Transcript, more: Facts | None = None) -> list[list[str]]:
    """Return `[label, text]` for each fact of a reply (model, tokens, time). `more`: facts that
    were recorded while the reply came, such as its times.
    """
    return [list(row) for row in in_words.fact_lines(in_words.merge_facts(shown.facts, more))]


def news_json(news: Iterable[News]) -> list[Values]:
    """Return new parts of a reply as JSON values. Each also has `choice`, the index of its choice,
    and `fresh`, which is False if its text continues the part before.
    """
    return [{**part_json(new.part), "choice": new.choice, "fresh": new.fresh} for new in news]


def part_json(shown: Part) -> Values:
    """Return a part as JSON values: `kind`, `text`, and fields that only this kind has, such as the
    `name` of a call.
    """
    return _PARTS[type(shown)](shown)


def _media_values(shown: Media) -> Values:
    """Return a picture, document or sound as JSON values. `source` has the data of a picture that
    the page may show.
    """
    is_sent = shown.type in PICTURES and 0 < len(shown.data) <= _LARGEST_PICTURE
    picture = {"source": f"data:{shown.type};base64,{shown.data}"} if is_sent else {}
    return {"kind": "media", "text": f"{shown.kind} {shown.line}", **picture}


def _field_values(shown: Field) -> Values:
    """Return a field as JSON values. A long value is laid out in several lines."""
    text = in_words.as_text(shown.value) if fits(shown.value) else json_of(shown.value)
    return {"kind": "field", "name": shown.name, "text": without_base64(text)}


def call_note(shown: ToolUse) -> str:
    """Return the text beside a call's name: the call's id, and, if the server sent the call in a
    text, where it was read: `call_1, read from text (hermes)`.
    """
    return ", ".join(filter(None, (shown.id, shown.read_from and f"read from {shown.read_from}")))


_PARTS: Mapping[type[Part], Callable[[Any], Values]] = {
    ThinkingBlock: lambda shown: {"kind": "thinking", "note": shown.note, "text": shown.text},
    TextBlock: lambda shown: {"kind": "text", "note": shown.stood_in, "text": shown.text},
    ToolUse: lambda shown: {
        "kind": "call",
        "name": shown.name,
        "id": call_note(shown),
        "text": without_base64(laid_out(shown.arguments)),
    },
    ToolResult: lambda shown: {
        "kind": "result",
        "name": shown.name,
        "id": shown.tool_use_id,
        "text": without_base64(shown.text),
        "failed": shown.is_error,
    },
    Media: _media_values,
    Field: _field_values,
    FailurePart: lambda shown: {"kind": "error", "name": shown.kind, "text": shown.message},
    Raw: lambda shown: {"kind": "raw", "text": without_base64(laid_out(shown.text))},
}
"""Type of a part -> the function that returns the part as JSON values."""
