"""A model server, and how `think-addon doctor` talks to it."""

import asyncio
import http.client
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from converter.command.addresses import CommandError
from converter.command.heard import Heard, error_words
from converter.servers.probes import Probe, ProbeRequest, Reply
from converter.shell.upstream_client import Upstream, answered, credentials
from converter.wire import json_text

PATIENCE = 120.0
"""Seconds for a reply; a server may have to load its model first."""
_PIECE = 65536


@dataclass(frozen=True, slots=True)
class Link:
    """A server, and how to talk to it."""

    address: str
    upstream: Upstream
    headers: Mapping[str, str]
    patience: float

    def settle[Result](self, question: Probe[Result]) -> Result:
        """Return the result of questions. Raises CommandError when nobody is there."""
        try:
            return asyncio.run(answered(question, self.upstream, self.headers))
        except ConnectionError as error:
            raise CommandError(f"no model server at {self.address}: {error}") from None

    def get(self, path: str) -> object:
        """Return the JSON at `path`, None for none."""
        return self.settle(_get(path))

    def hear(self, body: Mapping[str, object], enough: Callable[[Heard], bool]) -> Heard:
        """Return a streamed reply, which is broken off as soon as it is enough."""
        heard, began = Heard(), time.monotonic()
        try:
            for chunk in self._chunks(body, heard):
                heard.feed(chunk, time.monotonic() - began)
                if enough(heard) or time.monotonic() - began > self.patience:
                    break
        except (OSError, http.client.HTTPException) as error:
            heard.refused = heard.refused or f"no reply ({error or type(error).__name__})"
        heard.close(time.monotonic() - began)
        return heard

    def _chunks(self, body: Mapping[str, object], heard: Heard) -> Iterator[bytes]:
        secure = self.upstream.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self.upstream.host, self.upstream.port, timeout=self.patience)
        headers = {"content-type": "application/json", **self.headers}
        try:
            connection.request("POST", "/v1/chat/completions", json_text.write(body), headers)
            reply = connection.getresponse()
            heard.status = reply.status
            if reply.status != 200:
                heard.refused = _refusal(reply.status, reply.read(_PIECE))
                return
            while chunk := reply.read1(_PIECE):
                yield chunk
        finally:
            connection.close()


def link_to(address: str, key: str = "", patience: float = PATIENCE) -> Link:
    """Return the link to a server's address; `key`: its API key."""
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    upstream = Upstream(parts.scheme, parts.hostname or "", port)
    return Link(address, upstream, credentials({"x-api-key": key} if key else {}), patience)


def _get(path: str) -> Probe[object]:
    reply: Reply | None = yield ProbeRequest(path)
    return reply.value() if reply else None


def _refusal(status: int, body: bytes) -> str:
    try:
        words = error_words(json_text.read(body))
    except json_text.UnreadableError:
        words = ""
    return words or f"HTTP {status}"
