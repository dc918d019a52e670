import json
from collections.abc import Iterator
from typing import Any

import pytest

from converter.core.dialects.request_settings import RequestSettings
from converter.core.dialects.table import DIALECTS
from converter.core.library import UnknownReplyError, read, rewrite, rewriter, translate
from converter.core.model.conversation import RequestError, TextBlock, ThinkingBlock, ToolUse
from converter.core.reading.families import FAMILIES
from converter.core.reading.reading import Reading
from converter.core.wire.json_text import UnreadableError
from tests.support.frames import stream, whole

REQUEST: dict[str, Any] = {
    "model": "m",
    "max_tokens": 4096,
    "stream": True,
    "messages": [{"role": "user", "content": "hi"}],
}
TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {"at": {}}}}
CALL = '<tool_call>{"name": "look", "arguments": {"at": "sky"}}</tool_call>'
BLOCKS = (ThinkingBlock("hm"), TextBlock("So"))
NAMES = [dialect.name for dialect in DIALECTS]


def request_body(**fields: Any) -> bytes:
    return json.dumps({**REQUEST, **fields}).encode()


def thought(*pieces: str) -> bytes:
    return b"".join(stream(*pieces or ("<thi", "nk>hm</think>So")))


def rewritten(chunks: list[bytes], **named: Any) -> bytes:
    return b"".join(rewrite(chunks, **named))


@pytest.mark.parametrize("client", NAMES)
@pytest.mark.parametrize("server", NAMES)
def test_every_dialect_is_rewritten_into_every_other(server: str, client: str) -> None:
    came = rewritten([thought()], client=server)
    message = read(rewritten([came], server=server, client=client))
    assert [type(block) for block in message.blocks] == [ThinkingBlock, TextBlock]
    assert (message.thinking, message.text, message.failure) == ("hm", "So", "")


def test_a_reply_comes_as_it_is_written() -> None:
    frames = thought("<think>a", "b</think>", "c").split(b"\n\n")
    pieces: list[bytes] = []
    machine = rewriter(client="anthropic")
    for frame in frames[:3]:
        pieces += machine.feed(frame + b"\n\n")
    assert b'"thinking":"a"' in b"".join(pieces)
    assert all(pieces)


def test_a_request_is_sent_to_a_server_of_chat_completions() -> None:
    request = translate(
        request_body(system="be brief", top_k=3),
        client="anthropic",
        settings=RequestSettings(history="drop"),
    )
    assert request.body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]
    assert (request.stream, request.notes) == (True, ("top_k left out: generic does not take it",))


def test_a_chat_completion_stays_as_it_is() -> None:
    assert translate(request_body(), client="openai").body == REQUEST


def test_a_reply_takes_its_form_and_its_model_from_the_request() -> None:
    request = translate(request_body(stream=False), client="anthropic")
    body = json.loads(rewritten([thought()], client="anthropic", request=request))
    assert body["model"] == "m"
    assert [block["type"] for block in body["content"]] == ["thinking", "text"]


def test_tools_of_the_request_are_called_from_text() -> None:
    request = translate(request_body(tools=[TOOL]), client="anthropic")
    called = read(rewritten([thought(CALL)], client="anthropic", request=request))
    assert [(call.name, call.input) for call in called.calls] == [("look", {"at": "sky"})]
    assert called.finish == "tool_calls"
    plain = read(rewritten([thought(CALL)], client="anthropic"))
    assert (plain.calls, plain.text) == ((), CALL)


def test_a_reply_that_breaks_off_ends_with_the_clients_error() -> None:
    def breaking() -> Iterator[bytes]:
        yield thought().partition(b'"finish_reason": "stop"')[0].rpartition(b"data: ")[0]
        raise ConnectionError("the server is gone")

    pieces: list[bytes] = []
    with pytest.raises(ConnectionError):  # noqa: PT012  # the pieces before it count
        for piece in rewrite(breaking(), client="anthropic"):
            pieces.append(piece)
    assert b"event: error" in pieces[-1]
    assert b"the server is gone" in pieces[-1]


@pytest.mark.parametrize("body", [thought(), whole("<think>hm</think>So")])
def test_a_reply_is_read_in_any_form(body: bytes) -> None:
    message = read(body)
    assert (message.blocks, message.finish, message.failure) == (BLOCKS, "stop", "")
    assert message.usage is not None


def test_a_call_of_the_servers_is_a_block_of_its_own() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    message = read(whole("So", tool_calls=[call]))
    assert message.blocks == (TextBlock("So"), ToolUse("c1", "f", '{"x": 1}'))


def test_a_reply_that_was_cut_off_says_so() -> None:
    message = read(thought().partition(b'"finish_reason": "stop"')[0])
    assert message.thinking == "hm"
    assert "cut short" in message.failure


def test_the_reading_may_be_chosen() -> None:
    none = Reading(())
    assert read(thought(), reading=none).text == "<think>hm</think>So"
    assert read(thought(), reading=Reading(FAMILIES)).blocks == BLOCKS


def test_what_is_none_is_refused_with_a_text() -> None:
    with pytest.raises(UnknownReplyError, match="expected a reply of a model server, got 'hello'"):
        read(b"hello")
    with pytest.raises(UnreadableError):
        translate(b"{", client="anthropic")
    with pytest.raises(RequestError, match="max_tokens: Field required"):
        translate(b'{"model": "m", "messages": []}', client="anthropic")
    with pytest.raises(RequestError, match="Input should be an object"):
        translate(b"[]", client="openai")
    with pytest.raises(ValueError, match=r"expected a dialect, one of openai, .*, got 'openapi'"):
        rewriter(client="openapi")
