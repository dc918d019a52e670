"""The steps of a reply that is complete: each chunk of the server's, and what went out for it."""

from collections.abc import Sequence
from dataclasses import replace

from mitmproxy.http import HTTPFlow

from converter.addon.http_messages import content_of
from converter.extras.recordings import flow_file
from converter.extras.recordings.recording import RecordingError

type WireStep = tuple[float | None, bytes, bytes]
"""A chunk: after how many seconds it came, its bytes, and what went out for it; no time for what
went out at the end.
"""


def steps_of(flow: HTTPFlow) -> tuple[Sequence[WireStep], str]:
    """Return all steps of a reply that is complete, and what a reader should know of them.

    What went out for each chunk is in no flow: it is rewritten again, and the bytes must be those
    that the client got.
    """
    got, began = content_of(flow.response), int(flow.request.timestamp_start)
    try:
        recording = flow_file.from_flow(flow.copy(), "reply")
        replay = replace(recording, reply_id=flow.id, created_at=began).replayed_as_got()
    except RecordingError as error:
        return [(None, got, got)], f"Only what the client got is known: {error}"
    steps: list[WireStep] = [(step.chunk.at, step.chunk.data, step.out) for step in replay.steps]
    steps += [(None, b"", replay.end)] if replay.end and not replay.broken else []
    other = "The client got other bytes than these, which the addon would write now."
    return steps, "" if replay.body == got else other
