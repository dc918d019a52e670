"""Print the cost of the page at /think: `python -m tools.page_benchmark [--frames N] [--runs R]`.

The report has four parts:

- *paced* and *fast*: the time of a stream, and the processor time of mitmweb, while the page shows
  the running reply, against no page. The replies are those of `tools.view_benchmark`. A process
  plays the page: it receives the page's updates over the websocket, and chooses the running
  exchange.
- *paint*: how long Chromium takes to draw a list of exchanges, a reply of some megabytes (in lines,
  and in one line), and many thoughts. The time runs from the click, or from the start of loading,
  until all is drawn. Then the longest time between two drawn pictures while a script scrolls
  through the whole reply.
- *sessions*: how long the page's code takes to list the exchanges of an agent, whose requests offer
  70 tools and hold up to 100 turns; and the longest time for which it blocks the event loop. The
  first rows are for half of the exchanges, the next ones for all.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mitmproxy.http import HTTPFlow
from tornado.websocket import websocket_connect

from converter.extras.page.listed import ListRows
from tests.support.addon_flows import request, wait
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.clients import Client
from tests.support.frames import END, ROLE, text
from tests.support.kept_flows import watched
from tests.support.mitmweb import Mitmweb
from tests.support.think_page import ThinkPage, address
from tools.view_benchmark import HEADING, PACE, REQUEST, Frames, Page, watching_rows

MESSAGE_LIMIT = 2**30
"""The most bytes of one message that the page may get over the websocket."""
WAIT_UNTIL_DRAWN = """
const [enough, from, count, done] = arguments;
const begun = from === 'click' ? performance.now() : 0;
if (from === 'click') document.querySelector('#rows a').click();
const look = () => document.querySelectorAll(enough).length >= count
  ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)))
  : setTimeout(look, 5);
look();
"""
"""A script: returns the milliseconds until the page has drawn some elements. Its arguments: their
CSS selector; `click` to choose the list's first row and to count from there, else it counts from
the start of loading; how many elements there must be.
"""
SCROLL_THROUGH = """
const done = arguments[0], at = document.querySelector('#talk');
let longest = 0, last = performance.now(), left = 60;
const step = () => { const now = performance.now(); longest = Math.max(longest, now - last); last = now;
  at.scrollTop += at.scrollHeight / 60; if (left--) requestAnimationFrame(step); else done(longest); };
requestAnimationFrame(step);
"""
"""A script: scrolls through the reply, and returns the longest time between two pictures."""


async def follow(page: str) -> None:
    """Act as the page at the address `page`: read its updates, and choose each running exchange.

    Print `page open` when the websocket is open, and `fetched` for each update of the exchange.
    """
    base, _, query = page.partition("?")
    line = await websocket_connect(
        f"{base.replace('http', 'ws', 1)}think/updates?{query}", max_message_size=MESSAGE_LIMIT
    )
    print("page open", flush=True)
    chosen = ""
    while message := await line.read_message():
        news = json.loads(message)
        for row in news.get("rows", []):
            if row["running"] and row["id"] != chosen:
                chosen = row["id"]
                await line.write_message(json.dumps({"choose": [chosen]}))
        if news.get("chosen"):
            print("fetched", flush=True)


def start_page(web: Mitmweb, folder: Path) -> Page:
    """Start a process that acts as the open page (`follow`). `folder`: the place of its log."""
    return Page(web, folder, "tools.page_benchmark")


def painting_rows(exchanges: int, megabytes: float) -> Iterator[str]:
    """Yield the report's rows on how long Chromium draws a list and long replies (*paint*).

    `exchanges`: how many the list has; `megabytes`: the size of each long reply.
    """
    size = int(megabytes * 1_000_000)
    replies = {
        f"a reply of {megabytes:g} MB": ["<think>", *["A line of many words.\n\n"] * (size // 23)],
        f"a line of {megabytes:g} MB": ["x" * size],
        f"{size // 100:,} thoughts": [f"<think>{n}</think>{n}" for n in range(size // 100)],
    }
    with (
        ByPathServer() as server,
        tempfile.TemporaryDirectory() as folder,
        Mitmweb(server.address, Path(folder), "--set", "think_server=generic") as web,
        ThinkPage() as page,
    ):
        send_requests(web, server, ["<think>a</think>", "b"], exchanges)
        page.open_address(address(web))
        yield format_row(
            f"{exchanges:,} exchanges",
            page.after(WAIT_UNTIL_DRAWN, "#rows a.row", "address", exchanges),
        )
        for name, pieces in replies.items():
            send_requests(web, server, pieces)
            page.show(web)
            yield format_row(name, page.after(WAIT_UNTIL_DRAWN, ".end dl", "click", 1))
            yield format_row(f"{name}, longest picture in scrolling", page.after(SCROLL_THROUGH))


def session_rows(exchanges: int) -> Iterator[str]:
    """Yield the report's rows on how long the page's code lists so many exchanges (*sessions*)."""
    for some in (exchanges // 2, exchanges):
        with watched() as there:
            there.view.add([agent_request(number // 100, number % 100) for number in range(some)])
            whole, step = wait(time_listing(ListRows(there.view)))
        yield format_row(f"{some:,} exchanges of an agent", whole)
        yield format_row(f"{some:,} exchanges of an agent, longest step", step)


async def time_listing(rows: ListRows) -> tuple[float, float]:
    """List all exchanges; return the milliseconds of the whole, and of the longest blocking step.

    A blocking step is the work between two iterations of the event loop: no stream can run then.
    """
    rows.open()
    steps = list[float]()
    task = asyncio.create_task(rows.refresh())
    begun = last = time.perf_counter()
    while not task.done():
        await asyncio.sleep(0)
        steps.append(time.perf_counter() - last)
        last += steps[-1]
    return 1000 * (last - begun), 1000 * max(steps)


def agent_request(session: int, turns: int) -> HTTPFlow:
    """Return the flow of an agent's request. `session`: the agent's number; `turns`: how many
    earlier turns the request has.
    """
    tools = [
        {"type": "function", "function": {"name": f"tool{n}", "description": "word " * 250}}
        for n in range(70)
    ]
    messages: list[dict[str, object]] = [{"role": "user", "content": f"Mend file {session}"}]
    for turn in range(turns):
        call = {"id": f"c{turn}", "function": {"name": "tool1", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": "a line\n" * 150})
    flow = request(CHAT, {"model": "small", "tools": tools, "messages": messages})
    flow.timestamp_created = 1000.0 * session + turns
    return flow


def format_row(name: str, milliseconds: float) -> str:
    """Return a line of the report: what was measured, and its milliseconds."""
    return f"{name:54}{milliseconds:9.0f} ms"


def send_requests(web: Mitmweb, server: ByPathServer, pieces: list[str], times: int = 1) -> None:
    """Send requests through mitmweb, to each of which the server replies with these pieces."""
    server.rows[CHAT] = Says(steps=[b"".join([ROLE, *text(*pieces), *END])])
    with Client(web.port) as client:
        for _ in range(times):
            client.ask(CHAT, REQUEST)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report: all parts, or only the part that `--only` names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--frames", type=int, default=500, help="of the paced reply")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--exchanges", type=int, default=1000)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--only", default="", help="paced, fast, paint or sessions")
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
    frames, runs = chosen.frames, chosen.runs
    parts: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
        "paced": (
            HEADING,
            lambda: watching_rows("paced", Frames(frames, PACE), paced, runs, start_page),
        ),
        "fast": (
            HEADING,
            lambda: watching_rows("fast", Frames(40 * frames, 0), fast, runs, start_page),
        ),
        "paint": ("until it is drawn", lambda: painting_rows(chosen.exchanges, chosen.megabytes)),
        "sessions": ("until it is listed", lambda: session_rows(chosen.exchanges)),
    }
    for heading, lines in (part for name, part in parts.items() if chosen.only in ("", name)):
        print(heading)
        for line in lines():
            print(line, flush=True)


if __name__ == "__main__":
    main()
