"""Cleaning: nothing secret survives, once is enough, and what comes of a reply is the same as
before.
"""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.table import ANTHROPIC, DIALECTS, Dialect, Form
from converter.core.wire.sse import FrameDecoder, write_frame
from converter.extras.recordings import flow_file
from converter.extras.recordings.recording import Chunk, RecordedRequest, Recording, RecordingError
from converter.extras.recordings.redact.redactor import redacted
from tests.extras.recordings.conftest import ECHO, PLANTED, Capture
from tests.support.frames import data, stream, whole
from tests.support.native_streams import STREAMS as NATIVE_STREAMS
from tests.support.raw_exchanges import CHAT, JSON, SSE, STREAMS, WHOLE, exchange, with_reply
from tests.support.strategies import law

pytestmark = pytest.mark.slow

SECRET = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=6, max_size=24
).map(lambda text: f"{text}7Q")


def all_bytes(recording: Recording) -> bytes:
    """All that is in a recording, and its file."""
    requests = [recording.request.body, recording.sent_request.body]
    bodies = [*requests, recording.body, recording.client_reply.body]
    return b"\n".join(
        [*bodies, repr(replace(recording, chunks=())).encode(), flow_file.dumps(recording)]
    )


@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize("name", STREAMS)
def test_what_comes_of_a_redacted_reply_is_the_redacted_reply(name: str, client: Dialect) -> None:
    raw = exchange(STREAMS[name], client)
    clean = redacted(raw)
    assert clean != raw
    assert clean.replayed(client).body == clean.client_reply.body
    assert redacted(clean) == clean
    assert [len(chunk.data) > 0 for chunk in clean.chunks] == [True] * len(raw.chunks)


@pytest.mark.parametrize("client", DIALECTS)
def test_the_same_of_a_whole_reply(client: Dialect) -> None:
    clean = redacted(exchange(WHOLE, client, Form.WHOLE))
    assert clean.replayed(client).body == clean.client_reply.body
    assert json.loads(clean.body)["id"] == "chatcmpl-recording"


@pytest.mark.parametrize("name", NATIVE_STREAMS)
def test_the_same_of_a_server_s_own_messages(name: str) -> None:
    frames = [
        write_frame(json.dumps(event).encode(), event["type"]) for event in NATIVE_STREAMS[name][0]
    ]
    clean = redacted(exchange(frames, ANTHROPIC, options={"native": ["messages"]}))
    assert clean.replayed(ANTHROPIC).body == clean.client_reply.body
    assert redacted(clean) == clean


def test_the_same_of_real_replies(capture: Capture) -> None:
    recordings = list(flow_file.read_all(capture.file))
    assert len(recordings) == 8
    for raw in recordings:
        clean = redacted(raw)
        assert redacted(clean) == clean
        for client in raw.dialects:
            if client is raw.client:
                assert clean.replayed_as_received().body == clean.client_reply.body
            with_other = redacted(
                replace(raw, client_reply=replace(raw.client_reply, body=raw.replayed(client).body))
            )
            assert with_other.client_reply.body == clean.replayed(client).body


def test_no_planted_secret_is_in_a_real_recording(capture: Capture) -> None:
    ports = [address.rpartition(":")[2].encode() for address in capture.addresses]
    assert all(word in capture.file.read_bytes() for word in [*PLANTED, *ports])
    for raw in flow_file.read_all(capture.file):
        kept = all_bytes(redacted(raw))
        assert [word for word in [*PLANTED, *ports] if word in kept] == []


def test_a_secret_that_the_server_says_is_hidden_even_when_it_is_cut(capture: Capture) -> None:
    echo = list(flow_file.read_all(capture.file))[-1]
    hidden = {secret: "x" * len(secret) for secret in map(bytes.decode, PLANTED)}
    text = ECHO
    for secret, masked in hidden.items():
        text = text.replace(secret, masked)
    got = "".join(
        json.loads(frame.data or b"{}").get("delta", {}).get("text", "")
        for frame in FrameDecoder().feed(redacted(echo).client_reply.body)
    )
    assert got == text


FIELDS = [
    "authorization",
    "x-api-key",
    "cookie",
    "x-unknown",
    "query",
    "user",
    "metadata",
    "mcp_servers",
    "mcp_url",
    "file",
    "image",
]


def planted(secret: str, field: str) -> Recording:
    """A raw recording with a secret in this place of its request."""
    raw = exchange(STREAMS["pings in between"])
    headers, path, body = dict(raw.request.headers), CHAT, json.loads(raw.request.body)
    match field:
        case "authorization":
            headers[field] = f"Bearer {secret}"
        case "cookie":
            headers[field] = f"a=b; c={secret.replace(';', '_')}"
        case "x-api-key" | "x-unknown":
            headers[field] = secret
        case "query":
            path += "?beta=true&k=" + "".join(f"%{byte:02X}" for byte in secret.encode())
        case "image":
            link = "https://h.example/a.png?k=" + "".join(
                f"%{byte:02X}" for byte in secret.encode()
            )
            body["messages"][0]["content"] = [{"type": "image_url", "image_url": {"url": link}}]
        case "mcp_url":
            link = (
                "https://mcp.example/s/"
                + "".join(f"%{byte:02X}" for byte in secret.encode())
                + "/mcp"
            )
            body["mcp_servers"] = [{"type": "url", "url": link}]
        case "file":
            body["messages"][0]["content"] = [{"type": "file", "file": {"id": secret}}]
        case _:
            body[field] = {"deep": [secret]}
    request = RecordedRequest("POST", path, headers, json.dumps(body).encode())
    return replace(raw, request=request, sent_request=request)


@law(150)
@given(SECRET, st.sampled_from(FIELDS), st.data())
def test_a_secret_survives_nowhere(secret: str, field: str, drawn: st.DataObject) -> None:
    secret = secret.replace(";", "_") if field == "cookie" else secret
    cut = drawn.draw(st.integers(0, len(secret)))
    body = b"".join(stream(f"<think>{secret}</think>", secret[:cut], secret[cut:]))
    body += (
        b": "
        + secret.encode()
        + b"\n\n"
        + data({"error": {"message": f"bad key {secret}", secret: 1}})
    )
    cuts = sorted(drawn.draw(st.sets(st.integers(0, len(body)), max_size=5)) | {0, len(body)})
    chunks = tuple(Chunk(0.1, body[start:end]) for start, end in pairwise(cuts))
    raw = with_reply(replace(planted(secret, field), chunks=chunks, abort_reason=f"lost {secret}"))
    clean = redacted(raw)
    kept = all_bytes(clean)
    assert secret.encode() not in kept
    assert json.dumps(secret)[1:-1].encode() not in kept
    assert redacted(clean) == clean
    assert len(clean.chunks) <= len(chunks)
    for frame in FrameDecoder().feed(clean.body):
        assert frame.data is None or frame.data == b"[DONE]" or json.loads(frame.data)


@given(
    st.lists(st.binary(max_size=60), max_size=5),
    st.sampled_from([SSE, JSON]),
    st.sampled_from(DIALECTS),
)
def test_whatever_a_server_sends_is_redacted_once(
    pieces: list[bytes], kind: str, client: Dialect
) -> None:
    raw = exchange(pieces, client, Form.STREAM if kind == SSE else Form.WHOLE)
    clean = redacted(raw)
    assert redacted(clean) == clean
    assert clean.body == raw.body or b"{" in raw.body or b"[" in raw.body


@given(
    st.recursive(
        st.none() | st.text(max_size=5) | st.floats() | st.integers(),
        lambda inner: st.lists(inner, max_size=3),
    )
)
def test_whatever_a_client_asks_is_redacted_once(content: object) -> None:
    clean = redacted(exchange(fields={"stop": content, "seed": content}))
    assert redacted(clean) == clean


def test_hosts_prefixes_and_paths_of_models_are_left_behind() -> None:
    raw = exchange(
        [whole("x").replace(b"small", b"/home/bob/m.gguf")],
        form=Form.WHOLE,
        fields={"model": "/home/bob/m.gguf"},
        hosts=["gpu.lan:81"],
    )
    raw = replace(
        raw,
        request=replace(raw.request, path=f"/tenant-7/llm{CHAT}"),
        abort_reason="no gpu.lan:81, no 10.0.0.9",
    )
    clean = redacted(raw)
    assert (clean.request.path, clean.abort_reason, clean.hosts) == (
        CHAT,
        "no 127.0.0.1:8000, no 127.0.0.1",
        frozenset(),
    )
    assert [
        json.loads(body)["model"]
        for body in (clean.request.body, clean.body, clean.client_reply.body)
    ] == ["m.gguf"] * 3
    assert b"bob" not in all_bytes(clean)


@pytest.mark.parametrize(
    ("prefix", "text", "kept"),
    [
        ("/tenant-4711", "asked of tenant-4711", "asked of xxxxxxxxxxx"),
        ("/production", "our production line", "our production line"),
    ],
    ids=["a name with digits is a secret", "a plain word is none"],
)
def test_a_part_of_the_path_is_looked_for_in_the_reply(prefix: str, text: str, kept: str) -> None:
    raw = exchange([whole(text)], form=Form.WHOLE)
    clean = redacted(replace(raw, request=replace(raw.request, path=f"{prefix}{CHAT}")))
    assert json.loads(clean.body)["choices"][0]["message"]["content"] == kept
    assert clean.request.path == CHAT


def test_the_endpoint_stays_whatever_was_left_out() -> None:
    clean = redacted(exchange(headers={"x-original-uri": CHAT}, query="?a=completions"))
    assert clean.request.path == CHAT
    assert redacted(clean) == clean


def test_what_the_addon_does_not_act_on_is_no_recording() -> None:
    raw = exchange()
    with pytest.raises(RecordingError, match="no request that the addon acts on"):
        redacted(replace(raw, request=replace(raw.request, path="/favicon.ico")))
