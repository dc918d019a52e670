"""Requests that a server refuses for a part that it can do without: words of a schema that its
grammar does not know, pictures for a model that cannot see.

A row: words of a server's error, and the names of what is left out then.
"""

import re
from collections.abc import Mapping

from converter.wire import json_text

type Body = Mapping[str, object]

STATUSES = (400, 500)
PICTURES = "pictures"
SCHEMA_WORDS = frozenset(
    ("pattern", "format", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum")
)
"""Words that only narrow a value: without them a schema says less, and nothing else."""
_ROWS: tuple[tuple[str, frozenset[str]], ...] = (
    (r"Pattern must start with '\^'", frozenset({"pattern"})),  # llama.cpp until b8000 and later
    # llama.cpp; LM Studio 0.3 says it of its samplers
    (r"[Ff]ailed to parse grammar|JSON schema conversion failed", SCHEMA_WORDS),
    # vLLM 0.8 and later: xgrammar, and guidance
    (r"not supported by xgrammar|json schema into a grammar|^Grammar error:", SCHEMA_WORDS),
    # llama.cpp without a projector; LM Studio; vLLM, twice; Ollama
    (r"image input is not supported", frozenset({PICTURES})),
    (r"[Mm]odel does not support images", frozenset({PICTURES})),
    (r"is not a multimodal model|At most 0 image", frozenset({PICTURES})),
    (r"missing data required for image input", frozenset({PICTURES})),
)
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Words of a schema under which each name is the user's own."""
_VALUES = ("const", "default", "enum", "examples", "required")
_DATA = re.compile(r"data:([\w.+/-]*)[^,]*,")


def refused(status: int, words: str) -> frozenset[str]:
    """Return the names of what a server has refused; none for another error."""
    if status not in STATUSES:
        return frozenset()
    return next((names for row, names in _ROWS if re.search(row, words)), frozenset())


def schemas(body: Body) -> list[object]:
    """Return the parts of a chat completion that hold a schema."""
    tools = body.get("tools")
    return [*(tools if isinstance(tools, list) else []), body.get("response_format")]


def pared(part: object, names: frozenset[str]) -> object:
    """Return a schema, or what holds one, without the words of these names."""
    if isinstance(part, list):
        return [pared(item, names) for item in part]
    if not isinstance(part, dict):
        return part
    return {name: _within(name, value, names) for name, value in part.items() if name not in names}


def _within(name: str, value: object, names: frozenset[str]) -> object:
    if name in _VALUES:
        return value
    if name in _NAMED and isinstance(value, dict):
        return {own: pared(schema, names) for own, schema in value.items()}
    return pared(value, names)


def without_schemas(body: Body, names: Mapping[bytes, frozenset[str]]) -> Body:
    """Return a chat completion whose schemas lack these words. `names`: by a schema's JSON."""

    def spared(part: object) -> object:
        left_out = names.get(json_text.write(part))
        return pared(part, left_out) if left_out else part

    made = dict(body)
    if isinstance(tools := body.get("tools"), list):
        made["tools"] = [spared(tool) for tool in tools]
    if "response_format" in body:
        made["response_format"] = spared(body["response_format"])
    return body if made == body else made


def refused_schemas(body: Body, names: frozenset[str]) -> dict[bytes, frozenset[str]]:
    """Return the schemas of a request that hold a refused word, each with all of the words."""
    words = names & SCHEMA_WORDS
    held = [part for part in schemas(body) if words and pared(part, words) != part]
    return {json_text.write(part): words for part in held}


def without_pictures(body: Body) -> Body:
    """Return a chat completion with a line of text in each picture's place."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    made = [_seen(message) for message in messages]
    return body if made == messages else {**body, "messages": made}


def _seen(message: object) -> object:
    content = message.get("content") if isinstance(message, dict) else None
    if not (isinstance(message, dict) and isinstance(content, list)):
        return message
    return {**message, "content": [_told(part) for part in content]}


def _told(part: object) -> object:
    if not isinstance(part, dict) or part.get("type") != "image_url":
        return part
    given = part.get("image_url")
    url = str(given.get("url") if isinstance(given, dict) else given)
    if data := _DATA.match(url):
        size = (len(url) - data.end()) * 3 // 4
        name = f"{data[1] or 'of no type'}, {size} bytes"
    else:
        name = url.partition("?")[0].rpartition("/")[2]
    return {"type": "text", "text": f"[picture left out, as this model cannot see: {name}]"}
