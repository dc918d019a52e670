"""Ollama's lines, read plainly."""

import json

import pytest

from converter.core.dialects.table import OLLAMA, Form
from laws.ollama_words import as_events, as_lines, as_message, fold, unfold
from laws.server_words import listen

HEAD = {"model": "m", "created_at": "2026-01-01T00:00:00.000000000Z"}
CALL = {"id": "call_1", "function": {"index": 0, "name": "look", "arguments": {"at": "sky"}}}
END = {"done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 5}


def line(**said: object) -> dict[str, object]:
    return {**HEAD, "message": {"role": "assistant", "content": "", **said}, "done": False}


LINES = [line(thinking="h"), line(thinking="m"), line(content="So"), line(tool_calls=[CALL])]
LAST = {**line(), **END}
STREAM = b"".join(json.dumps(each).encode() + b"\n" for each in [*LINES, LAST])


def test_a_stream_says_what_its_lines_say() -> None:
    words = listen(STREAM, Form.STREAM, OLLAMA)
    heard = words.choice()
    assert (heard.joined("thinking"), heard.joined("text")) == ("hm", "So")
    assert [call["name"] for call in heard.calls.values()] == ["look"]
    assert (heard.finish, words.complete) == ("tool_calls", True)
    assert words.usage == {"input_tokens": 3, "output_tokens": 5}


def test_a_client_has_a_message_in_the_end() -> None:
    message = as_message(STREAM, Form.STREAM)
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert (message["stop_reason"], message["words"]) == ("tool_use", "hmSo")
    whole = as_message(json.dumps(fold([*LINES, LAST])).encode(), Form.WHOLE)
    assert {**whole, "words": "hmSo"} == message


@pytest.mark.parametrize("lines", [LINES, [LAST, LAST], [{"error": "no"}, LAST]])
def test_a_stream_has_one_end(lines: list[dict[str, object]]) -> None:
    body = b"\n".join(json.dumps(each).encode() for each in lines)
    with pytest.raises(AssertionError, match="end"):
        as_message(body, Form.STREAM)


def test_an_error_stands_beside_what_was_said() -> None:
    body = b"".join(json.dumps(each).encode() + b"\n" for each in (LINES[2], {"error": "no"}))
    message = as_message(body, Form.STREAM)
    assert (message["content"][0]["text"], message["error"]["message"]) == ("So", "no")
    assert "content" not in as_message(b'{"error": "no"}', Form.WHOLE)


def test_a_reply_taken_apart_says_the_same() -> None:
    whole = fold([*LINES, LAST])
    lines = list(unfold(whole, list))
    assert fold(lines) == whole
    assert as_lines(as_events(STREAM)) == STREAM
