"""Turns flows of mitmproxy into recordings (`from_flow`), and recordings into flows (`to_flow`).
Reads and writes mitmproxy's flow files (`load`, `read_all`, `dumps`).

A recording's file has one flow, and opens in mitmweb and mitmproxy. Nothing is redacted here.

A flow has the client's request and reply. The flow's backup, which mitmproxy's *Revert* restores,
has the request to the server and the server's reply; there is no backup if both are the same. The
flow's metadata has the notes (`converter.addon.keep.notes`), as JSON: the lengths and times of the
server's chunks, and the facts by which the reply is read.
"""

import io
import uuid
import warnings
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

# mitmproxy's filters use deprecated names of pyparsing: this import would print warnings.
with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    from mitmproxy import connection, exceptions, flow, http
    from mitmproxy.io import FlowReader, FlowWriter

from converter.addon.keep.notes import METADATA, NotesError, read_notes, write_notes
from converter.addon.redact.scrubber import HERE
from converter.core.reply.summary import describe_thinking
from converter.extras.recordings.recording import (
    Chunk,
    RecordedReply,
    RecordedRequest,
    Recording,
    RecordingError,
)

BEGAN = 1_700_000_000.0
"""The time at which every recorded exchange began, so that recordings hold no real time."""
HOST, _, PORT = HERE.partition(":")
TRANSFER_HEADERS = {"host", "content-length", "content-encoding", "transfer-encoding", "connection"}
"""Headers that describe one transfer of a message. A recording leaves them out, because a message
that is sent again gets new ones.
"""
_NO_FLOWS = "expected a flow file, as `mitmdump -w FILE` writes it, got another or a damaged one"
"""The error for a file that is no flow file."""
_FOREIGN = "was captured without the addon, so the server's own bytes are missing"
"""The end of the error for a flow that has no notes of the addon."""


def load(path: Path) -> Recording:
    """Return the recording in a file. Raises RecordingError unless the file has exactly one."""
    recordings = read_all(path)
    if len(recordings) != 1:
        raise RecordingError(f"{path}: {len(recordings)} recordings, where one is expected")
    return recordings[0]


def read_all(path: Path, name: str = "") -> list[Recording]:
    """Return a recording for each of a file's flows that passed through the addon. Each recording
    has the name `name`, by default the file's name. Raises RecordingError if there is no such flow.
    """
    try:
        return recordings_in(path.read_bytes(), name or path.stem)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None
    except RecordingError as error:
        raise RecordingError(f"{path}: {error}") from None


def recordings_in(data: bytes, name: str) -> list[Recording]:
    """Return a recording for each readable flow in a flow file's bytes. If no flow is readable,
    raise RecordingError with the reason for one of them: the first flow that passed through the
    addon, or the first of all if none did. Bytes without any flow raise RecordingError too.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            flows = list(FlowReader(io.BytesIO(data)).stream())
    except exceptions.FlowReadException as error:
        newer = "flow format" in str(error)
        raise RecordingError(str(error) if newer else _NO_FLOWS) from None
    except Exception as error:  # mitmproxy checks no values of a flow, so any error may come.
        raise RecordingError(f"damaged: {type(error).__name__} in what should be a flow") from None
    recordings, errors = [], []
    for kept in [each for each in flows if METADATA in each.metadata] or flows:
        try:
            recordings.append(from_flow(kept, name))
        except RecordingError as error:
            errors.append(error)
    if not recordings:
        raise errors[0] if errors else RecordingError(_NO_FLOWS)
    return recordings


def from_flow(kept: flow.Flow, name: str) -> Recording:
    """Return the recording of a flow. Raises RecordingError for a flow that is no HTTP flow, did
    not pass through the addon (it lacks `METADATA`), has no reply, or is damaged. It is damaged,
    for example, if the lengths of the chunks do not add up to the length of the server's reply.
    """
    if not isinstance(kept, http.HTTPFlow):
        raise RecordingError(f"a {kept.type} flow is no exchange with a model")
    if METADATA not in kept.metadata:
        raise RecordingError(f"the flow {_FOREIGN}")
    try:
        cuts, ended, options, facts = read_notes(kept.metadata[METADATA])
    except NotesError as error:
        raise RecordingError(str(error)) from None
    server: http.HTTPFlow = kept.copy()
    try:
        server.revert()
    except Exception as error:  # mitmproxy checks no values of a backup, so any error may come.
        raise RecordingError(f"damaged: {type(error).__name__} in the flow's backup") from None
    if kept.response is None or server.response is None:
        raise RecordingError(
            f"the server gave no reply: {kept.error.msg if kept.error else 'there is none'}"
        )
    answered, got = _recorded_reply(server.response), _recorded_reply(kept.response)
    ends = list(accumulate((length for length, _ in cuts), initial=0))
    if ends[-1] != len(answered.body):
        raise RecordingError(
            f"the server's reply is of {len(answered.body)} bytes, but its chunks are {ends[-1]}"
        )
    chunks = tuple(
        Chunk(at, answered.body[start:end])
        for (_, at), (start, end) in zip(cuts, pairwise(ends), strict=True)
    )
    return Recording(
        name,
        request=_recorded_request(kept.request),
        sent_request=_recorded_request(server.request),
        server_reply=replace(answered, body=b""),
        chunks=chunks,
        client_reply=got,
        options=options,
        facts=facts,
        abort_reason=ended,
        hosts=_hosts_of_flow(kept, server.request),
        flow_id=kept.id,
    )


def _recorded_request(request: http.Request) -> RecordedRequest:
    """Return a request of mitmproxy as a recording has it: decompressed, without
    `TRANSFER_HEADERS`.
    """
    headers = {
        name.lower(): value
        for name, value in request.headers.items()
        if name.lower() not in TRANSFER_HEADERS
    }
    return RecordedRequest(request.method, request.path, headers, _body(request))


def _recorded_reply(reply: http.Response) -> RecordedReply:
    """Return a response of mitmproxy as a recording has it: status, content type, decompressed
    body.
    """
    return RecordedReply(reply.status_code, reply.headers.get("content-type", ""), _body(reply))


def _body(message: http.Message) -> bytes:
    """Return a message's body, decompressed if possible."""
    try:
        return message.get_content() or b""
    except ValueError:
        return message.raw_content or b""  # Compressed in an unknown way, or damaged.


def _hosts_of_flow(kept: http.HTTPFlow, sent: http.Request) -> frozenset[str]:
    """Return the host names and addresses of a flow's client, proxy and server, each alone and with
    its port: the redaction hides them. `sent`: the request to the server. The address that stands
    in all recordings, `HERE`, is left out.
    """
    addresses = {(request.host, request.port) for request in (kept.request, sent)}
    client, server = kept.client_conn, kept.server_conn
    ends = (client.peername, client.sockname, server.address, server.peername, server.sockname)
    addresses |= {address[:2] for address in ends if address}
    names = {name for host, port in addresses for name in (host, f"{host}:{port}")}
    for request in (kept.request, sent):
        names |= {request.pretty_host, request.host_header or ""}
    return frozenset(names - {"", HERE, HOST, f"{HOST}:0"})


def dumps(recording: Recording) -> bytes:
    """Return the bytes of a recording's file."""
    out = io.BytesIO()
    FlowWriter(out).add(to_flow(recording))
    return out.getvalue()


def to_flow(recording: Recording, began: float = BEGAN) -> http.HTTPFlow:
    """Return a recording as a flow that began at the time `began`. Equal recordings give equal
    flows, with the same ids and times.
    """
    client = connection.Client(
        peername=(HOST, 0),
        sockname=(HOST, 0),
        timestamp_start=began,
        id=_id_for(recording, "client"),
    )
    server = connection.Server(address=(HOST, int(PORT)), id=_id_for(recording, "server"))
    kept = http.HTTPFlow(client, server)
    kept.id, kept.timestamp_created = _id_for(recording, "flow"), began
    times = [began + chunk.at_seconds for chunk in recording.chunks] or [began]
    if recording.abort_reason:
        kept.error = flow.Error(recording.abort_reason, times[-1])
    summary = recording.replayed().summary.values()
    cuts = [(len(chunk.data), chunk.at_seconds) for chunk in recording.chunks]
    noted = cuts, recording.abort_reason, recording.options, recording.facts
    kept.metadata[METADATA] = write_notes(noted, summary)
    kept.comment = describe_thinking(summary) if summary.get("thoughts") else ""
    answered = replace(recording.server_reply, body=recording.body)
    if (recording.sent_request, answered) != (recording.request, recording.client_reply):
        kept.request = _request_of(recording.sent_request, began)
        kept.response = _response_of(answered, times)
        kept.backup()
    kept.request = _request_of(recording.request, began)
    kept.response = _response_of(recording.client_reply, times)
    return kept


def _id_for(recording: Recording, what: str) -> str:
    """Return an id for a recording's flow or connection; `what` is `flow`, `client` or `server`.
    The id depends only on the recording's name, so that mitmweb shows a recording once even if it
    is loaded twice.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"think-recording:{recording.name}:{what}"))


def _request_of(request: RecordedRequest, began: float) -> http.Request:
    """Return a recorded request as a request of mitmproxy, sent at the time `began`."""
    headers = [
        (name.encode(), value.encode("utf-8", "surrogateescape"))
        for name, value in {"host": HERE, **request.headers}.items()
    ]
    url = f"http://{HERE}{request.path}"
    rebuilt = http.Request.make(request.method, url, request.body, headers)
    rebuilt.timestamp_start = rebuilt.timestamp_end = began
    return rebuilt


def _response_of(answered: RecordedReply, times: list[float]) -> http.Response:
    """Return a recorded reply as a response of mitmproxy. `times`: when its chunks came, in seconds
    since 1970.
    """
    rebuilt = http.Response.make(
        answered.status, answered.body, {"content-type": answered.content_type}
    )
    rebuilt.timestamp_start, rebuilt.timestamp_end = times[0], times[-1]
    return rebuilt
