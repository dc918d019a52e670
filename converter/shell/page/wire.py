"""The server's chunks and what the client got for each, with times: a golden's picture, also while
it comes.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from mitmproxy.http import HTTPFlow

from converter.recordings import flow_file
from converter.recordings.recording import RecordingError
from converter.shell.keep.both_sides import BothSides
from converter.shell.messages import content_of

WINDOW = 500
"""Rows that are sent at once."""


type WireStep = tuple[float | None, bytes, bytes]
"""A chunk: after how many seconds it came, its bytes, and what went out for it; no time for what
went out at the end.
"""


def window(steps: Sequence[WireStep], begin: int, total: int, note: str = "") -> dict[str, object]:
    """Return for the page the first of these steps, which begin with that number of so many."""
    rows = [[at, _text(came), _text(went)] for at, came, went in steps[:WINDOW]]
    return {"from": begin, "total": total, "rows": rows, "note": note}


def _text(sent: bytes) -> str:
    return sent.decode(errors="backslashreplace")


def of_flow(flow: HTTPFlow) -> tuple[Sequence[WireStep], str]:
    """Return all steps of a reply that is complete, and what a reader should know of them.

    What went out for each chunk is in no flow: it is rewritten again, and the bytes must be those
    that the client got.
    """
    got, began = content_of(flow.response), int(flow.request.timestamp_start)
    try:
        recording = flow_file.from_flow(flow.copy(), "reply")
        replay = replace(recording, reply_id=flow.id, created_at=began).replayed()
    except RecordingError as error:
        return [(None, got, got)], f"Only what the client got is known: {error}"
    steps: list[WireStep] = [(step.chunk.at, step.chunk.data, step.out) for step in replay.steps]
    steps += [(None, b"", replay.end)] if replay.end and not replay.broken else []
    other = "The client got other bytes than these, which the addon would write now."
    return steps, "" if replay.body == got else other


def of_running(running: BothSides, begin: int) -> list[WireStep]:
    """Return the steps of a reply that still comes, from the one with that number on."""
    got, went = running.got or b"", pairwise([0, *running.given][begin:])
    steps = zip(running.chunks[begin:], running.cuts[begin:], went, strict=False)
    return [(at, chunk, bytes(got[start:end])) for chunk, (_, at), (start, end) in steps]
