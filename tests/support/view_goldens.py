"""The text of both content views for recorded exchanges, kept for people to read. `python -m
tests.support.view_goldens bless` accepts new text.
"""

import argparse
import sys
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path

from mitmproxy import contentviews
from mitmproxy.contentviews import ContentviewResult
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader
from mitmproxy.test import taddons

from converter.extras.recordings.library import Library
from converter.extras.watch.views import Views
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "recordings"
GOLDENS = ROOT / "tests" / "extras" / "watch" / "views"
VIEWS = ("Thinking", "Thinking server")
COMMAND = "python -m tests.support.view_goldens bless"
NAMES = ROWS["names"]
"""The recordings that have a golden: one of each kind of exchange."""


def flow_of(name: str) -> HTTPFlow:
    """Return a recording as a flow, as mitmproxy loads it."""
    with Library(RECORDINGS).path(name).open("rb") as file:
        [flow] = FlowReader(file).stream()
    assert isinstance(flow, HTTPFlow)
    return flow


def shown(flow: HTTPFlow, view: str) -> list[ContentviewResult]:
    """Return mitmproxy's views of request and reply; our views must be among those offered."""
    assert flow.response
    return [
        contentviews.prettify_message(message, flow, view)
        for message in (flow.request, flow.response)
    ]


def golden(name: str) -> str:
    """Return the text that a person sees of a recording. A line that the views write as one blank
    is empty here.
    """
    flow = flow_of(name)
    parts = [
        f"======== {view}: {message}\n\n{result.text.rstrip()}\n"
        for view in VIEWS
        for message, result in zip(("request", "reply"), shown(flow, view), strict=True)
    ]
    return "\n".join(parts).replace("\n \n", "\n\n")


def path_of(name: str) -> Path:
    return GOLDENS / f"{name}.txt"


def difference(name: str) -> str:
    """Return the difference to the golden as a diff; empty if there is none."""
    path = path_of(name)
    before = path.read_text() if path.exists() else ""
    lines = unified_diff(
        before.splitlines(),
        golden(name).splitlines(),
        f"before/{path.name}",
        f"now/{path.name}",
        lineterm="",
    )
    return "\n".join(lines)


def bless() -> None:
    """Write all goldens, print the differences, and remove the goldens of no recording."""
    GOLDENS.mkdir(parents=True, exist_ok=True)
    for path in GOLDENS.glob("*.txt"):
        if path.stem not in NAMES:
            path.unlink()
    for name in NAMES:
        if new := difference(name):
            print(new)
            path_of(name).write_text(golden(name))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "tests.support.view_goldens",
        description="What both content views show of recorded exchanges.",
    )
    parser.add_argument("verb", choices=["bless"], help="accept what they show now")
    parser.parse_args(arguments)
    with taddons.context(Views()):
        bless()
    return 0


if __name__ == "__main__":
    sys.exit(main())
