from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.table import ANTHROPIC, DIALECTS, Dialect
from converter.extras.recordings.golden import golden, visible_lines
from converter.extras.recordings.redact.redactor import redacted
from tests.support.raw_exchanges import STREAMS, exchange

EXPECTED = """\
# hello: the server's reply, and what an Anthropic client gets (stream)
# asked POST /v1/messages, sent /v1/chat/completions
# server generic, begins in text
# answered 200 text/event-stream
# options start=text, signature=mine

>> +0.010 s
 : ping

<< as it came
>> +0.022 s
 data: {"choices":[{"delta":{"content":"<thi"}}]}

<<
 event: message_start
 data: {"type":"message_start","message":{"id":"msg_recording","type":"message","role":"assistant","model":"m","content":[],\
"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}

>> +0.035 s
 data: {"choices":[{"delta":{"content":"nk>de⟨⟩
>> +0.047 s
 ep"}}]}

<<
 event: content_block_start
 data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

 event: content_block_delta
 data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"deep"}}

-- broke off: ⟨U+001B⟩[31mClient disconnected.
# the server's reply was cut short: it ended without a finish
"""
PIECES = [
    b": ping\n\n",
    b'data: {"choices":[{"delta":{"content":"<thi"}}]}\n\n',
    b'data: {"choices":[{"delta":{"content":"nk>de',
    b'ep"}}]}\n\n',
]


def test_a_golden_tells_what_came_in_and_what_went_out_and_when() -> None:
    options = {"start": "text", "signature": "mine", "tags": ["auto"]}
    recording = redacted(
        exchange(PIECES, ANTHROPIC, options=options, ended="\x1b[31mClient disconnected.")
    )
    assert golden(recording, ANTHROPIC) == EXPECTED


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("client", DIALECTS)
def test_a_golden_is_the_same_each_time(name: str, client: Dialect) -> None:
    clean = redacted(exchange(STREAMS[name]))
    assert golden(clean, client) == golden(replace(clean), client)


def test_what_nobody_sees_is_shown() -> None:
    data = "a\r\n\x1b[31m\u2028\u202e⟨b⟩ é 🧠\n".encode() + b"\xff\tx"
    assert visible_lines(data) == [
        "a⟨U+000D⟩",
        "⟨U+001B⟩[31m⟨U+2028⟩⟨U+202E⟩⟨U+27E8⟩b⟨U+27E9⟩ é 🧠",
        "⟨FF⟩⟨U+0009⟩x⟨⟩",
    ]


def unescaped(lines: list[str]) -> bytes:
    """Read what `visible_lines` wrote."""
    out = b""
    for line in lines:
        rest = line
        while rest:
            before, mark, after = rest.partition("⟨")
            code, _, rest = after.partition("⟩") if mark else ("", "", "")
            out += before.encode()
            out += (
                chr(int(code[2:], 16)).encode("utf-8", "surrogatepass")
                if code.startswith("U+")
                else bytes.fromhex(code)
            )
        out += b"" if line.endswith("⟨⟩") else b"\n"
    return out


@given(st.binary(max_size=30) | st.text(max_size=15).map(str.encode))
def test_different_bytes_are_shown_differently(data: bytes) -> None:
    assert unescaped(visible_lines(data)) == data
