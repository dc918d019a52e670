"""The redaction of one recording, part by part."""

import json
from dataclasses import replace

from converter.core.dialects.table import ANTHROPIC, Form
from converter.extras.recordings.recording import RecordedReply, RecordedRequest
from converter.extras.recordings.redact.redactor import redacted
from tests.support.frames import text
from tests.support.raw_exchanges import CHAT, exchange, with_reply


def test_borders_still_cut_the_body() -> None:
    body = b"".join(text("a", "b"))
    at = body.index(b"chatcmpl-1") + len("chatcmpl-1")
    raw = exchange([body[:at], body[at:]])
    first, second = redacted(raw).chunks
    assert first.data.endswith(b'"chatcmpl-r')
    assert second.data.startswith(b'ecording", "created": 1700000000')


def test_times_are_rounded_and_never_run_backwards() -> None:
    raw = exchange([b"a", b"", b"c", b"d"])
    raw = replace(
        raw,
        chunks=tuple(
            replace(chunk, at_seconds=at)
            for chunk, at in zip(raw.chunks, [-1, 0.5, 0.12345, 2.00049], strict=True)
        ),
    )
    assert [(chunk.at_seconds, chunk.data) for chunk in redacted(raw).chunks] == [
        (0, b"a"),
        (0.5, b"c"),
        (2.0, b"d"),
    ]


def test_a_system_block_without_text_is_kept_as_it_is() -> None:
    system = [{"type": "text"}, {"type": "text", "text": "be brief"}]
    clean = redacted(exchange(fields={"system": system}))
    assert json.loads(clean.request.body)["system"] == system


def test_only_listed_headers_options_and_parts_of_the_query_are_kept() -> None:
    raw = exchange(
        headers={"accept": "*/*", "x-trace": "abc", "user-agent": "curl"},
        query="?beta=true&x=1",
        options={"start": "text", "events": "/var/e"},
    )
    clean = redacted(
        replace(raw, server_reply=RecordedReply(200, "text/event-stream; charset=utf-8; x=y"))
    )
    assert set(clean.request.headers) == {"accept", "content-type"}
    assert clean.request.path == f"{CHAT}?beta=true"
    assert clean.options == {"start": "text"}
    assert clean.server_reply.content_type == "text/event-stream; charset=utf-8"


def test_a_request_that_is_no_json_is_left_out() -> None:
    raw = exchange()
    assert redacted(replace(raw, request=replace(raw.request, body=b"{oops"))).request.body == b""


def test_claude_codes_billing_line_is_left_out() -> None:
    clean = redacted(
        exchange(
            fields={
                "system": [
                    {"type": "text", "text": "x-anthropic-billing-header: cch=1ab;\nBe nice."}
                ]
            }
        )
    )
    assert json.loads(clean.request.body)["system"] == [{"type": "text", "text": "Be nice."}]


def test_a_list_of_models_still_is_for_an_anthropic_client() -> None:
    raw = exchange([b'{"data": [{"id": "m", "created": 5}]}'], form=Form.WHOLE)
    request = RecordedRequest("GET", "/v1/models", {"x-api-key": "secret-77"}, b"")
    clean = redacted(with_reply(replace(raw, request=request, sent_request=request)))
    assert clean.request.headers == {"anthropic-version": "2023-06-01"}
    assert clean.replayed(ANTHROPIC).body == clean.client_reply.body
    assert b'"id":"m"' in clean.client_reply.body


def test_a_header_that_becomes_too_long_is_left_out() -> None:
    raw = exchange(headers={"accept": "gpu.lan," * 60}, hosts=["gpu.lan"])
    assert "accept" not in redacted(raw).request.headers
    short = exchange(headers={"accept": "gpu.lan"}, hosts=["gpu.lan"])
    assert redacted(short).request.headers["accept"] == "127.0.0.1"
