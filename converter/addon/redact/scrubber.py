"""Finds the secrets in the headers, links and bodies of requests (`secrets_of_headers` and the
like). A `Scrubber` replaces them in the texts of recordings and spans, and in recordings also the
addresses of servers and the paths of models.

A value that the allow-list leaves out of a recording, such as a key, may be a secret, and may occur
elsewhere, too, such as in a reply. The functions `secrets_of_...` collect these values, and a
`Scrubber` hides them in all that the recording holds.
"""

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from urllib.parse import parse_qsl, quote, unquote

from converter.addon.redact.allow_list import HEADERS, PROTOCOL, is_kept, parts_of_link
from converter.core.reading.family_choice import for_model

HERE = "127.0.0.1:8000"
"""The address that replaces a server's real address in recordings."""
LEAST_SECRET = 6
"""The fewest characters of a secret. A shorter value is not hidden, because the same text may
occur by chance.
"""
_HOST = HERE.partition(":")[0]
"""The address `HERE` without its port."""
_LOOPBACK = frozenset({"localhost", _HOST, "::1", "0.0.0.0"})
"""Addresses of servers that need no replacement, because they mean the machine itself."""
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
"""Finds an IPv4 address."""
_NO_MATCH = "(?!)"
"""A pattern that matches nothing, for the case that there is nothing to replace."""


class Scrubber:
    """Replaces secrets, addresses of servers, and paths of models in texts.

    Each character of a secret is replaced by an `x`, so that the text keeps its length: a text that
    came in several frames can be cut into the same pieces again.

    Arguments:
        secrets: Texts to hide, in all their `_spellings`. Not hidden are texts with fewer than
            `LEAST_SECRET` characters, words of `PROTOCOL`, and what has become `x` already.
        addresses: Hosts of servers, with a port or without. Those of `_LOOPBACK` stay.
        paths: Names of models. Those that are no path stay.
    """

    def __init__(
        self, secrets: Iterable[str], addresses: Iterable[str], paths: Iterable[str]
    ) -> None:
        names = {
            secret
            for secret in secrets
            if len(secret) >= LEAST_SECRET and secret not in PROTOCOL and set(secret) != {"x"}
        }
        self.secrets = sorted(
            {form for secret in names for form in _spellings(secret)}, key=len, reverse=True
        )
        self._secret = re.compile("|".join(map(re.escape, self.secrets)) or _NO_MATCH)
        self._begins = {secret[:LEAST_SECRET] for secret in self.secrets}
        self._names: dict[str, str] = _renamed_paths(
            {form for path in paths for form in (path, self.hide_secrets(path))}
        )
        self._name = re.compile(
            "|".join(map(re.escape, sorted(self._names, key=len, reverse=True))) or _NO_MATCH
        )
        self._addresses = sorted({*addresses} - _LOOPBACK - {""}, key=len, reverse=True)
        self._address = re.compile("|".join(map(_address_pattern, self._addresses)) or _NO_MATCH)
        self._long = sorted([*self._names, *self._addresses], key=len, reverse=True)
        self._anywhere = re.compile("|".join(map(_loose_pattern, self._long)) or _NO_MATCH)

    def hide_secrets(self, text: str) -> str:
        """Return the text with an `x` for each character of a secret.

        If the text ends with the beginning of a secret (at least `LEAST_SECRET` characters), this
        beginning is hidden, too, because the text may have been cut off there.
        """
        if not _contains_any(text, self._begins):
            return text
        text = self._secret.sub(lambda match: "x" * len(match[0]), text)
        for secret in self.secrets:
            if secret[:LEAST_SECRET] not in text:
                continue
            for length in range(min(len(secret) - 1, len(text)), LEAST_SECRET - 1, -1):
                if text.endswith(secret[:length]):
                    return text[:-length] + "x" * length
        return text

    def hide_across(self, parts: Sequence[str]) -> Sequence[str]:
        """Return the successive parts of a text with an `x` for each character of a secret, even of
        a secret that begins in one part and ends in another.

        Addresses and paths that begin in one part and end in another are hidden in the same way:
        `["at gpu-", "box:80"]` -> `["at xxxx", "xxxxxx"]`. An address or path within one part
        stays, because `replace_names` gets each part afterwards, and replaces it.
        """
        borders = [0, *accumulate(map(len, parts))]

        def mask_if_cut(match: re.Match[str]) -> str:
            """Return the matched text as it is if one part has all of it, else an `x` for each
            character.
            """
            first, last = (bisect_right(borders, at) for at in (match.start(), match.end() - 1))
            return match[0] if first == last else "x" * len(match[0])

        whole = "".join(parts)
        hidden = self.hide_secrets(whole)
        if _contains_any(hidden, self._long):
            hidden = self._anywhere.sub(mask_if_cut, hidden)
        if hidden == whole:
            return parts
        return [hidden[start:end] for start, end in pairwise(borders)]

    def replace_names(self, text: str) -> str:
        """Return the text with other names for the server's addresses and the model's paths:
        `gpu.lan:80` -> `127.0.0.1:8000`, `gpu.lan` -> `127.0.0.1`, `/home/me/qwen3.gguf` ->
        `qwen3.gguf`.
        """
        if _contains_any(text, self._names):
            text = self._name.sub(lambda match: self._names[match[0]], text)
        if _contains_any(text, self._addresses):
            text = self._address.sub(lambda match: HERE if _has_port(match[0]) else _HOST, text)
        return text

    def text(self, text: str) -> str:
        """Return a text without secrets, addresses and paths. The text must be complete: pieces of
        a stream need `hide_across` too.
        """
        return self.replace_names(self.hide_secrets(text))

    def error_text(self, text: str) -> str:
        """Return an error message of mitmproxy without secrets, addresses and paths. Every IPv4
        address becomes `127.0.0.1`, even an unknown one.
        """
        return _ADDRESS.sub(_HOST, self.text(text))


def _contains_any(text: str, parts: Iterable[str]) -> bool:
    """Return True if a text contains one of the `parts`. Most texts contain none: this quick test
    spares them the search with a pattern of all parts, which takes far longer.
    """
    return any(part in text for part in parts)


def _spellings(secret: str) -> set[str]:
    """Return the spellings of a secret: in plain text, in JSON, and in a URL (`a&b` -> `a%26b`)."""
    return {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe="", errors="replace"),
    }


def _has_port(address: str) -> bool:
    """Return True if an address ends with a port: `gpu.lan:80`, `[::1]:80`."""
    host, colon, port = address.rpartition(":")
    return bool(colon) and port.isdigit() and (":" not in host or host.endswith("]"))


def _address_pattern(address: str) -> str:
    """Return a pattern that matches an address, but not as a part of a longer name. A host name
    without a dot or colon (`box`) may be an ordinary word, so its pattern matches only after `//`.
    """
    before = r"(?<![\w.-])" if "." in address or ":" in address else r"(?<=//)"
    return before + re.escape(address) + r"(?![\w-]|\.\w)"


def _loose_pattern(long: str) -> str:
    """Return a pattern that matches an address or path (`long`) in a text joined from parts. Unlike
    `_address_pattern`, it accepts any characters before and behind the match, because they may
    belong to another part of the text.
    """
    return re.escape(long) if re.search(r"[.:/\\]", long) else rf"//{re.escape(long)}"


def is_path(name: str) -> bool:
    """Return True if a model's name is the path of a file or folder."""
    return bool(re.match(r"[/~\\].|[A-Za-z]:[\\/]", name))


def _renamed_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return path -> replacement, for each path of a model, and for the folder that it is in if
    this has two parts or more: `/home/me/qwen3.gguf` -> `qwen3.gguf`, `/home/me/` -> empty.

    The addon chooses families of thinking marks by a model's name, and must choose the same ones
    when the recording is replayed. So the replacement is the last part of the path that leads to
    the same families as the whole path: `/home/gpt-oss/a.gguf` -> `gpt-oss`. If there is no such
    part, it is the file's name.
    """
    names = {}
    for path in filter(is_path, paths):
        *folders, last = [part for part in re.split(r"[\\/]+", path) if part] or ["model"]
        parts = (part for part in (last, *reversed(folders)) if for_model(part) == for_model(path))
        names[path] = next(parts, last)
        if len(folders) > 1:
            names[path[: path.rindex(last)]] = ""
    return names


_PRIVATE = re.compile(
    r"user|metadata|identifier|mcp|container|key|token|secret|password|auth|mail|session|account",
    re.IGNORECASE,
)
"""Finds a word, such as `token`, in the keys that lead to a value. It shows that the value is
probably private.
"""
_PLAIN = re.compile(r"[A-Za-z _-]*")
"""Matches plain words, which are no secret."""
_LINK = re.compile(r"\s*(?!data:)(?:[a-z][a-z0-9+.-]*:|//|www\.)\S*\s*\Z", re.IGNORECASE)
"""Matches a link, except a `data:` URL."""
_WORD = re.compile(r"[a-z_-]{,11}")
"""Matches a part of a link's path that is a short word, and so no key."""
_CREDENTIAL = re.compile(r'(?:[^\s,"]|"[^"]*"?)+')
"""Finds the pieces between blanks and commas in the value of an `Authorization` header. A text in
quotes is one piece.
"""
_SCHEME = re.compile(
    r"aws4-[a-z0-9-]+|basic|bearer|digest|dpop|hoba|key|mutual|negotiate|ntlm|oauth"
    r"|scram-sha-[0-9]+|token|vapid",
    re.IGNORECASE,
)
"""Matches the first word of an `Authorization` header, which is no secret: `Bearer`, `Basic`."""
_PUBLIC = re.compile(r"algorithm|charset|nc|qop|realm|signedheaders|uri|userhash", re.IGNORECASE)
"""Matches the names of parameters in an `Authorization` header (Digest, AWS) whose values are no
secrets.
"""
_HARMLESS_HEADERS = re.compile(
    r"accept.*|connection|content-.*|transfer-encoding|user-agent|host|keep-alive"
    r"|cache-control|pragma|te|upgrade.*|priority"
    r"|sec-fetch-.*|x-stainless-.*|x-app|anthropic-dangerous-.*"
)
"""Matches the names of headers that never hold a secret."""


def secrets_of_body(whole: object, remaining: object, path: str = "") -> Iterator[str]:
    """Yield the values of a request's body that may be secrets, because a recording does not keep
    them. `whole`: the JSON of the body. `remaining`: its kept part.

    The function calls itself for each value in the body. `path`: the keys that lead to this value,
    from the first key that is not kept: `.metadata.user_id`.
    """
    if whole is remaining:  # All is kept: do not walk through perhaps millions of values.
        return
    if isinstance(whole, dict):
        left = remaining if isinstance(remaining, dict) else {}
        for name, value in whole.items():
            inner = "" if name in left else f"{path}.{name}"
            yield from secrets_of_body(value, left.get(name), inner)
    elif isinstance(whole, list):
        items = (
            remaining
            if isinstance(remaining, list) and len(remaining) == len(whole)
            else [None] * len(whole)
        )
        for value, item in zip(whole, items, strict=True):
            yield from secrets_of_body(value, item, path)
    elif whole != remaining and whole is not None and not isinstance(whole, bool):
        yield from _secrets_of_value(str(whole), path, remaining is None)


def _secrets_of_value(value: str, path: str, left_out: bool) -> Iterator[str]:
    """Yield the parts of a value that may be secrets. `path`: the keys that lead to it.
    `left_out`: True if the recording keeps no part of the value.
    """
    if _LINK.match(value):
        yield from secrets_of_link(value)
        yield from _secrets_of_address(value) if left_out else ()
    elif _PRIVATE.search(path):
        yield from _value_and_parts(value)
    elif not _PLAIN.fullmatch(value):
        yield value


def _value_and_parts(value: str) -> Iterator[str]:
    """Yield a value, and its parts of 12 characters or more that are no plain words, such as the
    two ids in `user_ID_account_ID`.
    """
    parts = re.split(r"[^A-Za-z0-9-]+|(?<=user)_|_(?=account|session)", value)
    yield from (value, *(part for part in parts if len(part) >= 12 and not _PLAIN.fullmatch(part)))


def secrets_of_link(link: str) -> Iterator[str]:
    """Yield the parts of a link that may grant access: the fragment, the password (without one, the
    user, unless that is a plain word), and the values of its query and parameters. Each value of
    the query is yielded as written and decoded.
    """
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


def _secrets_of_address(link: str) -> Iterator[str]:
    """Yield a link, the link without its query, its path, and each part of the path, because a part
    may be a key. Path and parts are yielded as written and decoded. A part that is a short word of
    small letters, such as `files`, is no key, and is not yielded.
    """
    address = re.split(r"[?#]", link)[0].rstrip("/")
    path = address.partition("//")[2].partition("/")[2]
    yield from (link, address)
    for part in (f"/{path}", *(part for part in path.split("/") if not _WORD.fullmatch(part))):
        yield from (part, unquote(part))


def secrets_of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of headers (name in any case -> value), or the parts of them, that may be
    secrets, because a recording does not keep them. Headers that never hold a secret
    (`content-length`) give nothing.
    """
    for name, value in ((name.lower(), value) for name, value in headers.items()):
        if is_kept(name, value) or (name not in HEADERS and _HARMLESS_HEADERS.fullmatch(name)):
            continue
        if name in HEADERS:
            yield from _value_and_parts(value.strip())
        elif "cookie" in name:
            yield from (part.partition("=")[2].strip().strip('"') for part in value.split(";"))
        elif "authorization" in name or _SCHEME.fullmatch(value.partition(" ")[0]):
            yield from _secrets_in_authorization(value.strip())
        else:
            yield value.strip()


def _secrets_in_authorization(value: str) -> Iterator[str]:
    """Yield the secrets in the value of an `Authorization` header (RFC 9110, 11.4): tokens, values
    of parameters, and the decoded password of Basic.
    """
    for word in _CREDENTIAL.findall(value):
        name, _, parameter = word.partition("=")
        # A word without a value behind `=` is a token, which may end with `=` as padding.
        if parameter.strip("="):
            yield from () if _PUBLIC.fullmatch(name) else _value_and_parts(parameter.strip('"'))
        elif not _SCHEME.fullmatch(word):
            yield word
    scheme, _, credentials = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            yield base64.b64decode(credentials).decode().partition(":")[2]
        except ValueError:
            return  # The credentials are no base64. The loop has yielded them as a token.
