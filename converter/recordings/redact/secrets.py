"""Values that were left out of a recording and could be secrets: they must not be found in what is
kept either.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote

from converter.recordings.redact.allow_list import HEADERS, is_kept, parts_of_link

_PRIVATE = re.compile(
    r"user|metadata|identifier|mcp|container|key|token|secret|password|auth|mail|session|account",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[A-Za-z _-]*")
_LINK = re.compile(r"\s*(?!data:)(?:[a-z][a-z0-9+.-]*:|//|www\.)\S*\s*\Z", re.IGNORECASE)
_WORD = re.compile(r"[a-z_-]{,11}")
_HARMLESS_HEADERS = re.compile(
    r"accept.*|connection|content-.*|transfer-encoding|user-agent|host|keep-alive"
    r"|cache-control|pragma|te|upgrade.*|priority"
    r"|sec-fetch-.*|x-stainless-.*|x-app|anthropic-dangerous-.*"
)


def secrets_of_body(whole: object, remaining: object, place: str = "") -> Iterator[str]:
    """Return the values that are in `whole` and no more in `remaining`, and could be secrets."""
    if whole is remaining:  # kept as it is, perhaps with millions of values in it
        return
    if isinstance(whole, dict):
        left = remaining if isinstance(remaining, dict) else {}
        for name, value in whole.items():
            inner = "" if name in left else f"{place}.{name}"
            yield from secrets_of_body(value, left.get(name), inner)
    elif isinstance(whole, list):
        items = (
            remaining
            if isinstance(remaining, list) and len(remaining) == len(whole)
            else [None] * len(whole)
        )
        for value, item in zip(whole, items, strict=True):
            yield from secrets_of_body(value, item, place)
    elif whole != remaining and whole is not None and not isinstance(whole, bool):
        yield from _of_leaf(str(whole), place, remaining is None)


def _of_leaf(value: str, place: str, left_out: bool) -> Iterator[str]:
    if _LINK.match(value):
        yield from secrets_of_link(value)
        yield from _of_address(value) if left_out else ()
    elif _PRIVATE.search(place):
        yield from _with_parts(value)
    elif not _PLAIN.fullmatch(value):
        yield value


def _with_parts(value: str) -> Iterator[str]:
    yield value
    yield from (
        part
        for part in re.split(r"[^A-Za-z0-9-]+|(?<=user)_|_(?=account|session)", value)
        if _is_long(part)
    )


def _is_long(part: str) -> bool:
    return len(part) >= 12 and not _PLAIN.fullmatch(part)


def secrets_of_link(link: str) -> Iterator[str]:
    """Return the values of a link's query, fragment and user; raw and decoded."""
    parts = parts_of_link(link)
    if parts is None:
        return
    query = parts["query"].removeprefix("?")
    user, _, password = parts["user"].partition(":")
    yield from (
        parts["fragment"].removeprefix("#"),
        password or ("" if _PLAIN.fullmatch(user) else user),
    )
    for field in (*query.split("&"), *parts["rest"].split(";")[1:]):
        yield field.partition("=")[2].partition("/")[0] if field else ""
    yield from (value for _, value in parse_qsl(query))


def _of_address(link: str) -> Iterator[str]:
    """Return all that a link without its query says, because its path may be a key."""
    address = re.split(r"[?#]", link)[0].rstrip("/")
    path = address.partition("//")[2].partition("/")[2]
    yield from (link, address)
    for part in (f"/{path}", *(part for part in path.split("/") if not _WORD.fullmatch(part))):
        yield from (part, unquote(part))


def secrets_of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Return the values of headers that are not kept and could be secrets."""
    for name, value in headers.items():
        if is_kept(name, value) or (name not in HEADERS and _HARMLESS_HEADERS.fullmatch(name)):
            continue
        if name in HEADERS:
            yield from _with_parts(value.strip())
        elif "cookie" in name:
            yield from (part.partition("=")[2].strip().strip('"') for part in value.split(";"))
        elif "authorization" in name:
            yield from _of_authorization(value.strip())
        else:
            yield value.strip()


def _of_authorization(value: str) -> Iterator[str]:
    scheme, _, credentials = value.rpartition(" ")
    yield credentials
    if scheme.lower() == "basic":
        try:
            yield base64.b64decode(credentials).decode().partition(":")[2]
        except ValueError:
            return  # no Basic at all, whatever it says
