"""A recording as a flow of mitmproxy."""

import uuid
from collections.abc import Mapping

from mitmproxy import connection, flow, http

from converter.observe.summary import in_words
from converter.recordings import notes
from converter.recordings.recording import Answered, RecordedRequest, Recording
from converter.recordings.redact.scrubber import HERE
from converter.recordings.replay import Replay, replayed

BEGAN = 1_700_000_000.0
"""When every recorded exchange began."""
HOST, _, PORT = HERE.partition(":")
CARRIED = {"host", "content-length", "content-encoding", "transfer-encoding", "connection"}
"""Headers that say how a message is carried: each copy of it has its own."""


def to_flow(recording: Recording, replay: Replay | None = None) -> http.HTTPFlow:
    """Return the flow of a recording, the same for the same recording. `replay`: its client's, if
    somebody made it already.
    """
    client = connection.Client(
        peername=(HOST, 0), sockname=(HOST, 0), timestamp_start=BEGAN, id=_id(recording, "client")
    )
    server = connection.Server(address=(HOST, int(PORT)), id=_id(recording, "server"))
    made = http.HTTPFlow(client, server)
    made.id, made.timestamp_created = _id(recording, "flow"), BEGAN
    times = [chunk.at for chunk in recording.chunks] or [0.0]
    if recording.ended:
        made.error = flow.Error(recording.ended, BEGAN + times[-1])
    summary = (replay or replayed(recording, recording.client)).summary.told()
    made.metadata[notes.METADATA] = notes.write(_noted(recording), summary)
    made.comment = in_words(summary) if summary.get("thoughts") else ""
    server_said = Answered(
        recording.answered.status, recording.answered.content_type, recording.body
    )
    if recording.sent != recording.asked or server_said != recording.got:
        made.request, made.response = _request(recording.sent), _response(server_said, times)
        made.backup()
    made.request, made.response = _request(recording.asked), _response(recording.got, times)
    return made


def _id(recording: Recording, what: str) -> str:
    """Return an id; flows of one name are one flow, in a viewer as well."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"think-recording:{recording.name}:{what}"))


def _noted(recording: Recording) -> notes.Notes:
    cuts = [(len(chunk.data), chunk.at) for chunk in recording.chunks]
    return notes.Notes(cuts, recording.ended, recording.options, recording.found)


def _request(request: RecordedRequest) -> http.Request:
    made = http.Request.make(
        request.method,
        f"http://{HERE}{request.path}",
        request.body,
        http.Headers(_lines({"host": HERE, **request.headers})),
    )
    made.timestamp_start = made.timestamp_end = BEGAN
    return made


def _lines(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [
        (name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in headers.items()
    ]


def _response(answered: Answered, times: list[float]) -> http.Response:
    made = http.Response.make(
        answered.status, answered.body, {"content-type": answered.content_type}
    )
    made.timestamp_start, made.timestamp_end = BEGAN + times[0], BEGAN + times[-1]
    return made
