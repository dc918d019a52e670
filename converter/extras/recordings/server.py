"""`RecordedServer`, an HTTP server for `think-addon record serve`, answers requests as the recorded
servers did, with the same chunks at the same times, or at another pace.

- A recording answers a request with the same method, endpoint, messages, system text, tools and
  form (stream or whole). If several recordings match, the recording with the most equal fields
  answers; equally good recordings answer in turn.
- A path that begins with a recording's name (`/NAME/v1/chat/completions`) reaches this recording
  alone.
- A request as the addon sent it gets the server's reply. A request as the client sent it gets the
  client's reply: a client can receive it again without a proxy.
- A request by which the addon, after it has ended a thought, has the server continue the reply
  gets the recording's second reply.
- The addon's probes (the list of models, the end and the length of a prompt) get the recorded
  facts, so that the addon reads the reply as it did before.
"""

import json
import shlex
import sys
import threading
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic, sleep
from typing import Self

from converter.addon.redact.allow_list import REQUEST, keep
from converter.addon.servers.profiles import GENERIC, by_name
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.server_fields import CONTROL
from converter.core.model.initial_state import InitialState
from converter.core.model.raw_messages import (
    MESSAGE_FIELDS,
    SYSTEM_FIELDS,
    messages_of,
    with_messages,
)
from converter.extras.recordings.recording import Chunk, RecordedReply, RecordedRequest, Recording

HOST = "127.0.0.1"
"""The address at which the server listens."""
PORT = 8000
"""The default port. Every recording's flow names it, so that mitmproxy's client replay reaches this
server.
"""
SERVED_AT = f"http://{HOST}:{PORT}"
"""The server's address at the default port."""
FAST = float("inf")
"""The pace at which no chunk waits."""
_PACES = {"recorded": 1.0, "fast": FAST}
"""Value of `--pace` -> how many times as fast as recorded the chunks are sent."""
_REMEDY = "try one that `think-addon record show NAME --request` prints, `list` has the names"
"""The end of the error for a request that no recording answers."""
_MUST_FIT = (*MESSAGE_FIELDS, *SYSTEM_FIELDS, "tools", "stream")
"""Fields of a request whose values a recording must share to answer the request."""
_IDS = ("id", "tool_call_id", "tool_use_id", "call_id")
"""Fields of messages that are not compared, because the redaction has changed these ids."""


class RecordedServer(ThreadingHTTPServer):
    """An HTTP server that answers requests from recordings. With `pace` 2 it sends the chunks twice
    as fast as recorded.
    """

    daemon_threads = True  # The program may end while a thread still answers a client.
    block_on_close = False  # `server_close` does not wait for these threads.
    request_queue_size = 64  # The most connections that may wait to be accepted.

    def __init__(
        self, recordings: Sequence[Recording], port: int = PORT, pace: float = 1.0
    ) -> None:
        super().__init__((HOST, port), _RecordedHandler)
        self.recordings = {recording.name: recording for recording in recordings}
        self.pace = pace
        self._served: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        # The server looks every 0.01 s whether `shutdown` was called (by default every 0.5 s), so
        # that `shutdown` returns soon.
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def address(self) -> str:
        """The URL at which the server listens."""
        return f"http://{HOST}:{self.server_port}"

    def recordings_for(self, path: str) -> tuple[list[Recording], str]:
        """Return the recordings that may answer a request's path, and the path without the name of
        a recording: all recordings for `/v1/messages`, only NAME for `/NAME/v1/messages`.
        """
        name, slash, rest = path.removeprefix("/").partition("/")
        if slash and name in self.recordings:
            return [self.recordings[name]], "/" + rest
        return list(self.recordings.values()), path

    def matching_reply(
        self, method: str, path: str, body: bytes
    ) -> tuple[RecordedReply, Sequence[Chunk], bool] | None:
        """Return the status and content type of the reply to a request, the reply's chunks, and
        True if the reply breaks off after them. Return None if no recording matches.
        """
        recordings, path = self.recordings_for(path)
        request = method, path, body
        if best := self._nearest(recordings, lambda each: request_fit(each.sent_request, *request)):
            return best.server_reply, best.chunks, bool(best.abort_reason)
        # A request to continue a reply ends with the model's turn so far. Without this message it
        # is the request that began the reply.
        fields = read_body(body)
        messages = messages_of(fields)
        before = json.dumps(with_messages(fields, messages[:-1])).encode() if messages else b""
        first = method, path, before
        continued = [recording for recording in recordings if recording.second_chunks]
        if best := self._nearest(continued, lambda each: request_fit(each.sent_request, *first)):
            return best.server_reply, best.second_chunks, bool(best.abort_reason)
        if best := self._nearest(recordings, lambda each: request_fit(each.request, *request)):
            last = best.chunks[-1].at_seconds if best.chunks else 0.0
            return best.client_reply, [Chunk(last, best.client_reply.body)], bool(best.abort_reason)
        return None

    def own_answer(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        """Return the status and JSON for a request that no recording answers: the list of models, a
        prompt's tokens, a refusal of the field `CONTROL`, or an error that names the next command
        to try.
        """
        if method == "GET" and endpoint_of(path).endswith("/v1/models"):
            return 200, self.model_list(path)
        if counted := self.prompt_tokens(path, body):
            return 200, counted
        # The field asks llama.cpp to let the addon end the thought, which this server cannot. So it
        # refuses the field as an older llama.cpp does; the addon then sends the request without it.
        if CONTROL in read_body(body):
            return 400, {"error": {"message": f"Unknown parameter: '{CONTROL}'"}}
        message = f"no recording answers this request, {method} {path}; {_REMEDY}"
        return 404, {"error": {"message": message, "type": "not_found_error"}}

    def _nearest(
        self, recordings: Sequence[Recording], fit: Callable[[Recording], int]
    ) -> Recording | None:
        """Return the recording for which `fit` returns the highest number; None if all numbers
        are 0. `fit` returns how well the recording's request fits the one to answer
        (`request_fit`). Of several recordings with the highest number, return the one that has
        answered least often, and count this answer.
        """
        fits = [(fit(each), each) for each in recordings]
        best = max((number for number, _ in fits), default=0)
        equals = [each for number, each in fits if number == best] if best else []
        with self._lock:
            nearest = min(equals, key=lambda recording: self._served[recording.name], default=None)
            if nearest:
                self._served[nearest.name] += 1
        return nearest

    def model_list(self, path: str) -> dict[str, object]:
        """Return the list of the recordings' models. If all recorded servers are of one kind,
        `owned_by` has the value by which the addon recognises that kind. It is `recordings` if they
        are of several kinds, or the kind is not recognised by this field.
        """
        recordings, _ = self.recordings_for(path)
        named = (read_body(recording.sent_request.body).get("model") for recording in recordings)
        kinds = set(map(_profile_name, recordings))
        marks = by_name(min(kinds)).fingerprints if len(kinds) == 1 else ()
        owner = next((mark.value for mark in marks if mark.field == "owned_by"), "recordings")
        names = sorted({str(name or "recorded") for name in named})
        models = [{"id": name, "object": "model", "owned_by": owner} for name in names]
        return {"object": "list", "data": models}

    def prompt_tokens(self, path: str, body: bytes) -> dict[str, object] | None:
        """Return the answer of `/tokenize` for a recorded prompt, None for another prompt or path.
        The answer has the count of the prompt's tokens, and one token, as if it were the last:
        `<think>` if the reply began in a thought, else a line feed. From it the addon learns where
        the reply begins.
        """
        recordings, path = self.recordings_for(path)
        request = read_body(body)
        fitting = [
            each
            for each in recordings
            if _are_equal_in(request, read_body(each.sent_request.body), ("messages", "tools"))
        ]
        if endpoint_of(path) != "/tokenize" or not fitting:
            return None
        inside = fitting[0].facts.begins == InitialState.THINKING.value
        return {"count": fitting[0].facts.counted, "token_strs": ["<think>" if inside else "\n"]}

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error of a client that left before the reply's end; print any other error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def serve(recordings: Sequence[Recording], port: int = PORT, pace: float = 1.0) -> None:
    """Print the address, and serve until Ctrl-C. Raises OSError if the port is in use. `pace`: how
    many times as fast as recorded.
    """
    with RecordedServer(recordings, port, pace) as server:
        print(f"ready {server.address}: {len(recordings)} recordings", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def _profile_name(recording: Recording) -> str:
    """Return the name of the profile by which the addon is to recognise this server: that of the
    recorded server. But a generic server whose reply began in a thought counts as vLLM. The addon
    asks vLLM for the prompt's end, and so learns of the open thought; it asks no generic server.
    """
    begun = recording.facts.begins == InitialState.THINKING.value
    return "vllm" if begun and recording.facts.server == GENERIC.name else recording.facts.server


class _RecordedHandler(BaseHTTPRequestHandler):
    """Handles the requests of one connection to a `RecordedServer`."""

    server: RecordedServer
    # With HTTP/1.1 a connection stays open, and a body may be sent in chunks.
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # Small chunks are sent at once, not joined.
    wbufsize = 0  # No buffer: each chunk is written to the socket at once.

    def do_POST(self) -> None:
        """Answer the request from a recording, else by `RecordedServer.own_answer`."""
        arrived = monotonic()
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        recording = self.server.matching_reply(self.command, self.path, body)
        if recording:
            self._replay(*recording, arrived)
        else:
            status, value = self.server.own_answer(self.command, self.path, body)
            self._send_whole(status, "application/json", json.dumps(value).encode())

    do_GET = do_POST  # noqa: N815 (the name that http.server looks for)

    def _replay(
        self, answered: RecordedReply, chunks: Sequence[Chunk], breaks_off: bool, arrived: float
    ) -> None:
        """Send a recorded reply at the pace of `RecordedServer`. `breaks_off`: True if the recorded
        reply broke off; the connection is then closed at the same point. `arrived`: the time of the
        request (`time.monotonic`).
        """
        pieces = wait_for_chunks(chunks, arrived, self.server.pace)
        if not (breaks_off or is_stream(answered.content_type)):
            self._send_whole(answered.status, answered.content_type, b"".join(pieces))
            return
        self._send_head(answered.status, answered.content_type, "transfer-encoding", "chunked")
        for piece in filter(None, pieces):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if breaks_off:
            self.close_connection = True  # The recorded reply broke off here.
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _send_whole(self, status: int, content_type: str, body: bytes) -> None:
        """Send a whole reply: a head with the body's length, and the body."""
        self._send_head(status, content_type, "content-length", str(len(body)))
        self.wfile.write(body)

    def _send_head(self, status: int, content_type: str, framing: str, value: str) -> None:
        """Send a reply's head. `framing`: the header that tells how long the body is, with its
        `value`.
        """
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header(framing, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (http.server's)
        """Log nothing, because the proxy in front logs requests."""


def read_pace(text: str) -> float:
    """Return a pace: `recorded` -> 1.0, `fast` -> infinity, `2` -> 2.0. Raises ArgumentTypeError
    for another text, or a number that is not above 0.
    """
    try:
        pace = _PACES.get(text) or float(text)
    except ValueError:
        pace = 0
    if not pace > 0:
        raise ArgumentTypeError(
            f"{text!r} is no pace: recorded, fast, or how many times as fast as recorded"
        )
    return pace


def wait_for_chunks(chunks: Sequence[Chunk], arrived: float, pace: float) -> Iterator[bytes]:
    """Yield the chunks' bytes. Wait before each until its recorded time, divided by `pace`, has
    passed since `arrived`, when the request came (`time.monotonic`).
    """
    for chunk in chunks:
        wait = arrived + chunk.at_seconds / pace - monotonic()
        if wait > 0:
            sleep(wait)
        yield chunk.data


def curl_command(recording: Recording) -> str:
    """Return a curl command that sends the client's request to the server of recordings."""
    request = recording.request
    address = f"{SERVED_AT}/{recording.name}{request.path}"
    command = ["curl", "-sN", address]
    if request.method != "GET":
        command += ["-H", "content-type: application/json"]
        command += ["-d", request.body.decode(errors="replace")]
    return shlex.join(command)


def request_fit(sent: RecordedRequest, method: str, path: str, body: bytes) -> int:
    """Return how well a request fits the recorded request `sent`: 0 if method, endpoint, messages,
    system text, tools or form (stream or whole) differ, else 1 plus the number of equal fields.
    Also 0 if only the request has the field `CONTROL`, so that `own_answer` refuses this field.
    """
    if (sent.method, endpoint_of(sent.path)) != (method, endpoint_of(path)):
        return 0
    request, recorded = read_body(body), read_body(sent.body)
    controls = CONTROL in request and CONTROL not in recorded
    if controls or not _are_equal_in(request, recorded, _MUST_FIT):
        return 0
    return 1 + sum(request.get(name) == value for name, value in recorded.items())


def _are_equal_in(
    request: Mapping[str, object], recorded: Mapping[str, object], names: Sequence[str]
) -> bool:
    """Return True if both requests have equal values in the fields `names`. Values that are not on
    the allow-list are left out, because a recording lacks them.
    """
    one, other = (
        [_comparable_value(keep(body.get(name), REQUEST[name])) for name in names]
        for body in (request, recorded)
    )
    return one == other


def endpoint_of(path: str) -> str:
    """Return the path without its query, and without a `/` at its end."""
    return path.partition("?")[0].rstrip("/")


def read_body(body: bytes) -> Mapping[str, object]:
    """Return a request's fields. A body that is no JSON object becomes one field `""`, so that only
    equal bodies match.
    """
    try:
        value = json.loads(body)
    except ValueError:
        return {"": body}
    return value if isinstance(value, dict) else {"": value}


def _comparable_value(value: object) -> object:
    """Return a value for comparison: without ids (`_IDS`), and None in place of an empty or false
    value, so that `"stream": false` equals a missing `stream`.
    """
    if isinstance(value, Mapping):
        return {name: _comparable_value(item) for name, item in value.items() if name not in _IDS}
    if isinstance(value, list):
        return [_comparable_value(item) for item in value]
    return value or None
