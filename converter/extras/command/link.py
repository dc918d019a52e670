"""`ServerLink` sends the requests of the command `think-addon`, not of the proxy, to a model
server. `find_local_server` finds a server on this machine, `find_server_behind` the server behind a
think-addon; `wants_key` tells if a server refuses the API key.
"""

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
from converter.addon.probes.upstream_http import reason_of, tls_context
from converter.addon.servers.model_names import model_entries
from converter.addon.servers.probes import ADDON_PATH, ProbeReply, server_of_addon
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
"""Seconds to wait for a reply; a server may have to load its model first."""
PROBE_PATIENCE = 5.0
"""Seconds to wait for a response that needs no work of the model, such as a list of models."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING")
"""OpenSSL's reasons when a server answers a TLS handshake in plain HTTP, or ends the connection."""
_PIECE = 65536
"""The most bytes of a response that are read at once."""


@dataclass(slots=True)
class StreamedReply:
    """The part of a chat completion that has arrived."""

    refusal: str = ""
    """The server's error message, or why no whole reply came; empty without an error."""
    text: str = ""
    """The text of the answer so far, without thinking."""
    thinking_by_field: dict[str, str] = field(default_factory=dict)
    """Name of a field of the delta, such as `reasoning_content` -> the thinking in it."""
    called_tools: list[str] = field(default_factory=list)
    """The names of the tools that the model has called, in the order of the calls."""
    seconds_to_first_token: float | None = None
    """Seconds from the request to the first text or thinking; None until one of them comes."""
    _frames: FrameDecoder = field(default_factory=lambda: FrameDecoder(BODY_LIMIT))
    """Cuts the reply's bytes into frames."""
    _decoder: Decoder = field(default_factory=lambda: COMMON.wire.decoder({}))
    """Reads the frames into events."""

    def feed(self, chunk: bytes, at: float) -> None:
        """Add the bytes that came `at` seconds after the request. Empty bytes end the reply."""
        for frame in self._frames.feed(chunk) if chunk else self._frames.close():
            # A server that does not stream sends plain JSON without `data:` lines, so `data` is
            # empty.
            whole = replace(frame, data=frame.data or frame.raw)
            for event in self._decoder.feed(whole):
                self._add(event, at)

    def _add(self, event: Event, at: float) -> None:
        """Add an event of the reply, which came `at` seconds after the request."""
        match event:
            case Failure(message):
                self.refusal = self.refusal or " ".join(message.split())
            case ToolCall(name=name) if name:
                self.called_tools.append(name)
            case Text(text) | Thinking(text) if text:
                if self.seconds_to_first_token is None:
                    self.seconds_to_first_token = at
                if isinstance(event, Text):
                    self.text += text
                    return
                for name in (event.own and event.own.fields) or (PARTS,):
                    self.thinking_by_field[name] = self.thinking_by_field.get(name, "") + text


@dataclass(frozen=True, slots=True)
class ServerLink:
    """A server's address, and how to connect to the server."""

    address: str
    """The server's URL without a path, such as `http://localhost:8000`."""
    api_key: str = ""
    """The server's API key, empty without one."""
    patience_seconds: float = PATIENCE
    """Seconds to wait for a response. For any response but a model's reply, the wait ends after
    `PROBE_PATIENCE` seconds, if that is less.
    """
    insecure: bool = False
    """True if any certificate of the server is accepted."""
    authority_file: str = ""
    """The file of the certificate authority that signed the server's certificate; empty to trust
    the public authorities.
    """

    def response(self, path: str, body: Mapping[str, object] | None = None) -> ProbeReply | None:
        """Send a POST with `body`, or a GET without one, and return the response. Return None if no
        response came. Raises CommandError if no connection is possible, or if the server speaks TLS
        though its address begins `http:`.
        """
        patience = min(PROBE_PATIENCE, self.patience_seconds)
        try:
            with self._request(path, body, patience, accept="application/json") as answer:
                fields = {name.lower(): value for name, value in answer.getheaders()}
                reply = ProbeReply(answer.status, fields, answer.read(ANSWER_LIMIT))
        except (OSError, http.client.HTTPException):
            reply = None
        # Plain HTTP was sent to a TLS port: nginx and Go servers answer with 400 and name HTTPS.
        refused = reply and reply.status == 400 and b"HTTPS" in reply.body
        if refused or (reply is None and self._speaks_tls()):
            at = self.address.removeprefix("http://")
            raise CommandError(f"{self.address} speaks TLS: write https://{at}")
        return reply

    def json_at(self, path: str, body: Mapping[str, object] | None = None) -> object:
        """Send a request as `response` does; return the value of the JSON that came, None if none
        did. Raises CommandError as `response` does.
        """
        reply = self.response(path, body)
        return reply.value() if reply else None

    def stream(
        self, body: Mapping[str, object], enough: Callable[[StreamedReply], bool]
    ) -> StreamedReply:
        """Ask for a chat completion with the request's `body`, and return the reply. The reply is
        whole, unless `enough` returned True for the part that had come, `patience_seconds` were
        over, or an error came (`refusal`). `enough`: a function that returns True if the caller
        needs no more of the reply.
        """
        streamed, began = StreamedReply(), time.monotonic()
        try:
            with self._request(COMMON.requests.path, body, self.patience_seconds) as reply:
                if reply.status != 200:
                    streamed.refusal = server_message(reply.read(_PIECE)) or f"HTTP {reply.status}"
                while not streamed.refusal and (chunk := reply.read1(_PIECE)):
                    streamed.feed(chunk, time.monotonic() - began)
                    if enough(streamed) or time.monotonic() - began > self.patience_seconds:
                        break
        except (OSError, http.client.HTTPException, CommandError) as error:
            streamed.refusal = streamed.refusal or f"no reply: {reason_of(error)}"
        streamed.feed(b"", time.monotonic() - began)
        return streamed

    @contextmanager
    def _request(
        self, path: str, body: Mapping[str, object] | None, patience: float, **headers: str
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield the response at `path` to a POST of `body`, or to a GET without a body. `patience`:
        seconds to wait for bytes. Raises CommandError if no connection is possible.
        """
        parts = urlsplit(self.address)
        host = parts.hostname or ""
        connection = http.client.HTTPConnection(host, parts.port or 80, timeout=patience)
        if parts.scheme == "https":
            # `tls_context` trusts certifi's authorities, not the operating system's, because
            # mitmproxy does: this program and the proxy then accept the same certificates.
            tls = tls_context(insecure=self.insecure, trusted_ca=self.authority_file or None)
            port = parts.port or 443
            connection = http.client.HTTPSConnection(host, port, timeout=patience, context=tls)
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
            own = credentials({"x-api-key": self.api_key} if self.api_key else {})
            headers |= {"content-type": "application/json", **own}
            connection.request("GET" if body is None else "POST", path, posted, headers)
            yield connection.getresponse()

    def _speaks_tls(self) -> bool:
        """Return True if the server accepts a TLS handshake, though its address begins `http:`."""
        parts = urlsplit(self.address)
        if parts.scheme == "https":
            return False
        try:
            with socket.create_connection(
                (parts.hostname or "", parts.port or 80), min(2, self.patience_seconds)
            ) as plain:
                tls_context(insecure=True).wrap_socket(plain).close()
        except OSError:
            return False
        return True


PARTS = "thinking parts of the content"
"""The key in `StreamedReply.thinking_by_field` for thinking that has no field of its own: the
server sent it within the content, as parts whose type is `thinking`.
"""


def find_local_server() -> str:
    """Print and return the address of the first server at one of `USUAL_PORTS` that lists models. A
    think-addon does not count. Raises CommandError if there is no such server.
    """
    for port in USUAL_PORTS:
        address = f"http://127.0.0.1:{port}"
        try:
            link = ServerLink(address)
            if server := find_server_behind(link):
                print(f"passed over {address}: {addon_at(server)}", file=sys.stderr)
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


def find_server_behind(link: ServerLink) -> str:
    """Return the server behind the think-addon at `link`, empty if no think-addon answers there."""
    return server_of_addon(link.json_at(ADDON_PATH))


def addon_at(server: str) -> str:
    """Return how messages name a think-addon in front of `server`: `think-addon itself, in front of
    SERVER`.
    """
    return f"think-addon itself, in front of {server}"


def listed_models(link: ServerLink) -> list[str]:
    """Return the names of the models that a server lists."""
    return [str(model["id"]) for model in model_entries(link.json_at("/v1/models"))]


def wants_key(reply: ProbeReply | None) -> bool:
    """Return True if the reply refuses the API key, or the lack of a key (401, 403)."""
    return reply is not None and reply.status in (401, 403)


def key_remedy(address: str, key: str) -> str:
    """Return the message for a user whose server refuses `key`, or wants a key (`key` is empty)."""
    wanted = "another API key" if key else "an API key"
    return f"{address} wants {wanted}: put it into {KEY_VARIABLE}, or give --key KEY"
