"""Flow files to recordings and back, on captures of the addon itself and on damaged files."""

import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowWriter, tnetstring
from mitmproxy.test import tflow

from converter.core.dialects.table import ANTHROPIC, DIALECTS, Dialect, Form
from converter.extras.recordings import flow_file
from converter.extras.recordings.recording import Recording, RecordingError
from converter.extras.recordings.redact.redactor import redacted
from tests.extras.recordings.conftest import Capture
from tests.support.raw_exchanges import STREAMS, WHOLE, exchange

pytestmark = pytest.mark.slow

CLEAN = redacted(exchange())
FILE = flow_file.dumps(CLEAN)


def saved(*flows: Flow) -> bytes:
    file = io.BytesIO()
    for flow in flows:
        FlowWriter(file).add(flow)
    return file.getvalue()


def changed(change: Callable[[HTTPFlow], object]) -> bytes:
    flow = flow_file.to_flow(CLEAN)
    change(flow)
    return saved(flow)


def loads(data: bytes, name: str) -> Recording:
    (recording,) = flow_file.recordings_in(data, name)
    return recording


@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize("name", STREAMS)
def test_what_was_saved_is_loaded_and_saved_again_is_the_same_bytes(
    name: str, client: Dialect, tmp_path: Path
) -> None:
    clean = redacted(exchange(STREAMS[name], client, name="hello"))
    path, data = tmp_path / "hello.mitm", flow_file.dumps(clean)
    path.write_bytes(data)
    assert flow_file.load(path) == loads(data, "hello") == clean
    assert flow_file.dumps(flow_file.load(path)) == data


@pytest.mark.parametrize(
    "recording",
    [exchange(WHOLE, ANTHROPIC, Form.WHOLE), exchange(ended="Client disconnected."), exchange([])],
)
def test_whole_and_broken_and_empty_replies_come_back(recording: Recording) -> None:
    clean = redacted(recording)
    assert loads(flow_file.dumps(clean), clean.name) == clean


def test_a_capture_has_its_clients_requests_and_servers(capture: Capture) -> None:
    recordings = list(flow_file.read_all(capture.file))
    assert [recording.client.name for recording in recordings] == ["openai"] * 2 + [
        "anthropic"
    ] * 3 + ["openai"] * 2 + ["anthropic"]
    reasons = [recording.abort_reason for recording in recordings]
    assert reasons == [""] * 6 + ["Client disconnected.", ""]
    assert {recording.sent_request.path.partition("?")[0] for recording in recordings} == {
        "/v1/chat/completions"
    }
    assert all(
        address.removeprefix("http://") in {*recordings[0].hosts, *recordings[-1].hosts}
        for address in capture.addresses
    )


def newer() -> bytes:
    return tnetstring.dumps({**tnetstring.loads(FILE), "version": 999})  # type: ignore[dict-item]


def note(text: str) -> bytes:
    return changed(lambda flow: flow.metadata.update(think=text))


def _without_a_reply(flow: HTTPFlow) -> None:
    flow._backup = None
    flow.response = None


DAMAGED = {
    "empty": (b"", "expected a flow file"),
    "cut short": (FILE[:-100], "damaged"),
    "a HAR of nothing": (b'\xef\xbb\xbf{"log": {"entries": []}}', "expected a flow file"),
    "JSON": (b'{"a": 1}', "expected a flow file"),
    "a picture": (b"\x89PNG\r\n", "expected a flow file"),
    "text": (b"12 monkeys", "expected a flow file"),
    "no flow": (b"5:hello,", "got another or a damaged one"),
    "a flow of nothing": (b"0:}", "got another or a damaged one"),
    "a flow without its parts": (
        tnetstring.dumps({"version": 21, "type": "http"}),
        "damaged: KeyError",
    ),
    "trailing rubbish": (FILE + b"rubbish", "got another or a damaged one"),
    "of a newer mitmproxy": (newer(), "flow format version 999"),
    "without our data": (saved(tflow.tflow(resp=True)), "captured without the addon"),
    "several without our data": (
        saved(tflow.tflow(resp=True), tflow.tflow()),
        "captured without the addon",
    ),
    "a TCP flow": (saved(tflow.ttcpflow()), "a tcp flow is no exchange"),
    "a DNS flow": (saved(tflow.tdnsflow(resp=True)), "a dns flow is no exchange"),
    "two recordings": (FILE * 2, "2 recordings, where one is expected"),
    "notes of a newer addon": (note('{"version": 2}'), "another version of the addon"),
    "notes that lack all": (note('{"version": 1, "replayed": true}'), "cannot be read"),
    "notes cut short": (note("{"), "cannot be read"),
    "another body": (
        changed(lambda flow: flow._backup["response"].update(content=b"x")),  # type: ignore[index]
        "but its chunks are",
    ),
    "a damaged backup": (
        changed(lambda flow: flow._backup.pop("request")),  # type: ignore[union-attr]
        "damaged: KeyError in the flow's backup",
    ),
    "no reply": (changed(_without_a_reply), "the server gave no reply"),
}


@pytest.mark.parametrize(("data", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_is_no_recording_says_why_in_one_line(
    data: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.mitm"
    path.write_bytes(data)
    with pytest.raises(RecordingError, match=message) as error:
        flow_file.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@given(st.integers(0, len(FILE) - 1), st.binary(min_size=1, max_size=3), st.booleans())
def test_damage_anywhere_is_an_error_of_ours_or_none(offset: int, damage: bytes, cut: bool) -> None:
    data = FILE[:offset] + damage + (b"" if cut else FILE[offset + len(damage) :])
    with suppress(RecordingError):
        assert isinstance(loads(data, "hello"), Recording)
