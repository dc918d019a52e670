"""A server of recordings: it answers on loopback as the recorded servers did, with the same chunks
and pace.

A request is matched by its endpoint, messages, tools and form. Of several recordings that match,
the one with the most equal fields answers, and of equals each in turn. A path that begins with a
recording's name (`/NAME/v1/chat/completions`) is for that recording alone. A request that the addon
had translated gets the client's reply, so that a client can receive it again without a proxy. The
addon's probes (the list of models, the end and the length of a prompt) get the answers of the time
of recording, so that the addon reads the reply the same way again. A request that continues behind
an ended thought gets the second reply.
"""

import json
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic, sleep
from typing import Self

from converter.addon.redact.allow_list import REQUEST, kept
from converter.addon.servers.profiles import GENERIC, by_name
from converter.core.dialects.recogniser import is_stream
from converter.core.model.initial_state import InitialState
from converter.core.model.raw_messages import (
    MESSAGE_FIELDS,
    SYSTEM_FIELDS,
    messages_of,
    with_messages,
)
from converter.extras.recordings.recording import Answered, Chunk, RecordedRequest, Recording

HOST = "127.0.0.1"
PORT = 8000
"""The port in every recording's flow, so that mitmproxy's client replay finds this server."""
SERVED_AT = f"http://{HOST}:{PORT}"
"""The usual address of `serve`."""
FAST = float("inf")
_PACES = {"recorded": 1.0, "fast": FAST}
_OPENER = "<think>"
_TRY = "try one that `think-addon record show NAME --request` prints, `list` has the names"
_MUST_FIT = (*MESSAGE_FIELDS, *SYSTEM_FIELDS, "tools", "stream")
_PROMPT = ("messages", "tools")
_IDS = ("id", "tool_call_id", "tool_use_id", "call_id")
"""Keys whose values the redaction has changed."""


class RecordedServer(ThreadingHTTPServer):
    """Serves recordings until it is closed. `pace`: how many times as fast as recorded."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self, recordings: Sequence[Recording], port: int = PORT, pace: float = 1.0
    ) -> None:
        super().__init__((HOST, port), _RecordedHandler)
        self.recordings = {recording.name: recording for recording in recordings}
        self.pace = pace
        self._served: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def address(self) -> str:
        """The address on which it listens."""
        return f"http://{HOST}:{self.server_port}"

    def chosen(self, path: str) -> tuple[list[Recording], str]:
        """Return the recordings that a path is for, and the path without a recording's name."""
        name, slash, rest = path.removeprefix("/").partition("/")
        if slash and name in self.recordings:
            return [self.recordings[name]], "/" + rest
        return list(self.recordings.values()), path

    def match(
        self, method: str, path: str, body: bytes
    ) -> tuple[Answered, Sequence[Chunk], bool] | None:
        """Return the answer to a request, its chunks, and True if it breaks off behind them; `None`
        when no recording matches.
        """
        recordings, path = self.chosen(path)
        best = self._best([(fit(each.sent, method, path, body), each) for each in recordings])
        if best:
            return best.answered, best.chunks, bool(best.ended)
        ended = [recording for recording in recordings if recording.second]
        before = _before_the_turn(body) if ended else b""
        best = self._best([(fit(each.sent, method, path, before), each) for each in ended])
        if best:
            return best.answered, best.second, bool(best.ended)
        best = self._best([(fit(each.request, method, path, body), each) for each in recordings])
        if best:
            last = best.chunks[-1].at if best.chunks else 0.0
            return best.got, [Chunk(last, best.got.body)], bool(best.ended)
        return None

    def own(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        """Return the status and JSON for a request without a recording: the models, a prompt's
        tokens, or an error that names the paths of the recordings.
        """
        if method == "GET" and endpoint_of(path).endswith("/v1/models"):
            return 200, self.models(path)
        if counted := self.tokens(path, body):
            return 200, counted
        message = f"no recording answers this request, {method} {path}; {_TRY}"
        return 404, {"error": {"message": message, "type": "not_found_error"}}

    def _best(self, fitting: Sequence[tuple[int, Recording]]) -> Recording | None:
        """Return the recording that matches best; of several, the least served one."""
        best = max((fit for fit, _ in fitting), default=0)
        equals = [recording for fit, recording in fitting if fit == best] if best else []
        with self._lock:
            nearest = min(equals, key=lambda recording: self._served[recording.name], default=None)
            if nearest:
                self._served[nearest.name] += 1
        return nearest

    def models(self, path: str) -> dict[str, object]:
        """Return the list of models of these recordings, owned as their servers' models are if all
        servers are of one kind.
        """
        recordings, _ = self.chosen(path)
        named = (read_body(recording.sent.body).get("model") for recording in recordings)
        kinds = set(map(_kind, recordings))
        marks = by_name(min(kinds)).marks if len(kinds) == 1 else ()
        owner = next((mark.value for mark in marks if mark.field == "owned_by"), "recordings")
        names = sorted({str(name or "recorded") for name in named})
        models = [{"id": name, "object": "model", "owned_by": owner} for name in names]
        return {"object": "list", "data": models}

    def tokens(self, path: str, body: bytes) -> dict[str, object] | None:
        """Return the answer of `/tokenize`: the count and the last token of a recorded prompt, as
        far as the addon knew them; `None` for another prompt or path.
        """
        recordings, path = self.chosen(path)
        request = read_body(body)
        fitting = [
            each for each in recordings if _same(request, read_body(each.sent.body), _PROMPT)
        ]
        if endpoint_of(path) != "/tokenize" or not fitting:
            return None
        inside = fitting[0].facts.begins == InitialState.THINKING.value
        return {"count": fitting[0].facts.counted, "token_strs": [_OPENER if inside else "\n"]}

    def handle_error(self, request: object, client_address: object) -> None:
        """Pass over a client that leaves before the reply's end."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def serve(recordings: Sequence[Recording], port: int = PORT, pace: float = 1.0) -> None:
    """Serve until interrupted, and print the address. Raises OSError when the port is taken."""
    with RecordedServer(recordings, port, pace) as server:
        print(f"ready {server.address}: {len(recordings)} recordings", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def _kind(recording: Recording) -> str:
    """Return the name of the server's profile. A server of no known profile whose reply began in a
    thought is served as vLLM, which reports the prompt's end.
    """
    begun = recording.facts.begins == InitialState.THINKING.value
    return "vllm" if begun and recording.facts.server == GENERIC.name else recording.facts.server


class _RecordedHandler(BaseHTTPRequestHandler):
    server: RecordedServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 0  # a chunk goes out as one

    def do_POST(self) -> None:
        """Answer as it was recorded."""
        arrived = monotonic()
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        recording = self.server.match(self.command, self.path, body)
        if recording:
            self._replay(*recording, arrived)
        else:
            status, value = self.server.own(self.command, self.path, body)
            self._whole(status, "application/json", json.dumps(value).encode())

    do_GET = do_POST  # noqa: N815 (the name that http.server looks for)

    def _replay(
        self, answered: Answered, chunks: Sequence[Chunk], ended: bool, arrived: float
    ) -> None:
        pieces = paced(chunks, arrived, self.server.pace)
        if not (ended or is_stream(answered.content_type)):
            self._whole(answered.status, answered.content_type, b"".join(pieces))
            return
        self._head(answered.status, answered.content_type, "transfer-encoding", "chunked")
        for piece in filter(None, pieces):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if ended:
            self.close_connection = True  # it broke off here
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _whole(self, status: int, content_type: str, body: bytes) -> None:
        self._head(status, content_type, "content-length", str(len(body)))
        self.wfile.write(body)

    def _head(self, status: int, content_type: str, framing: str, value: str) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header(framing, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (http.server's)
        """Log nothing, because the proxy in front logs requests."""


def read_pace(written: str) -> float:
    """Return how many times as fast as recorded: `recorded` is 1, `fast` waits for nothing. Raises
    ValueError.
    """
    try:
        pace = _PACES.get(written) or float(written)
    except ValueError:
        pace = 0
    if not pace > 0:
        raise ValueError(
            f"{written!r} is no pace: recorded, fast, or how many times as fast as recorded"
        )
    return pace


def paced(chunks: Sequence[Chunk], arrived: float, pace: float) -> Iterator[bytes]:
    """Yield the chunks, each at its time. `arrived`: when the request came, monotonic."""
    for chunk in chunks:
        wait = arrived + chunk.at / pace - monotonic()
        if wait > 0:
            sleep(wait)
        yield chunk.data


def request_of(recording: Recording) -> str:
    """Return a curl command that sends the client's request to where recordings are served."""
    request = recording.request
    address = f"{SERVED_AT}/{recording.name}{request.path}"
    command = ["curl", "-sN", address]
    if request.method != "GET":
        command += ["-X", request.method] if request.method != "POST" else []
        command += ["-H", "content-type: application/json"]
        command += ["-d", request.body.decode(errors="replace")]
    return shlex.join(command)


def fit(sent: RecordedRequest, method: str, path: str, body: bytes) -> int:
    """Return how well a request matches a recorded one: 0 for not at all."""
    if (sent.method, endpoint_of(sent.path)) != (method, endpoint_of(path)):
        return 0
    request, recorded = read_body(body), read_body(sent.body)
    if not _same(request, recorded, _MUST_FIT):
        return 0
    return 1 + sum(request.get(name) == value for name, value in recorded.items())


def _before_the_turn(body: bytes) -> bytes:
    """Return a request without its last turn, which the model is to continue."""
    request = read_body(body)
    messages = messages_of(request)
    return json.dumps(with_messages(request, messages[:-1])).encode() if messages else b""


def _same(
    request: Mapping[str, object], recorded: Mapping[str, object], names: Sequence[str]
) -> bool:
    def compared(body: Mapping[str, object], name: str) -> object:
        return _comparable(kept(body.get(name), REQUEST[name]))  # a recording holds no more

    return all(compared(request, name) == compared(recorded, name) for name in names)


def endpoint_of(path: str) -> str:
    """Return the path without its query."""
    return path.partition("?")[0].rstrip("/")


def read_body(body: bytes) -> Mapping[str, object]:
    """Return a request's fields; anything but a JSON object is one field."""
    try:
        value = json.loads(body)
    except ValueError:
        return {"": body}  # matches the same bytes
    return value if isinstance(value, dict) else {"": value}


def _comparable(value: object) -> object:
    """Return a value without ids; a missing `stream` is the same as false."""
    if isinstance(value, Mapping):
        return {name: _comparable(item) for name, item in value.items() if name not in _IDS}
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    return value or None
