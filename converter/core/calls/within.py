"""A whole call within the name of a server's call, as servers' own readers leave it."""

import json
import re
from collections.abc import Collection

from converter.core.calls.arguments import ARGUMENT_KEYS
from converter.core.calls.names import offered_name
from converter.core.wire.bounds import TooMuchError
from converter.core.wire.partial_json import PartialJson

_BEHIND = re.compile(r"[\s)\]};,`]*+(?:<.*)?", re.DOTALL)
"""Text behind the call that means nothing: ends, and the marks of a call."""
_BEFORE = re.compile(r"(?:[\s`\[]|<[^<>{}]*>)*+")
"""Text before a bare object that means nothing."""
_BESIDE = {"name", "id", "type", "index", *ARGUMENT_KEYS}
"""The keys of a call as an object."""


def call_within(written: str, offered: Collection[str]) -> tuple[str, str]:
    """Return the offered name and the arguments, JSON text, of a call such as `get_weather{...}`,
    `get_weather({...})` or `{"name": "get_weather", "arguments": {...}}`; two empty texts for any
    other text.
    """
    head, brace, rest = written.partition("{")
    read = PartialJson(bare_names=False)
    try:
        text = read.feed(brace + rest) if brace else ""
    except TooMuchError:
        return "", ""
    if not read.complete or not _BEHIND.fullmatch(read.unfit):
        return "", ""
    if name := offered_name(head.rstrip("( \t\r\n"), offered):
        return name, text
    return _of_object(text, offered) if _BEFORE.fullmatch(head) else ("", "")


def _of_object(text: str, offered: Collection[str]) -> tuple[str, str]:
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        return "", ""
    given = [call[key] for key in ARGUMENT_KEYS if key in call]
    if not (call.keys() <= _BESIDE and len(given) < 2 and isinstance(call.get("name"), str)):
        return "", ""
    inner = given[0] if given else {}
    arguments = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
    name = offered_name(call["name"], offered)
    return (name, arguments) if name else ("", "")
