"""Drawn requests and replies for the tests of the transcript, and the texts that a transcript must
have.
"""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from converter.addon.transcript.turns import FailurePart, Field, Part, Raw, Transcript
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from tests.support.strategies import TEXTS

SHOWN = (TextBlock, ThinkingBlock, ToolResult, Raw)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
_KINDS = st.sampled_from(
    [
        "text",
        "thinking",
        "tool_use",
        "tool_result",
        "image",
        "document",
        "image_url",
        "input_audio",
        "file",
        "refusal",
        "odd",
    ]
)
_NAMES = st.sampled_from(
    [
        "text",
        "thinking",
        "name",
        "id",
        "input",
        "tool_use_id",
        "content",
        "source",
        "url",
        "data",
        "image_url",
        "file",
        "x",
    ]
)
BLOCKS = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    _KINDS | JSON,
    st.dictionaries(_NAMES, JSON | TEXTS, max_size=4),
)
CONTENT = st.lists(BLOCKS | JSON, max_size=3) | TEXTS | JSON
_ROLES = (
    st.sampled_from(["user", "assistant", "system", "developer", "tool", "function", "", "me"])
    | JSON
)
_FIELDS = st.sampled_from(
    [
        "reasoning_content",
        "reasoning",
        "tool_calls",
        "function_call",
        "tool_call_id",
        "name",
        "refusal",
        "x",
    ]
)
_CALLS = st.builds(
    lambda kind, inner: [{"type": kind, "id": "a", kind if isinstance(kind, str) else "x": inner}],
    st.sampled_from(["function", "custom"]) | JSON,
    st.dictionaries(st.sampled_from(["name", "arguments", "input"]), JSON) | JSON,
)
MESSAGES = st.builds(
    lambda role, content, fields: {"role": role, "content": content, **fields},
    _ROLES,
    CONTENT,
    st.dictionaries(_FIELDS, JSON | TEXTS | _CALLS, max_size=3),
)
_TOP = st.sampled_from(
    [
        "model",
        "system",
        "tools",
        "thinking",
        "max_tokens",
        "stream",
        "reasoning_effort",
        "metadata",
        "messages",
    ]
)
REQUESTS = st.builds(
    lambda messages, fields: {"messages": messages, **fields},
    st.lists(MESSAGES | JSON, max_size=3),
    st.dictionaries(_TOP, JSON | CONTENT, max_size=4),
)


def text_of(transcript: Transcript) -> str:
    """Return all texts of a transcript in one string."""
    texts = [word for turn in transcript.turns for part in turn.parts for word in _texts(part)]
    settings = [json.dumps(value, ensure_ascii=False) for value in transcript.settings.values()]
    beside = [word for part in transcript.beside for word in _texts(part)]
    return "\n".join([*texts, *settings, *beside, *transcript.rest])


def _texts(part: Part) -> Iterator[str]:
    match part:
        case ToolUse():
            yield from (part.name, part.id, part.arguments)
        case Field():
            yield from (
                part.name,
                part.value
                if isinstance(part.value, str)
                else json.dumps(part.value, ensure_ascii=False),
            )
        case FailurePart():
            yield from (part.message, part.kind)
        case TextBlock() | ThinkingBlock() | ToolResult() | Raw():
            yield part.text
        case _:
            yield part.line


def parts(transcript: Transcript) -> list[Part]:
    return [part for turn in transcript.turns for part in turn.parts]


def thought_and_answer(transcript: Transcript, choice: int = 0) -> tuple[str, str]:
    """Return the thinking and the text of one choice, each in one string."""
    of_choice = [part for turn in transcript.turns if turn.choice == choice for part in turn.parts]
    thought = "".join(part.text for part in of_choice if isinstance(part, ThinkingBlock))
    return thought, "".join(part.text for part in of_choice if isinstance(part, TextBlock))


def calls(transcript: Transcript) -> list[tuple[str, Any]]:
    return [(part.name, part.arguments) for part in parts(transcript) if isinstance(part, ToolUse)]
