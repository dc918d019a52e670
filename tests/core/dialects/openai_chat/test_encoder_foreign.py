"""A Messages reply as a chat completion."""

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.transcript import reply
from converter.core.dialects.finish_words import meaning_of
from converter.core.dialects.openai_chat.decoder import NAME
from converter.core.dialects.openai_chat.encoder import OpenAIEncoder
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Form
from converter.core.model.events import (
    DialectBlock,
    End,
    Event,
    Finish,
    OpaqueFrame,
    Own,
    Start,
    Text,
    ToolCall,
    Usage,
)
from tests.support.frames import data
from tests.support.frames_of import values
from tests.support.native_streams import STREAMS
from tests.support.transcript_samples import calls, thought_and_answer

KIND, DONE = "chat.completion.chunk", b"data: [DONE]\n\n"


HEAD = {"id": "msg_1", "object": KIND, "created": 0, "model": "small"}


def _begun() -> OpenAIEncoder:
    chunker = OpenAIEncoder()
    list(chunker.frames([Start("msg_1", "small")], None))
    return chunker


def _choice(chunker: OpenAIEncoder, *events: Event) -> object:
    (body,) = chunker.frames(events, None)
    assert isinstance(body, dict)
    choices = body["choices"]
    assert isinstance(choices, list)
    return choices[0]


def test_a_foreign_head_says_the_role_once() -> None:
    chunker = OpenAIEncoder()
    first = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    (body,) = chunker.frames([Start("msg_1", "small")], None)
    assert body == {**HEAD, "choices": [first]}
    assert list(chunker.frames([Start("msg_1", "small")], None)) == []
    assert chunker.foreign


def test_a_head_of_its_own_goes_through_as_it_is() -> None:
    chunker = OpenAIEncoder()
    events: list[Event] = [Start("1", "small", Own(NAME, {"id": "1"})), Text("a")]
    (body,) = chunker.frames(events, None)
    assert body == {
        "id": "1",
        "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}],
    }
    assert not chunker.foreign


def test_calls_keep_the_index_that_they_were_judged_to_have() -> None:
    chunker = _begun()
    begun = {"index": 3, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}
    more = {"index": 3, "function": {"arguments": "}"}}
    for event, entry in ((ToolCall(3, "c", "f", "{"), begun), (ToolCall(3, "", "", "}"), more)):
        delta = {"tool_calls": [entry]}
        assert _choice(chunker, event) == {"index": 0, "delta": delta, "finish_reason": None}


def test_counts_have_only_the_details_that_were_reported() -> None:
    (body,) = _begun().frames([Usage(3, 4, thinking=2)], None)
    assert isinstance(body, dict)
    assert body["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "total_tokens": 7,
        "completion_tokens_details": {"reasoning_tokens": 2},
    }


def test_a_stop_string_stands_where_servers_put_it() -> None:
    finish = Finish("stop", "END")
    sent = {"index": 0, "delta": {}, "finish_reason": "stop"}
    assert _choice(_begun(), finish) == {**sent, "stop_reason": "END"}
    assert _choice(OpenAIEncoder(), finish) == {**sent, "stop_reason": "END"}  # the addon's own cut
    read = Finish("stop", "END", server_word="stop")  # the server's frame says the string itself
    assert _choice(OpenAIEncoder(), read) == sent


def test_the_end_of_a_foreign_stream_is_this_dialects() -> None:
    assert list(_begun().frames([End(Own("anthropic", raw=b"x"))], None)) == [DONE]


def test_what_cannot_be_written_is_counted_and_a_comment_is_passed_on() -> None:
    chunker = _begun()
    comment = OpaqueFrame(Own("anthropic", raw=b": ping\n\n"), comment=True)
    assert list(chunker.frames([comment], None)) == [b": ping\n\n"]
    assert chunker.notes == []
    events: list[Event] = [
        OpaqueFrame(Own("anthropic", raw=b"data: {}\n\n")),
        DialectBlock("anthropic", {"type": "content_block_start"}),
        DialectBlock("anthropic", {"type": "content_block_stop"}),
    ]
    assert list(chunker.frames(events, None)) == []
    assert chunker.notes == ["2 blocks or frames have no place in a chat completion, left out"]


pytestmark = pytest.mark.slow


def completed(body: bytes, form: Form) -> tuple[list[bytes], list[str]]:
    machine = rewriter_of(settings.read(), OPENAI_CHAT, form, form, server=ANTHROPIC)
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
    assert thought_and_answer(after)[1] == thought_and_answer(before)[1]
    assert thought_and_answer(after)[0].replace("\n", "") == thought_and_answer(before)[0]
    assert [(name, json.loads(text)) for name, text in calls(after)] == [
        (name, json.loads(text)) for name, text in calls(before)
    ]
    assert after.facts["finish"] == meaning_of(str(before.facts["finish"]))
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
    ] == [("a", '{"at":"a"}'), ("b", '{"at":"b"}')]
    assert choice.finish_reason == "tool_calls"
    assert read.usage
    assert (read.usage.prompt_tokens, read.usage.completion_tokens, read.usage.total_tokens) == (
        7,
        5,
        12,
    )


def test_the_stop_string_is_sent_where_local_servers_tell_it() -> None:
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
    reply = json.loads(b"".join(out))["choices"][0]["message"]
    assert (reply["reasoning_content"], reply["content"]) == ("deep", "Hi")


@pytest.mark.parametrize("form", Form)
def test_an_error_stays_one(form: Form) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    out, _ = completed(data(error) if form is Form.STREAM else json.dumps(error).encode(), form)
    sent = b"".join(out).removeprefix(b"data: ")
    assert json.loads(sent) == {
        "error": {"message": "busy", "type": "overloaded_error", "param": None, "code": None}
    }


def test_what_cannot_be_written_is_counted() -> None:
    out, notes = completed(
        message({"type": "redacted_thinking", "data": "AAAA"}, {"type": "text", "text": "Hi"}),
        Form.WHOLE,
    )
    assert json.loads(b"".join(out))["choices"][0]["message"]["content"] == "Hi"
    assert notes == ["1 blocks or frames have no place in a chat completion, left out"]
