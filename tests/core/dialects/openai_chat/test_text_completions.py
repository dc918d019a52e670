"""Text completions, read as chat completions: whole and streamed say the same."""

import json

import pytest

from converter.core.dialects.table import COMMON, TEXT_COMPLETIONS, Form
from converter.core.dialects.wire_form import ReplyContext
from converter.core.reading.families import FAMILIES
from converter.core.reading.reading import Reading
from converter.core.reply.rewriter import Rewriter
from converter.core.reply.stages import STAGES
from tests.support.frames import text_completion

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def body(text: str, finish: str | None, **more: object) -> bytes:
    return json.dumps(text_completion(text, finish, **more)).encode()


def rewritten(body: bytes, form: Form) -> bytes:
    rewriter = Rewriter(
        STAGES, Reading(FAMILIES), TEXT_COMPLETIONS, COMMON, form, context=ReplyContext("m")
    )
    out = b"".join(rewriter.whole(body))
    assert rewriter.failure == ""
    return out


def test_a_whole_text_is_a_message() -> None:
    sent = json.loads(rewritten(body("<think>a</think>b", "stop", usage=USAGE), Form.WHOLE))
    [choice] = sent["choices"]
    message = choice["message"]
    assert (message["role"], message["reasoning_content"], message["content"]) == (
        "assistant",
        "a",
        "b",
    )
    assert (sent["object"], choice["finish_reason"], sent["usage"]) == (
        "chat.completion",
        "stop",
        USAGE,
    )
    assert "text" not in choice


def test_a_stream_of_text_is_one_of_deltas() -> None:
    counts = json.dumps({**text_completion(""), "choices": [], "usage": USAGE}).encode()
    pieces = [*(body(word, None) for word in ("<think>", "a", "</think>", "b")), body("", "stop")]
    stream_body = b"".join(b"data: %b\n\n" % piece for piece in (*pieces, counts, b"[DONE]"))
    lines = rewritten(stream_body, Form.STREAM).split(b"\n\n")
    frames = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
    assert {frame["object"] for frame in frames} == {"chat.completion.chunk"}
    choices = [choice for frame in frames for choice in frame["choices"]]
    assert choices[0]["delta"]["role"] == "assistant"
    texts = {
        name: "".join(choice["delta"].get(name) or "" for choice in choices)
        for name in ("reasoning_content", "content")
    }
    assert texts == {"reasoning_content": "a", "content": "b"}
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["stop"]
    assert frames[-1]["usage"] == USAGE
    assert lines[-2] == b"data: [DONE]"


@pytest.mark.parametrize("body", [b'{"error": {"message": "gone"}}', b'{"content": "native"}'])
def test_what_is_no_text_is_no_reply(body: bytes) -> None:
    rewriter = Rewriter(STAGES, Reading(FAMILIES), TEXT_COMPLETIONS, COMMON, Form.WHOLE)
    rewriter.whole(body)
    assert rewriter.failure
