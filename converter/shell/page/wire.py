"""The server's chunks and what the client got for each, with times: a golden's picture, also while
it comes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mitmproxy.http import HTTPFlow

from converter.recordings import flow_file
from converter.recordings.recording import Recording, RecordingError
from converter.shell.keep.both_sides import BothSides
from converter.shell.messages import content_of

WINDOW = 500
"""Rows that are sent at once."""


@dataclass(frozen=True, slots=True)
class WireStep:
    """A chunk that came `at` so many seconds, and what went out for it; no time for what went out
    at the end.
    """

    at: float | None
    came: bytes
    went: bytes


@dataclass(frozen=True, slots=True)
class WireTab:
    """All steps of a reply. `note`: what a reader should know of them."""

    steps: tuple[WireStep, ...]
    note: str = ""


def window(steps: Sequence[WireStep], begin: int, total: int, note: str = "") -> dict[str, object]:
    """Return for the page the first of these steps, which begin with that number of so many."""
    rows = [[step.at, _text(step.came), _text(step.went)] for step in steps[:WINDOW]]
    return {"from": begin, "total": total, "rows": rows, "note": note}


def _text(sent: bytes) -> str:
    return sent.decode(errors="backslashreplace")


def of_flow(flow: HTTPFlow) -> WireTab:
    """Return all steps of a reply that is complete.

    What went out for each chunk is in no flow: it is rewritten again, and the bytes must be those
    that the client got.
    """
    got = content_of(flow.response)
    try:
        recording = flow_file.from_flow(flow.copy(), "reply")
    except RecordingError as error:
        return WireTab((WireStep(None, got, got),), f"Only what the client got is known: {error}")
    came = int(flow.request.timestamp_start)
    return _rewritten_again(replace(recording, reply_id=flow.id, created_at=came), got)


def _rewritten_again(recording: Recording, got: bytes) -> WireTab:
    try:
        replay = recording.replayed()
    except RecordingError as error:
        whole = WireStep(None, recording.body, got)
        return WireTab((whole,), f"It cannot be rewritten again: {error}")
    steps = [WireStep(step.chunk.at, step.chunk.data, step.out) for step in replay.steps]
    steps += [WireStep(None, b"", replay.end)] if replay.end and not replay.broken else []
    other = "The client got other bytes than these, which the addon would write now."
    return WireTab(tuple(steps), "" if replay.body == got else other)


def of_running(running: BothSides, begin: int) -> list[WireStep]:
    """Return the steps of a reply that still comes, from the one with that number on."""
    got, went = running.got or b"", pairwise([0, *running.given][begin:])
    steps = zip(running.chunks[begin:], running.cuts[begin:], went, strict=False)
    return [WireStep(at, chunk, bytes(got[start:end])) for chunk, (_, at), (start, end) in steps]
