"""Fields that a server refuses, as traits of a request: a trait's name begins with `FIELD`,
`unknown_fields` reads the names from the server's error, and `without_fields` leaves the fields out
of the request.

A path names such a field: `seed`, or `messages.name` for the field `name` of every message.
"""

import re
from collections.abc import Collection, Mapping

from converter.core.dialects.server_fields import CONTROL, LAST_WORDS
from converter.core.model.raw_messages import map_messages

FIELD = "field "
"""The prefix of a refused trait's name, if the trait is a field. The path of the field
follows: `field seed`.
"""
_KEPT = frozenset(
    (
        *("model", "messages", "tools", "stream", "max_tokens", "max_completion_tokens"),
        *("messages.role", "messages.content", "messages.tool_calls", "messages.tool_call_id"),
    )
)
"""Paths of fields that are never left out, because a request without such a field would have
another meaning.
"""
_NAME = r"[\w$-]{1,64}"
"""Matches the name of a field."""
PATH = re.compile(rf"(?:messages\.)?{_NAME}")
"""Matches a path as lessons have it: `seed` or `messages.name`."""
_PATH = rf"(?:messages(?:\.\d+|\[\d+\])\.)?{_NAME}"
"""Matches a path as errors have it, which may have the index of a message: `messages[2].name`."""
_REFUSED = r"(?:not (?:supported|allowed|permitted)|un(?:supported|known))"
"""Matches the words with which an error refuses a field."""
_ADDED = f"stream_options|reasoning_effort|{CONTROL}|{LAST_WORDS}"
"""Matches the names of four fields that the addon itself adds to requests."""
# The comment at a row, or above several rows, names the servers that send such errors.
_ROWS = (
    # Sent by OpenAI, and by gateways and LM Studio, which use OpenAI's texts of errors
    rf"Unknown parameter: '(?P<path>{_PATH})'",
    rf"Unrecognized request arguments? supplied: (?P<path>{_PATH}(?:, {_PATH})*)",
    # Sent by servers on FastAPI with a Pydantic model that forbids unknown fields: TensorRT-LLM,
    # vLLM up to 0.6, and NIM with such a vLLM
    rf"extra_forbidden\W+loc\W+body\W{{1,6}}(?P<path>{_NAME})\W{{1,6}}msg",
    rf"Extra inputs are not permitted, field: '(?P<path>{_PATH})'",
    # Sent by Groq and Cerebras
    rf"property '(?P<path>{_PATH})' is unsupported",
    # Sent by transformers serve 5.23 and 5.24, with the status 422
    rf"Un(?:expected keys|supported fields) in the request: \{{(?P<path>'{_NAME}'(?:, '{_NAME}')*)",
    rf"Unsupported param: (?P<path>{_NAME})",  # sent by llama.cpp, for the field `echo`
    # Sent by vLLM if a request has `stream_options`, but wants no stream
    r"(?P<path>Stream options|stream_options) can only be (?:defined|set) when",
    # Both rows fit errors of any server about a field that the addon itself adds (`_ADDED`), or
    # about the value of such a field
    rf"(?P<path>{_ADDED})\W.{{0,60}}?(?:{_REFUSED}|must be|does not support|(?i:invalid))",
    rf"(?i:{_REFUSED}|invalid|literal_error|enum).{{0,60}}?(?P<path>{_ADDED})",
)
"""Patterns of errors that name one or more fields, in the group `path`."""
_INDEX = re.compile(r"(?:\.\d+|\[\d+\])")
"""Finds the index of a message in a path: `.2` or `[2]`."""


def unknown_fields(error: str) -> tuple[str, frozenset[str]]:
    """Return the part of an error that names unknown fields, and the names of these fields as
    traits: `Oh! Unknown parameter: 'seed'` -> `Unknown parameter: 'seed'`, and `field seed`. Return
    an empty text and no names if no row fits. A field that must stay (`_KEPT`) is not returned.
    """
    for row in _ROWS:
        if match := re.search(row, error):
            paths = (_INDEX.sub("", path.strip(" '")) for path in match["path"].split(","))
            fields = {path.lower().replace(" ", "_") if " " in path else path for path in paths}
            return match[0], frozenset(FIELD + path for path in fields - _KEPT)
    return "", frozenset()


def is_field(name: str) -> bool:
    """Return True if `name`, the name of a refused trait, names a field that may be left out."""
    path = name.removeprefix(FIELD)
    return path != name and PATH.fullmatch(path) is not None and path not in _KEPT


def without_fields(body: Mapping[str, object], paths: Collection[str]) -> Mapping[str, object]:
    """Return a request without the fields at these paths; `body` itself if it has none of them."""

    def without_paths(message: object) -> object:
        """Return a message without the fields whose paths (`messages.name`) are in `paths`."""
        if not isinstance(message, dict):
            return message
        return {name: value for name, value in message.items() if f"messages.{name}" not in paths}

    if any("." in path for path in paths):
        body = map_messages(body, without_paths)
    kept = {name: value for name, value in body.items() if name not in paths}
    return body if len(kept) == len(body) else kept
