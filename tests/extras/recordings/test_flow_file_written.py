"""A recording as a flow of mitmproxy."""

import io
import json
from dataclasses import replace

from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

from converter.core.dialects.table import ANTHROPIC
from converter.extras.recordings import flow_file
from converter.extras.recordings.redact.redactor import redacted
from tests.support.raw_exchanges import STREAMS, exchange

CLEAN = redacted(exchange())


def test_mitmproxy_shows_the_client_s_side_and_reverts_to_the_server_s() -> None:
    clean = redacted(exchange(client=ANTHROPIC))
    (flow,) = FlowReader(io.BytesIO(flow_file.dumps(clean))).stream()
    assert isinstance(flow, HTTPFlow)
    assert flow.response
    assert (flow.request.path, flow.response.content, flow.comment) == (
        "/v1/messages",
        clean.got.body,
        "1 thought, 4 chars",
    )
    assert flow.modified()
    flow.revert()
    assert (flow.request.path, flow.response.content) == ("/v1/chat/completions", clean.body)


def test_a_reply_that_was_not_changed_has_nothing_to_revert_to() -> None:
    assert not flow_file.to_flow(redacted(exchange(STREAMS["no usage at all"]))).modified()


def test_recordings_of_two_names_are_two_flows_in_a_viewer() -> None:
    assert (
        flow_file.to_flow(CLEAN).id
        == flow_file.to_flow(CLEAN).id
        != flow_file.to_flow(replace(CLEAN, name="other")).id
    )


def test_a_flow_s_summary_is_told_again() -> None:
    summary = json.loads(flow_file.to_flow(CLEAN).metadata["think"])["summary"]
    assert (summary["thoughts"], summary["thinking"], summary["text"], summary["end"]) == (
        1,
        4,
        5,
        CLEAN.chunks[-1].at,
    )
