"""A recording as a flow of mitmproxy."""

import io
from dataclasses import replace

from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

from converter.core.dialects.table import ANTHROPIC
from converter.extras.recordings import flow_file
from converter.extras.recordings.redact.redactor import redacted
from tests.support.raw_exchanges import exchange

CLEAN = redacted(exchange())


def test_mitmproxy_shows_the_client_s_side_and_reverts_to_the_server_s() -> None:
    clean = redacted(exchange(client=ANTHROPIC))
    (flow,) = FlowReader(io.BytesIO(flow_file.dumps(clean))).stream()
    assert isinstance(flow, HTTPFlow)
    assert flow.response
    assert (flow.request.path, flow.response.content, flow.comment) == (
        "/v1/messages",
        clean.client_reply.body,
        "1 thought, 4 chars",
    )
    assert flow.modified()
    flow.revert()
    assert (flow.request.path, flow.response.content) == ("/v1/chat/completions", clean.body)


def test_recordings_of_two_names_are_two_flows_in_a_viewer() -> None:
    assert (
        flow_file.to_flow(CLEAN).id
        == flow_file.to_flow(CLEAN).id
        != flow_file.to_flow(replace(CLEAN, name="other")).id
    )
