"""Removes from a request the headers that a model server must not get: Anthropic's keys, cookies,
and headers for the cloud of the client's maker. The file has their patterns (`_CLOUD_KEY`,
`_PERSONAL`); `AccessRules` calls its functions.
"""

import re
from collections.abc import Collection
from functools import lru_cache

from mitmproxy.http import Headers

from converter.addon.http_messages import remove_fields

_CLOUD_KEY = re.compile(rb"\s*(?:bearer\s+)?sk-ant-", re.IGNORECASE)
"""Finds Anthropic's keys and OAuth tokens (sk-ant-api..., sk-ant-oat...)."""
_CREDENTIAL_HEADERS = (b"authorization", b"x-api-key", b"proxy-authorization")
"""The headers in which a client may send a key."""
_PERSONAL = re.compile(
    rb"cookie2?|anthropic-.*|x-claude-.*|x-app|x-session-.*"
    # Codex 0.169: `x-codex-*` has the id of the installation and the path of the user's folder
    rb"|x-codex-.*|session-id|thread-id"
)
"""Headers of a client that identify a person, or that only the client's own cloud reads."""
_match_personal = lru_cache(maxsize=256)(_PERSONAL.fullmatch)
"""Matches a header's name against `_PERSONAL`. It has a cache, because requests repeat names."""


def withhold_keys(headers: Headers) -> list[str]:
    """Remove those of `_CREDENTIAL_HEADERS` that hold a key of Anthropic's. Return their names."""
    matching = {name.lower() for name, value in headers.fields if _CLOUD_KEY.match(value)}
    names = [name for name in _CREDENTIAL_HEADERS if name in matching]
    if names:
        remove_fields(headers, names.__contains__)
    return [name.decode() for name in names]


def withhold_headers(headers: Headers, kept: Collection[str]) -> None:
    """Remove cookies and the other headers of `_PERSONAL`, which clients such as Claude Code and
    Codex send to their clouds. `kept`: names of headers that stay, because they belong to the
    dialect in which the server gets the request.
    """
    remove_fields(headers, lambda name: _match_personal(name) and name.decode() not in kept)
