"""The recordings: real replies of real servers, as mitmproxy keeps a flow. `tests/capture.py` made them."""

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # mitmproxy's filters use old names of pyparsing's
    from mitmproxy import http, io

FOLDER = Path(__file__).resolve().parent.parent / "recordings"


@dataclass(frozen=True)
class Recording:
    """One exchange: what was asked, and the server's own answer."""

    name: str
    asked: dict[str, Any]
    status: int
    body: bytes
    streamed: bool


def names(form: str = "") -> list[str]:
    """All recordings, or those of replies sent as a "stream" or "whole"."""
    return sorted(path.stem for path in FOLDER.glob(f"*{form}.mitm"))


def load(name: str) -> Recording:
    with (FOLDER / f"{name}.mitm").open("rb") as file:
        (flow,) = io.FlowReader(file).stream()
    assert isinstance(flow, http.HTTPFlow)
    assert flow.response
    streamed = flow.response.headers.get("content-type", "").startswith("text/event-stream")
    body = flow.response.get_content() or b""
    return Recording(name, json.loads(flow.request.get_content() or b""), flow.response.status_code, body, streamed)
