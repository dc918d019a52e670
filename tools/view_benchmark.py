"""Print the cost of mitmweb's own page: to a stream, while the page is open, and for a long reply
in the view *Thinking*. `page_benchmark` measures the page at /think.

    python -m tools.view_benchmark [--frames N] [--runs R] [--megabytes M]

First part: a reply passes through mitmweb with the addon, without a page and with a page that shows
its flow, in turn. A process plays the page: it receives mitmweb's updates over the websocket, and
fetches the content view whenever the body has changed. Each figure is the smallest of the runs; the
table has both figures and their ratio.

- *paced*: a frame every 10 ms. Measured is the time from a frame's sending to its arrival at the
  client (median and 95th percentile).
- *fast*: frames without a pause. Measured is the time until the reply is complete.
- *work*, in both: the processor time of mitmweb.

Second part: the processor time in which mitmweb shows a long complete reply in the view *Thinking*
against mitmproxy's view *Raw*, as a ratio and as a difference.
"""

import argparse
import asyncio
import gzip
import json
import os
import re
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import websocket_connect

from converter.extras.watch.views import LINES
from tests.support.by_path_server import CHAT, ByPathServer, Says, Step
from tests.support.clients import Client
from tests.support.frames import DONE, ROLE, delta, finish, whole
from tests.support.harness import Program
from tests.support.mitmweb import Mitmweb

PACE = 0.01
"""The seconds between two frames of the paced reply."""
WORD = " word" * 4
"""The text in each frame, behind the time at which it is sent."""
SENT_AT = re.compile(rb"@(\d+\.\d+)")
"""The pattern of the time at which a frame was sent, as the frame holds it: `@12.345678`."""
REQUEST = json.dumps(
    {"model": "small", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
).encode()
"""The body of every request."""
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
"""How many ticks of the processor time in /proc are a second."""
HEADING = f"{'with a page open, against none':44}{'ratio':>9}{'with':>12}{'without':>12}"
"""The heading of the report's first part: the cost of an open page."""
OPENING_HEADING = (
    f"{'opened as Thinking, against Raw':44}{'ratio':>9}{'Thinking':>12}{'Raw':>12}{'more':>9}"
)
"""The heading of the report's second part: the view *Thinking* against the view *Raw*."""


class Frames(Sequence[Step]):
    """A reply of `count` frames: first a thought, from the middle on an answer.

    The text of each frame holds the time at which it is sent. `pace`: seconds between two frames.
    """

    def __init__(self, count: int, pace: float) -> None:
        self._count, self._pace = count, pace

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: object) -> Step:  # type: ignore[override]  # a reply is only iterated
        raise NotImplementedError

    def __iter__(self) -> Iterator[Step]:
        yield ROLE + delta(content="<think>")
        for number in range(self._count):
            time.sleep(self._pace)
            mark = "</think>" if number == self._count // 2 else ""
            line = "\n" if number % 8 == 0 else ""
            yield delta(content=f"{mark}@{time.monotonic():.6f}{WORD}{line}")
        yield finish() + DONE


@dataclass(frozen=True)
class Cost:
    """The times of one reply, in milliseconds."""

    median_delay: float
    """The median time from a frame's sending to its arrival at the client."""
    delay_percentile_95: float
    """The 95th percentile of the times from sending to arrival."""
    whole: float
    """The time from the request to the end of the reply."""
    work: float
    """The processor time of mitmweb."""

    def least(self, other: "Cost | None") -> "Cost":
        """Return a cost that has the smaller value of each time; this cost if `other` is None."""
        if other is None:
            return self
        return Cost(
            *(min(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        )


def measure_reply(web: Mitmweb) -> Cost:
    """Request one reply through mitmweb, read it as it arrives, and return its times."""
    late, begun, worked = list[float](), time.monotonic(), processor_seconds(web)
    with Client(web.port) as client:
        response = client.send(CHAT, REQUEST)
        while piece := response.read1():
            now = time.monotonic()
            late += [now - float(at) for at in SENT_AT.findall(piece)]
    took = time.monotonic() - begun
    work = max(processor_seconds(web) - worked, 1 / TICKS_PER_SECOND)
    seconds = (statistics.median(late), statistics.quantiles(late, n=20)[-1], took, work)
    return Cost(*(1000 * second for second in seconds))


def processor_seconds(program: Program) -> float:
    """Return the processor seconds that a process has used so far."""
    fields = Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


async def follow(page: str) -> None:
    """Act as mitmweb's page that shows the newest flow: fetch its reply whenever it has changed.

    `page`: the page's address. Print `page open` when the websocket is open, and `fetched` for each
    fetch.
    """
    base, _, query = page.partition("?")
    updates = await websocket_connect(
        f"{base.replace('http', 'ws', 1)}updates?{query}", max_message_size=2**30
    )
    print("page open", flush=True)
    client, shown = AsyncHTTPClient(max_body_size=2**30), ""
    while message := await updates.read_message():
        fields = json.loads(message)
        flow = fields["payload"]["flow"] if fields["type"] in ("flows/add", "flows/update") else {}
        seen = (flow.get("response") or {}).get("contentHash") or shown
        if seen != shown:
            shown = seen
            await client.fetch(
                f"{base}flows/{flow['id']}/response/content/Auto.json?lines={LINES + 1}&{query}"
            )
            print("fetched", flush=True)


class Page(Program):
    """A process that acts as a page open in a browser: it runs `follow` of the tool `module`."""

    def __init__(self, web: Mitmweb, folder: Path, module: str = "tools.view_benchmark") -> None:
        super().__init__([sys.executable, "-m", module, "--follow", web.page], folder / "page.log")
        self.wait_for("page open")

    @property
    def fetched(self) -> int:
        """How often the page has fetched the reply, or an update of it."""
        return self.output.count("fetched")


def watching_rows(
    name: str,
    frames: Frames,
    names: dict[str, str],
    runs: int,
    start_page: Callable[[Mitmweb, Path], Page] = Page,
) -> Iterator[str]:
    """Yield the rows that compare the times of one reply with an open page and without.

    `name`: the reply's name in the rows; `names`: attribute of `Cost` -> its name in the rows;
    `runs`: the number of measurements, of which the smallest counts; `start_page`: starts the
    process that acts as an open page; its second argument is a folder for temporary files.
    """
    costs: dict[bool, Cost] = {}
    with (
        ByPathServer({CHAT: Says(steps=frames)}) as server,
        tempfile.TemporaryDirectory() as folder,
        Mitmweb(server.address, Path(folder), "--set", "think_server=generic") as web,
    ):
        measure_reply(web)
        for _ in range(runs):
            costs[False] = measure_reply(web).least(costs.get(False))
            with start_page(web, Path(folder)) as page:
                costs[True] = measure_reply(web).least(costs.get(True))
                fetched = page.fetched
    for field, meaning in names.items():
        with_page, without = getattr(costs[True], field), getattr(costs[False], field)
        yield f"{f'{name}, {meaning}':44}{with_page / without:9.2f}{with_page:9.1f} ms{without:9.1f} ms"
    yield f"{f'{name}, fetched while it came':44}{fetched:9}"


def least_processor_seconds(web: Mitmweb, view: str, runs: int) -> float:
    """Return the processor seconds in which mitmweb shows the newest flow's reply in a view.

    They are the smallest of `runs` tries, and at least a tick of the kernel's count.
    """
    took = []
    for _ in range(runs):
        begun = processor_seconds(web)
        fetch(web, view)
        took.append(processor_seconds(web) - begun)
    return max(min(took), 1 / TICKS_PER_SECOND)


def opening_rows(megabytes: float, runs: int) -> Iterator[str]:
    """Yield the rows of the second part: each kind of long reply in both views."""
    size = int(megabytes * 1_000_000)
    text = f"<think>{f'{WORD * 4}\n' * 20}</think>{f'{WORD * 4}\n' * 20}"
    frame = delta(content=f"{WORD}\n")
    half = frame * (size // len(frame) // 2)
    cases = {
        "streamed": Says(
            steps=[
                ROLE,
                delta(content="<think>"),
                half,
                delta(content="</think>"),
                half,
                finish(),
                DONE,
            ]
        ),
        "whole, many thoughts": Says(whole(text * (size // len(text)))),
        "whole, one line": Says(
            whole(
                f"<think>{WORD * (size // len(WORD) // 2)}</think>{WORD * (size // len(WORD) // 2)}"
            )
        ),
        "whole, no blanks": Says(whole("x" * size)),
    }
    for name, says in cases.items():
        with (
            ByPathServer({CHAT: says}) as server,
            tempfile.TemporaryDirectory() as folder,
            Mitmweb(server.address, Path(folder), "--set", "think_server=generic") as web,
            Client(web.port) as client,
        ):
            client.ask(CHAT, REQUEST)
            took = {view: least_processor_seconds(web, view, runs) for view in ("thinking", "raw")}
        ours, raw = took["thinking"], took["raw"]
        label = f"{megabytes:g} MB, {name}"
        yield f"{label:44}{ours / raw:9.1f}{ours:10.2f} s{raw:10.2f} s{ours - raw:7.2f} s"


def fetch(web: Mitmweb, view: str, flow: str = "") -> bytes:
    """Fetch the content view of a flow's response from mitmweb; return it as JSON.

    `view`: the name of the content view; `flow`: the flow's id, empty for the newest flow.
    """
    base, _, query = web.page.partition("?")
    flow = flow or json.load(urllib.request.urlopen(f"{base}flows?{query}"))[-1]["id"]
    request = urllib.request.Request(
        f"{base}flows/{flow}/response/content/{view}.json?lines={LINES + 1}&{query}"
    )
    request.add_header("accept-encoding", "gzip")
    with urllib.request.urlopen(request) as answer:
        body: bytes = answer.read()
    return gzip.decompress(body) if answer.headers["content-encoding"] == "gzip" else body


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report: all parts, or only the part that `--only` names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--frames",
        type=int,
        default=500,
        help="of the paced reply; the fast one has forty times as many",
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=5.0, help="of the reply that is opened")
    parser.add_argument("--only", default="", help="paced, fast or open")
    parser.add_argument("--follow", default="", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.follow:
        asyncio.run(follow(chosen.follow))
        return
    paced = {
        "median_delay": "a frame is late",
        "delay_percentile_95": "95% of frames are late",
        "work": "work",
    }
    fast = {"whole": "the whole reply", "work": "work"}
    parts = {
        "paced": (HEADING, watching_rows("paced", Frames(chosen.frames, PACE), paced, chosen.runs)),
        "fast": (HEADING, watching_rows("fast", Frames(40 * chosen.frames, 0), fast, chosen.runs)),
        "open": (OPENING_HEADING, opening_rows(chosen.megabytes, chosen.runs)),
    }
    for heading, lines in (part for name, part in parts.items() if chosen.only in ("", name)):
        print(heading)
        for line in lines:
            print(line, flush=True)


if __name__ == "__main__":
    main()
