"""A reply is recognised by its bytes."""

import pytest

from converter.core.dialects.recogniser import form_of
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Dialect, Form, recognise
from converter.core.wire.sse import NDJSON


@pytest.mark.parametrize(
    ("beginning", "form"),
    [
        (b"data: {}", Form.STREAM),
        (b"event: ping", Form.STREAM),
        (b": ping\n\n", Form.STREAM),
        (b"\n\ndata:", Form.STREAM),
        (b"\xef\xbb\xbfdata: {}", Form.STREAM),
        (b"id: 1\ndata: {}", Form.STREAM),
        (b"retry: 3\n\n", Form.STREAM),
        (b' {"id"', Form.WHOLE),
        (b"<html><body>", Form.WHOLE),
        (b"dat", None),
        (b"", None),
    ],
)
def test_a_stream_is_recognised_by_how_it_begins(beginning: bytes, form: Form | None) -> None:
    assert form_of(beginning) is form


def test_the_content_type_counts_where_the_bytes_do_not_say() -> None:
    assert form_of(b"garbage", "text/event-stream; charset=utf-8") is Form.STREAM
    assert form_of(b'{"id": 1}', "text/event-stream") is Form.WHOLE
    assert form_of(b"dat", last=True) is Form.WHOLE


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        ({"choices": []}, OPENAI_CHAT),
        ({"object": "chat.completion.chunk"}, OPENAI_CHAT),
        ({"error": {"message": "no"}}, OPENAI_CHAT),
        ({"type": "message", "content": []}, ANTHROPIC),
        ({"type": "message_start"}, ANTHROPIC),
        ({"type": "error", "error": {}}, ANTHROPIC),
        ({"type": "ping"}, None),
        ({"type": ["message"]}, None),
        ({"detail": "Not Found"}, None),
        ([], None),
        (None, None),
    ],
)
def test_a_dialect_is_recognised_by_its_content(body: object, dialect: Dialect | None) -> None:
    assert recognise(body) is dialect


def test_lines_of_json_are_a_stream() -> None:
    line = b'{"model":"m"}\n'
    assert form_of(line * 2) is Form.STREAM
    assert form_of(line, NDJSON.content_type) is Form.STREAM
    assert form_of(line) is Form.WHOLE
