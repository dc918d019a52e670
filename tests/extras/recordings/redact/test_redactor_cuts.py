"""Cleaning what is cut over frames, and what stands behind a byte order mark."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.table import DIALECTS, Dialect
from converter.extras.recordings.redact.redactor import redacted
from tests.support.frames import HEAD, stream
from tests.support.raw_exchanges import exchange
from tests.support.strategies import law

MARK = b"\xef\xbb\xbf"
MODEL = "/home/bob/models/m.gguf"
HOSTS = ["gpu-box.corp.example", "gpu-box.corp.example:9000", "10.1.2.3:55", "fe80::7"]
LINK = "https://mcp.example/s/PATHSECRET123/mcp"


def content_of(body: bytes) -> str:
    """All that a body says, its frames' texts joined."""
    lines = (line.removeprefix(b"data: ") for line in body.splitlines())
    frames = [json.loads(line) for line in lines if line.startswith(b"{")]
    parts = [choice["delta"] for frame in frames for choice in frame.get("choices", [])]
    parts += [frame[name] for frame in frames for name in ("delta", "message") if name in frame]
    names = ("thinking", "reasoning_content", "content", "text")
    parts = [part if isinstance(part, dict) else {"text": part} for part in parts]
    return "".join(part[name] for part in parts for name in names if part.get(name))


def uncounted(body: bytes) -> bytes:
    """A body without what is counted by the length of its texts: it may be another once a name is."""
    return re.sub(rb'"(?:thinking|reasoning)_tokens": ?\d+', b"", body)


@law(150)
@given(st.sampled_from([*HOSTS, MODEL, LINK]), st.booleans(), st.sampled_from(DIALECTS), st.data())
def test_a_host_survives_nowhere_however_it_is_cut(
    host: str, thought: bool, client: Dialect, drawn: st.DataObject
) -> None:
    text = (
        f"<think>at {host} now</think>ok" if thought else f"<think>hm</think>at {host}, and {host}"
    )
    cuts = sorted(drawn.draw(st.sets(st.integers(0, len(text)), max_size=12)) | {0, len(text)})
    frames = stream(*(text[start:end] for start, end in pairwise(cuts)))
    fields = {"model": MODEL, "mcp_servers": [{"type": "url", "url": LINK}]}
    clean = redacted(exchange(frames, client, fields=fields, hosts=HOSTS))
    assert host not in content_of(clean.body)
    assert host not in content_of(clean.client_reply.body)
    assert content_of(clean.body).startswith("<think>")
    assert (
        content_of(clean.client_reply.body)
        .replace(" ", "")
        .endswith("ok" if thought else content_of(clean.body)[-1])
    )
    assert uncounted(clean.replayed(client).body) == uncounted(clean.client_reply.body)
    assert redacted(clean) == clean


def test_a_host_in_one_frame_is_renamed_and_one_over_several_is_hidden() -> None:
    clean = redacted(exchange(stream("gpu.lan:81 ", "gpu.", "lan:81"), hosts=["gpu.lan:81"]))
    assert content_of(clean.body) == "127.0.0.1:8000 " + "x" * 10


@pytest.mark.parametrize("client", DIALECTS)
def test_ids_and_times_behind_a_byte_order_mark_are_normal(client: Dialect) -> None:
    clean = redacted(exchange([MARK + b"".join(stream("a"))], client))
    ids = {
        json.loads(line[line.index(b"{") :])["id"]
        for line in clean.body.splitlines()
        if b"{" in line
    }
    assert clean.body.startswith(MARK)
    assert (ids, b'"created": 1,' in clean.body) == ({"chatcmpl-recording"}, False)
    assert clean.replayed(client).body == clean.client_reply.body
    assert redacted(clean) == clean


def test_a_model_s_path_behind_a_byte_order_mark_is_renamed() -> None:
    body = b"".join(stream("a")).replace(
        json.dumps(HEAD["model"]).encode(), json.dumps(MODEL).encode(), 1
    )
    assert b"bob" in body
    assert b"bob" not in redacted(exchange([MARK + body])).body


@given(
    st.sampled_from(["accept", "content-type", "anthropic-version", "anthropic-beta"]),
    st.text(max_size=20),
)
def test_a_header_of_whatever_value_is_redacted_once(name: str, value: str) -> None:
    clean = redacted(exchange(headers={name: value}, hosts=["a.b"]))
    assert redacted(clean) == clean


def test_a_header_that_becomes_too_long_is_left_out() -> None:
    clean = redacted(exchange(headers={"anthropic-beta": "a.b " * 120}, hosts=["a.b"]))
    assert "anthropic-beta" not in clean.request.headers
    assert redacted(clean) == clean
