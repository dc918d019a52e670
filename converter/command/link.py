"""A model server, and how `think-addon doctor` talks to it."""

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from converter.command.addresses import CommandError
from converter.command.heard import Heard, error_words
from converter.dialects.table import COMMON
from converter.servers.probes import ProbeReply
from converter.shell.probes.upstream_client import credentials
from converter.wire import json_text
from converter.wire.bounds import ANSWER_LIMIT

PATIENCE = 120.0
"""Seconds for a reply; a server may have to load its model first."""
PROBE_PATIENCE = 5.0
_PIECE = 65536


@dataclass(frozen=True, slots=True)
class ServerLink:
    """A server, and how to talk to it. `insecure`: any certificate will do."""

    address: str
    headers: Mapping[str, str]
    patience: float
    insecure: bool = False

    def reply(self, path: str, body: Mapping[str, object] | None = None) -> ProbeReply | None:
        """Return the answer at `path`, None for none. Raises CommandError when nobody is there.
        `body`: of a POST; a GET without one.
        """
        try:
            connection = self._connect(PROBE_PATIENCE)
        except (ConnectionRefusedError, socket.gaierror) as error:
            words = f"{error.strerror}; start it, or give another address"
            raise CommandError(f"no model server at {self.address}: {words}") from None
        except OSError as error:
            raise CommandError(f"no model server at {self.address}: {error}") from None
        try:
            posted = None if body is None else json_text.write(body)
            kinds = {"accept": "application/json", "content-type": "application/json"}
            method = "GET" if body is None else "POST"
            connection.request(method, path, posted, {**kinds, **self.headers})
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return ProbeReply(answer.status, fields, answer.read(ANSWER_LIMIT))
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def get(self, path: str, body: Mapping[str, object] | None = None) -> object:
        """Return the JSON at `path`, None for none."""
        reply = self.reply(path, body)
        return reply.value() if reply else None

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
        headers = {"content-type": "application/json", **self.headers}
        connection = self._connect(self.patience)
        try:
            connection.request("POST", COMMON.requests.path, json_text.write(body), headers)
            reply = connection.getresponse()
            if reply.status != 200:
                heard.refused = _refusal(reply.status, reply.read(_PIECE))
                return
            while chunk := reply.read1(_PIECE):
                yield chunk
        finally:
            connection.close()

    def _connect(self, patience: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        host = parts.hostname or ""
        connection = http.client.HTTPConnection(host, parts.port or 80, timeout=patience)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            if self.insecure:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            port = parts.port or 443
            connection = http.client.HTTPSConnection(host, port, timeout=patience, context=context)
        connection.connect()
        return connection


def link_to(
    address: str, key: str = "", patience: float = PATIENCE, insecure: bool = False
) -> ServerLink:
    """Return the link to a server's address; `key`: its API key."""
    return ServerLink(address, credentials({"x-api-key": key} if key else {}), patience, insecure)


def _refusal(status: int, body: bytes) -> str:
    return error_words(json_text.read_or_none(body)) or f"HTTP {status}"
