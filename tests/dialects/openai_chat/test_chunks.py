"""A Messages reply as a chat completion."""

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from converter.dialects.anthropic.decoder import FINISHES
from converter.dialects.table import ANTHROPIC, OPENAI_CHAT, Form
from converter.exchange import settings
from converter.reply.rewriter import Rewriter
from converter.transcript import reply
from tests.support.frames import data
from tests.support.frames_of import values
from tests.support.native_streams import STREAMS
from tests.support.transcript_samples import calls, thought_and_said

pytestmark = pytest.mark.slow


def completed(body: bytes, form: Form) -> tuple[list[bytes], list[str]]:
    machine = Rewriter(settings.read(), OPENAI_CHAT, form, form, server=ANTHROPIC)
    return [*machine.feed(body), *machine.close()], machine.notes


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_says_the_same_and_the_sdk_reads_it(name: str) -> None:
    body = b"".join(map(data, STREAMS[name][0]))
    out, notes = completed(body, Form.STREAM)
    for value in values(out):
        ChatCompletionChunk.model_validate(value, strict=True)
    assert out[-1] == b"data: [DONE]\n\n"
    assert notes == []
    before, after = reply.read(body), reply.read(b"".join(out))
    assert thought_and_said(after)[1] == thought_and_said(before)[1]
    assert thought_and_said(after)[0].replace("\n", "") == thought_and_said(before)[0]
    assert [(name, json.loads(given)) for name, given in calls(after)] == [
        (name, json.loads(given)) for name, given in calls(before)
    ]
    assert after.facts["finish"] == FINISHES[str(before.facts["finish"])]
    assert after.facts["output_tokens"] == 5


def message(*content: dict[str, Any], **fields: object) -> bytes:
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "small",
        "content": content,
    }
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 4,
        "output_tokens": 5,
        "output_tokens_details": {"thinking_tokens": 2},
    }
    return json.dumps(
        {**head, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage, **fields}
    ).encode()


def test_a_whole_message_says_the_same_and_the_sdk_reads_it() -> None:
    tools = [
        {"type": "tool_use", "id": name, "name": "look", "input": {"at": name}}
        for name in ("a", "b")
    ]
    out, _ = completed(
        message(
            {"type": "thinking", "thinking": "deep", "signature": "s"},
            {"type": "text", "text": "Hi"},
            *tools,
        ),
        Form.WHOLE,
    )
    read = ChatCompletion.model_validate_json(b"".join(out), strict=True)
    (choice,) = read.choices
    assert choice.message.content == "Hi"
    assert choice.message.model_dump()["reasoning_content"] == "deep"
    assert choice.message.tool_calls
    assert [
        (call.id, call.model_dump()["function"]["arguments"]) for call in choice.message.tool_calls
    ] == [
        ("a", '{"at":"a"}'),
        ("b", '{"at":"b"}'),
    ]
    assert choice.finish_reason == "tool_calls"
    assert read.usage
    assert (read.usage.prompt_tokens, read.usage.completion_tokens, read.usage.total_tokens) == (
        7,
        5,
        12,
    )


def test_the_stop_string_is_told_where_local_servers_tell_it() -> None:
    out, _ = completed(
        message({"type": "text", "text": "Hi"}, stop_reason="stop_sequence", stop_sequence="END"),
        Form.WHOLE,
    )
    assert json.loads(b"".join(out))["choices"][0] | {"message": None} == {
        "message": None,
        "index": 0,
        "stop_reason": "END",
        "finish_reason": "stop",
    }


def test_tags_in_the_text_are_thinking() -> None:
    out, _ = completed(message({"type": "text", "text": "<think>deep</think>Hi"}), Form.WHOLE)
    said = json.loads(b"".join(out))["choices"][0]["message"]
    assert (said["reasoning_content"], said["content"]) == ("deep", "Hi")


@pytest.mark.parametrize("form", Form)
def test_an_error_stays_one(form: Form) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    out, _ = completed(data(error) if form is Form.STREAM else json.dumps(error).encode(), form)
    said = b"".join(out).removeprefix(b"data: ")
    assert json.loads(said) == {
        "error": {"message": "busy", "type": "overloaded_error", "param": None, "code": None}
    }


def test_what_has_no_place_is_counted() -> None:
    out, notes = completed(
        message({"type": "redacted_thinking", "data": "AAAA"}, {"type": "text", "text": "Hi"}),
        Form.WHOLE,
    )
    assert json.loads(b"".join(out))["choices"][0]["message"]["content"] == "Hi"
    assert notes == ["1 blocks or frames have no place in a chat completion, left out"]
