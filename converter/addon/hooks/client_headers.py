"""Headers of a client that never go to a model server: keys, cookies, and what only clouds read."""

import re
from collections.abc import Collection
from functools import lru_cache

from mitmproxy.http import Headers

from converter.addon.http_messages import remove_fields

_CLOUD_KEY = re.compile(rb"\s*(?:bearer\s+)?sk-ant-", re.IGNORECASE)
"""Anthropic's keys and OAuth tokens (sk-ant-api..., sk-ant-oat...)."""
_CREDENTIALS = (b"authorization", b"x-api-key", b"proxy-authorization")
_OF_PEOPLE = re.compile(
    rb"cookie2?|anthropic-.*|x-claude-.*|x-app|x-session-.*"
    # Codex 0.169: an installation's id and a folder's path; session-id, thread-id beside it
    rb"|x-codex-.*|session-id|thread-id"
)
"""Headers of a client that identify a person, or that only the client's own cloud reads."""


def withhold_keys(headers: Headers) -> list[str]:
    """Take Anthropic's keys out of a request's headers; return the names of those headers."""
    matching = {name.lower() for name, value in headers.fields if _CLOUD_KEY.match(value)}
    names = [name for name in _CREDENTIALS if name in matching]
    if names:
        remove_fields(headers, names.__contains__)
    return [name.decode() for name in names]


def withhold_headers(headers: Headers, kept: Collection[str]) -> None:
    """Take out cookies, and headers for the clouds of Claude Code and Codex. `kept`: the headers of
    the dialect in which the server gets the request.
    """
    remove_fields(headers, lambda name: _is_of_people(name) and name.decode() not in kept)


@lru_cache(maxsize=256)
def _is_of_people(name: bytes) -> bool:
    return _OF_PEOPLE.fullmatch(name) is not None
