"""Model servers: the one on this machine, and how `think-addon doctor` talks to one."""

import http.client
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from converter.addon.bounds import ANSWER_LIMIT
from converter.addon.probes.upstream_client import credentials
from converter.addon.probes.upstream_http import context, reason_of
from converter.addon.servers.model_names import entries
from converter.addon.servers.probes import ADDON_PATH, ProbeReply, server_behind
from converter.addon.servers.server_key import KEY_VARIABLE
from converter.core.dialects.error_words import server_message
from converter.core.dialects.table import COMMON
from converter.core.dialects.wire_form import Decoder
from converter.core.model.events import Event, Failure, Text, Thinking, ToolCall
from converter.core.wire import json_text
from converter.core.wire.bounds import BODY_LIMIT
from converter.core.wire.sse import FrameDecoder
from converter.extras.command.addresses import USUAL_PORTS, CommandError

PATIENCE = 120.0
"""Seconds for a reply; a server may have to load its model first."""
PROBE_PATIENCE = 5.0
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING")
"""Reasons of OpenSSL's for a handshake that is answered in plain HTTP, or not at all."""
_PIECE = 65536


@dataclass(slots=True)
class StreamedReply:
    """A reply of chat completions, as far as it has come.

    Attributes:
        refused: the server's words where it refused to answer.
        fields: the thinking that came apart from the text, by the names of its fields.
        calls: the names of the called tools.
        first: seconds from the request to the first text or thinking.
    """

    refused: str = ""
    text: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    first: float | None = None
    _frames: FrameDecoder = field(default_factory=lambda: FrameDecoder(BODY_LIMIT))
    _decoder: Decoder = field(default_factory=lambda: COMMON.wire.decoder({}))

    def feed(self, chunk: bytes, at: float) -> None:
        """Read bytes that came after `at` seconds; no bytes: the reply is over."""
        for frame in self._frames.feed(chunk) if chunk else self._frames.close():
            whole = replace(frame, data=frame.data or frame.raw)  # of a server that streams nothing
            for event in self._decoder.feed(whole):
                self._add(event, at)

    def _add(self, event: Event, at: float) -> None:
        match event:
            case Failure(message):
                self.refused = self.refused or " ".join(message.split())
            case ToolCall(name=name) if name:
                self.calls.append(name)
            case Text(text) | Thinking(text) if text:
                self.first = at if self.first is None else self.first
                if isinstance(event, Text):
                    self.text += text
                    return
                for name in (event.own and event.own.fields) or (PARTS,):
                    self.fields[name] = self.fields.get(name, "") + text


@dataclass(frozen=True, slots=True)
class ServerLink:
    """A server, and how to connect to it.

    Attributes:
        key: the server's API key.
        patience: seconds to wait for a reply.
        insecure: any certificate counts.
        authority: the file with the certificate of the server's own authority.
    """

    address: str
    key: str = ""
    patience: float = PATIENCE
    insecure: bool = False
    authority: str = ""

    def reply(self, path: str, body: Mapping[str, object] | None = None) -> ProbeReply | None:
        """Return the answer at `path`, None for none. Raises CommandError when nobody is there.
        `body`: of a POST; a GET without one.
        """
        patience = min(PROBE_PATIENCE, self.patience)
        try:
            with self._request(path, body, patience, accept="application/json") as answer:
                fields = {name.lower(): value for name, value in answer.getheaders()}
                reply = ProbeReply(answer.status, fields, answer.read(ANSWER_LIMIT))
        except (OSError, http.client.HTTPException):
            reply = None
        refused = reply and reply.status == 400 and b"HTTPS" in reply.body  # nginx's and Go's words
        if refused or (reply is None and self._speaks_tls()):
            at = self.address.removeprefix("http://")
            raise CommandError(f"{self.address} speaks TLS: write https://{at}")
        return reply

    def get(self, path: str, body: Mapping[str, object] | None = None) -> object:
        """Return the JSON at `path`, None for none."""
        reply = self.reply(path, body)
        return reply.value() if reply else None

    def stream(
        self, body: Mapping[str, object], enough: Callable[[StreamedReply], bool]
    ) -> StreamedReply:
        """Return a streamed reply, cut short as soon as `enough` returns True."""
        streamed, began = StreamedReply(), time.monotonic()
        try:
            with self._request(COMMON.requests.path, body, self.patience) as reply:
                if reply.status != 200:
                    streamed.refused = server_message(reply.read(_PIECE)) or f"HTTP {reply.status}"
                while not streamed.refused and (chunk := reply.read1(_PIECE)):
                    streamed.feed(chunk, time.monotonic() - began)
                    if enough(streamed) or time.monotonic() - began > self.patience:
                        break
        except (OSError, http.client.HTTPException, CommandError) as error:
            streamed.refused = streamed.refused or f"no reply: {reason_of(error)}"
        streamed.feed(b"", time.monotonic() - began)
        return streamed

    @contextmanager
    def _request(
        self, path: str, body: Mapping[str, object] | None, patience: float, **headers: str
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield the answer at `path`. Raises CommandError when nobody is there."""
        connection = self._connection(patience)
        try:
            connection.connect()
        except (ConnectionRefusedError, socket.gaierror) as error:
            fault = f"{error.strerror}; start it, or give another address"
            raise CommandError(f"no model server at {self.address}: {fault}") from None
        except ssl.SSLCertVerificationError as error:
            raise CommandError(
                f"the certificate of {self.address} is not trusted ({error.verify_message}): take"
                " any with --set ssl_insecure=true (doctor --insecure), or its authority's with"
                " --set ssl_verify_upstream_trusted_ca=FILE"
            ) from None
        except ssl.SSLError as error:
            fault = f"gives no reply: {reason_of(error)}"
            if error.reason in _NO_TLS:
                fault = f"speaks no TLS: write http://{self.address.removeprefix('https://')}"
            raise CommandError(f"{self.address} {fault}") from None
        except OSError as error:
            fault = reason_of(error)
            raise CommandError(f"no model server at {self.address}: {fault}") from None
        with closing(connection):
            posted = None if body is None else json_text.write(body)
            own = credentials({"x-api-key": self.key} if self.key else {})
            headers |= {"content-type": "application/json", **own}
            connection.request("GET" if body is None else "POST", path, posted, headers)
            yield connection.getresponse()

    def _connection(self, patience: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        host = parts.hostname or ""
        if parts.scheme != "https":
            return http.client.HTTPConnection(host, parts.port or 80, timeout=patience)
        # as mitmproxy will: by certifi's authorities, not the system's
        tls = context(insecure=self.insecure, trusted_ca=self.authority or None)
        port = parts.port or 443
        return http.client.HTTPSConnection(host, port, timeout=patience, context=tls)

    def _speaks_tls(self) -> bool:
        """Return True if the server, which gave no answer in plain HTTP, takes a TLS handshake."""
        parts = urlsplit(self.address)
        if parts.scheme == "https":
            return False
        try:
            with socket.create_connection(
                (parts.hostname or "", parts.port or 80), min(2, self.patience)
            ) as plain:
                context(insecure=True).wrap_socket(plain).close()
        except OSError:
            return False
        return True


PARTS = "thinking parts of the content"


def find_local_server() -> str:
    """Return the address of the first server that lists models at one of the usual ports, and print
    it. An addon that answers there is passed over. Raises CommandError.
    """
    for port in USUAL_PORTS:
        address = f"http://127.0.0.1:{port}"
        try:
            link = ServerLink(address)
            if server := in_front_of(link):
                print(f"passed over {address}: {itself(server)}", file=sys.stderr)
            elif listed_models(link):
                print(f"found {address}", file=sys.stderr)
                return address
        except CommandError:
            continue
    tried = ", ".join(f"{port} ({names})" for port, names in USUAL_PORTS.items())
    raise CommandError(
        f"no model server at the local ports {tried}: start one, or give its URL, "
        "such as http://gpu-box:8000"
    )


def in_front_of(link: ServerLink) -> str:
    """Return the server behind a proxy of ours at this link, nothing where no such proxy is."""
    return server_behind(link.get(ADDON_PATH))


def itself(server: str) -> str:
    """Return the description of a proxy of ours in front of this server."""
    return f"think-addon itself, in front of {server}"


def listed_models(link: ServerLink) -> list[str]:
    """Return the names of the models that a server lists."""
    return [str(model["id"]) for model in entries(link.get("/v1/models"))]


def wants_key(reply: ProbeReply | None) -> bool:
    """Return True if a server lets nobody in without another key."""
    return reply is not None and reply.status in (401, 403)


def key_remedy(address: str, key: str) -> str:
    """Return the remedy where a server refuses this API key, or wants one and got none."""
    wanted = "another API key" if key else "an API key"
    return f"{address} wants {wanted}: put it into {KEY_VARIABLE}, or give --key KEY"
