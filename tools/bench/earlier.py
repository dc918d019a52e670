"""Print how long the addon looks for earlier thoughts that its memory does not have.

    python -m tools.bench earlier

Each row is a request whose client dropped the earlier thoughts, for a model that reads such
thoughts. So the addon looks for them in its memory, and finds none. The time of this lookup is
divided by the time in which the tests' small model on llama.cpp answers the same request; all
models in use are slower. This share must not exceed `AIM`.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from converter.addon.exchange import settings
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.read_request import read_in_dialect
from converter.core.dialects.table import find_endpoint
from converter.core.model.memory import Memory
from tests.support.harness import VARIANTS, LlamaServer

AIM = 0.02
"""The largest share of a request's time that the lookup may take: 2 percent."""
TURNS = (1, 5, 10, 20)
"""For each row the number of turns of its conversation."""
HEADING = "turns    bytes   miss, ms   request, ms   share"
"""The heading of the table."""
_REPETITIONS = 5
"""How often the request to the model is sent; the median time counts."""
_CALL = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
"""The tool call in each turn."""


def main(_: Sequence[str] = ()) -> int:
    """Print a row for each conversation; return 1 if a lookup's share exceeds `AIM`."""
    print(HEADING)
    shares = []
    with (
        tempfile.TemporaryDirectory() as folder,
        LlamaServer(VARIANTS["tags"], Path(folder) / "llama.log") as server,
    ):
        for turns in TURNS:
            body = _body(turns)
            missed, whole = _seconds_of_miss(body), _seconds_to_answer(server.address, body)
            shares.append(missed / whole)
            figures = f"{missed * 1e3:10.3f} {whole * 1e3:13.1f} {shares[-1]:7.2%}"
            print(f"{turns:5} {len(body):8,} {figures}")
    return int(max(shares) > AIM)


def _body(turns: int) -> bytes:
    """Return a request's body, whose conversation has `turns` turns without thoughts."""
    messages: list[object] = []
    for turn in range(turns):
        called = [{"id": f"call_{turn}", "type": "function", "function": _CALL}]
        messages += [
            {"role": "user", "content": f"What is the weather in Oslo on day {turn}?"},
            {"role": "assistant", "content": "", "tool_calls": called},
            {"role": "tool", "tool_call_id": f"call_{turn}", "content": "sunny, 21 degrees"},
            {"role": "assistant", "content": "In Oslo it is 21 degrees and sunny."},
        ]
    messages.append({"role": "user", "content": "6 * 7"})
    body = {"model": "Kimi-K3", "messages": messages, "temperature": 0, "max_tokens": 100}
    return json.dumps(body).encode()


def _seconds_of_miss(body: bytes) -> float:
    """Return the median seconds of a lookup that finds none of the request's thoughts."""
    endpoint = find_endpoint("POST", "/v1/chat/completions")
    assert endpoint
    read, memory = (
        read_in_dialect(Exchange(endpoint[0], settings.read()), body),
        Memory(500, 1 << 25),
    )
    assert read.with_restored_thoughts(memory, None).earlier_thoughts.unknown_replies > 1
    return _median_seconds(lambda: read.with_restored_thoughts(memory, None), 200)


def _seconds_to_answer(address: str, body: bytes) -> float:
    """Return the median seconds in which the server at `address` answers the request."""
    url = urlsplit(address)
    connection = HTTPConnection(str(url.hostname), url.port)

    def ask() -> None:
        """Send the request, and read the whole reply."""
        connection.request(
            "POST", "/v1/chat/completions", body, {"content-type": "application/json"}
        )
        response = connection.getresponse()
        assert response.status == 200, response.read()
        response.read()

    with closing(connection):
        return _median_seconds(ask, _REPETITIONS)


def _median_seconds(work: Callable[[], object], times: int) -> float:
    """Call `work` `times` times; return the median of the seconds that a call takes."""
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        took.append(time.perf_counter() - begun)
    return statistics.median(took)
