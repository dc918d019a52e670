"""One exchange, values in and values out: what each kind of client gets for whatever the server
sent.
"""

import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.exchange import read_request, settings
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import JSON, MEMORY_AWAY, Answer, Exchange, begin
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.servers.profiles import by_name
from converter.core.dialects.dialect import Endpoint, OwnRequest
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Dialect
from converter.core.model.conversation import RequestError
from converter.core.model.memory import AwayError, Memory
from converter.core.reply.reply_end import CUT_SHORT
from laws import sdk_reading
from laws.strict_reader import read_strictly
from tests.support import endpoints
from tests.support.frames import stream, whole
from tests.support.frames_of import Json
from tests.support.messages_of import folded

pytestmark = pytest.mark.slow

PLAIN_STREAM = b"".join(stream("Hi."))
STREAM_BODY = b"".join(stream("<think>hm</think>", "Hi."))
WHOLE_BODY = whole("<think>hm</think>Hi.")
EVENTS = "text/event-stream"
THOUGHT_AND_TEXT = [("thinking", '"hm"'), ("text", '"Hi."')]
REQUEST = {"model": "small", "max_tokens": 3000, "messages": [{"role": "user", "content": "hi"}]}


def _exchange(endpoint: Endpoint, **options: object) -> Exchange:
    client = OPENAI_CHAT if endpoint is endpoints.CHAT else ANTHROPIC
    return Exchange(endpoint, settings.read(options), base_path="/gateway", client_dialect=client)


def _awaited(request: ReadRequest) -> AwaitedReply:
    return AwaitedReply(request, by_name("llama.cpp"))


def _openai() -> AwaitedReply:
    return _awaited(ReadRequest(_exchange(endpoints.CHAT)))


def _models() -> AwaitedReply:
    return _awaited(ReadRequest(_exchange(endpoints.MODELS)))


def _messages(body: Json | None = None, **options: object) -> AwaitedReply:
    """The reply to a Messages request."""
    exchange = _exchange(endpoints.MESSAGES, **options)
    return _awaited(read_request.read(exchange, json.dumps(REQUEST | (body or {})).encode()))


def _native(**fields: object) -> AwaitedReply:
    return _messages(fields, native=["messages"])


def _answer(
    awaited: AwaitedReply, body: bytes, content_type: str = JSON, status: int = 200
) -> Answer:
    answer = awaited.rewrite(status, content_type, body).answer
    assert answer is not None
    return answer


def _message(answer: Answer) -> Json:
    message: Json = (
        folded([answer.body]) if answer.content_type.startswith(EVENTS) else json.loads(answer.body)
    )
    return message


def _blocks(answer: Answer) -> Sequence[tuple[str, object]]:
    return sdk_reading.blocks(_message(answer))


def test_an_openai_client_gets_the_body_with_thinking_beside_the_answer() -> None:
    answer = _answer(_openai(), WHOLE_BODY, "application/json; charset=utf-8")
    message = json.loads(answer.body)["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("hm", "Hi.")
    assert (answer.status, answer.content_type) == (200, "application/json; charset=utf-8")


@pytest.mark.parametrize("content_type", [EVENTS, JSON, ""], ids=repr)
def test_a_client_whose_request_nobody_read_gets_a_stream_for_a_stream_whatever_it_is_called(
    content_type: str,
) -> None:
    answer = _answer(_openai(), STREAM_BODY, content_type)
    assert b'"reasoning_content":"hm"' in answer.body
    assert answer.content_type.startswith(EVENTS)
    assert answer.body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(("body", "kind"), [(whole("Hi."), JSON), (PLAIN_STREAM, EVENTS)])
def test_an_openai_client_gets_what_needs_no_change_as_it_came(body: bytes, kind: str) -> None:
    assert _openai().rewrite(200, kind, body).answer is None


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"object":"list"}', b"[1]", b"\xff"])
def test_what_is_no_reply_is_an_error_for_an_openai_client_too(body: bytes) -> None:
    answer = _answer(_openai(), body)
    assert (answer.status, answer.content_type) == (502, JSON)
    assert "reply" in json.loads(answer.body)["error"]["message"]


@pytest.mark.parametrize("status", [307, 400, 500])
def test_an_openai_client_gets_errors_as_they_came(status: int) -> None:
    assert (
        _openai().rewrite(status, JSON, b'{"error":{"message":"<think>m</think>"}}').answer is None
    )


FORMS = {"whole to whole": (WHOLE_BODY, False), "whole to stream": (WHOLE_BODY, True)}
FORMS |= {"stream to whole": (STREAM_BODY, False), "stream to stream": (STREAM_BODY, True)}


@pytest.mark.parametrize(("body", "streaming"), FORMS.values(), ids=FORMS)
def test_a_translated_reply_has_the_requested_form(body: bytes, streaming: bool) -> None:
    answer = _answer(
        _messages({"stream": streaming}), body, EVENTS if body is STREAM_BODY else JSON
    )
    assert (answer.status, answer.content_type.startswith(EVENTS)) == (200, streaming)
    assert _blocks(answer) == THOUGHT_AND_TEXT
    assert not streaming or read_strictly(answer.body)


@pytest.mark.parametrize("content_type", [JSON, "text/plain", ""], ids=repr)
def test_a_stream_by_another_name_is_a_stream(content_type: str) -> None:
    assert (
        _blocks(_answer(_messages(), b"\n: ping\n\n" + STREAM_BODY, content_type))
        == THOUGHT_AND_TEXT
    )


def test_the_requested_model_stands_in_for_one_the_server_does_not_name() -> None:
    body = json.dumps(
        {"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]}
    ).encode()
    assert _message(_answer(_messages(), body))["model"] == "small"


OMITTED = {"thinking": {"type": "enabled", "budget_tokens": 2000, "display": "omitted"}}


@pytest.mark.parametrize(("body", "streaming"), FORMS.values(), ids=FORMS)
def test_thinking_that_the_client_wants_omitted_is_not_shown(body: bytes, streaming: bool) -> None:
    answer = _answer(_messages({**OMITTED, "stream": streaming}), body)
    assert [block for block in _blocks(answer) if block != ("thinking", '""')] == [
        ("text", '"Hi."')
    ]
    assert b"hm" not in answer.body


def test_omitted_thinking_is_counted_still() -> None:
    usage = _message(_answer(_messages(OMITTED), WHOLE_BODY))["usage"]
    assert 0 < usage["output_tokens_details"]["thinking_tokens"] < usage["output_tokens"]


def test_a_native_reply_shows_no_omitted_thinking_either() -> None:
    assert (
        b"hm"
        not in _answer(
            _native(**OMITTED),
            _native_body({"type": "thinking", "thinking": "hm", "signature": "S"}),
        ).body
    )


BROKEN = {
    "nothing": b"",
    "a page": b"<html>busy</html>",
    "another shape": b'{"object":"list"}',
    "a cut stream": STREAM_BODY[:500],
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_what_is_no_reply_is_a_bad_gateway(body: bytes) -> None:
    rewritten = _messages().rewrite(200, JSON, body)
    answer, rewriter = rewritten.answer, rewritten.rewriter
    assert answer
    assert rewriter
    assert (answer.status, answer.content_type, _message(answer)["type"]) == (502, JSON, "error")
    assert rewriter.failure in _message(answer)["error"]["message"]


def test_a_client_of_a_stream_gets_the_cut_in_the_stream() -> None:
    answer = _answer(_messages({"stream": True}), STREAM_BODY[:500], EVENTS)
    assert answer.status == 200
    assert read_strictly(answer.body).error["error"] == {"type": "api_error", "message": CUT_SHORT}


@pytest.mark.parametrize("native", [False, True], ids=["translated", "native"])
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
def test_an_error_has_the_clients_shape_and_the_servers_message(
    native: bool, streaming: bool
) -> None:
    exchange = _native(stream=streaming) if native else _messages({"stream": streaming})
    answer = _answer(
        exchange,
        b'{"error":{"message":"no such model","type":"NotFoundError","code":404}}',
        JSON,
        404,
    )
    assert (answer.status, answer.content_type) == (404, JSON)
    assert json.loads(answer.body) == {
        "type": "error",
        "error": {"type": "not_found_error", "message": "no such model"},
    }


def _native_body(*content: Json, **fields: object) -> bytes:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "small"}
    usage = {"input_tokens": 7, "output_tokens": 5}
    return json.dumps(
        {
            **head,
            "content": content,
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
            **fields,
        }
    ).encode()


TAGGED = {"type": "text", "text": "<think>hm</think>Hi."}
CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {}}


def test_a_native_reply_is_mended() -> None:
    message = _message(_answer(_native(), _native_body(TAGGED)))
    signed = {"type": "thinking", "thinking": "hm", "signature": settings.DEFAULT_SIGNATURE}
    assert message == json.loads(_native_body(signed, {"type": "text", "text": "Hi."})) | {
        "usage": message["usage"]
    }
    assert (message["usage"]["input_tokens"], message["usage"]["output_tokens"]) == (7, 5)


def test_a_native_signature_is_the_servers_own() -> None:
    block = {"type": "thinking", "thinking": "hm", "signature": "5f5f"}
    assert _message(_answer(_native(), _native_body(block)))["content"] == [block]


def test_a_native_call_without_arguments_is_nothing_to_note() -> None:
    rewritten = _native().rewrite(200, JSON, _native_body(CALL, stop_reason="tool_use"))
    assert rewritten.answer
    assert rewritten.rewriter
    assert _message(rewritten.answer)["content"] == [CALL]
    assert rewritten.rewriter.notes == []


def test_native_blocks_keep_their_order() -> None:
    content: list[Json] = [CALL, {"type": "text", "text": "and"}, {**CALL, "id": "b"}]
    assert (
        _message(_answer(_native(), _native_body(*content, stop_reason="tool_use")))["content"]
        == content
    )


@pytest.mark.parametrize("streaming", [False, True], ids=["asked whole", "asked for a stream"])
def test_a_native_reply_has_the_requested_form(streaming: bool) -> None:
    answer = _answer(_native(stream=streaming), _native_body(TAGGED))
    assert (answer.content_type.startswith(EVENTS), _blocks(answer)) == (
        streaming,
        THOUGHT_AND_TEXT,
    )


MODELS = b'{"object":"list","data":[{"id":"small","created":1}]}'


def test_models_are_listed_in_the_clients_dialect() -> None:
    answer = _answer(_models(), MODELS)
    assert (answer.status, answer.content_type) == (200, JSON)
    assert [model["type"] for model in json.loads(answer.body)["data"]] == ["model"]


def test_models_of_another_shape_pass_as_they_came() -> None:
    assert _models().rewrite(200, JSON, b"[]").answer is None


def test_models_that_are_refused_are_an_error() -> None:
    answer = _answer(_models(), b'{"error":"no key"}', JSON, 401)
    assert (answer.status, json.loads(answer.body)["error"]) == (
        401,
        {"type": "authentication_error", "message": "no key"},
    )


STREAMS = {
    "Text/Event-Stream; charset=utf-8": b"",
    "text/plain": b" data: {}",
    "": b"event: x",
    JSON: b": ping",
}


@pytest.mark.parametrize(("content_type", "body"), STREAMS.items())
def test_a_stream_is_recognised_by_its_name_or_its_beginning(
    content_type: str, body: bytes
) -> None:
    assert is_stream(content_type, body)


def test_a_model_that_nobody_has_gets_a_404() -> None:
    one = Exchange(endpoints.MODELS, settings.read(), client_dialect=ANTHROPIC, model_id="other")
    answer = one.models_answer(200, b'{"object":"list","data":[{"id":"small"}]}')
    assert answer
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (404, "not_found_error")


def test_a_chat_client_gets_a_list_of_no_models_as_it_came() -> None:
    some = settings.read({"models": ["gpt-*=small"]})
    listed = Exchange(endpoints.MODELS, some, client_dialect=OPENAI_CHAT)
    assert listed.models_answer(200, b'{"object":"list","data":[]}') is None


KEYS: list[dict[str, str]] = [
    {},
    {"authorization": "Bearer a"},
    {"authorization": "Bearer b"},
    {"x-api-key": "Bearer a"},
]


def _begun(method: str, path: str, headers: dict[str, str], name: str = "x") -> Exchange:
    exchange = begin(method, path, headers, settings.read({}), name, reverse=True)
    assert exchange
    return exchange


def _status(memory: Memory, headers: dict[str, str], method: str, path: str) -> int:
    exchange = _begun(method, path, headers, "new")
    try:
        answer = exchange.own_answer(
            OwnRequest(method, path, b"{}"), Memory(store=memory.store, owner=exchange.owner)
        )
    except RequestError as refused:
        return refused.status
    assert answer
    return answer.status


@pytest.mark.parametrize("owner", KEYS, ids=str)
def test_what_is_kept_belongs_to_the_key_that_brought_it(owner: dict[str, str]) -> None:
    memory = Memory(10, 10_000)
    assert _status(memory, owner, "POST", "/v1/conversations") == 200
    path = "/v1/conversations/conv_new"
    body = json.dumps({"model": "m", "conversation": "conv_new", "input": "hi"}).encode()
    for key in KEYS:
        status = 200 if key == owner else 404
        assert _status(memory, key, "GET", path) == status
        assert _status(memory, key, "GET", f"{path}/items") == status
        exchange = _begun("POST", "/v1/responses", key)
        if status == 200:
            assert read_request.read(
                exchange, body, Memory(store=memory.store, owner=exchange.owner)
            ).conversation
        else:
            with pytest.raises(RequestError, match="not found"):
                read_request.read(exchange, body, Memory(store=memory.store, owner=exchange.owner))
            assert _status(memory, key, "DELETE", path) == 404
    assert _status(memory, owner, "DELETE", path) == 200


@pytest.mark.parametrize("client", KEYS, ids=str)
def test_no_id_that_a_client_makes_up_is_anothers(client: dict[str, str]) -> None:
    """Not even one that spells the other's owner, be it a client or the addon itself."""
    memory, exchange = Memory(100, 100_000), _begun("POST", "/v1/responses", client)
    owners = [_begun("POST", "/v1/responses", key).owner for key in KEYS] + ["lessons", ""]
    for owner in owners:
        Memory(store=memory.store, owner=owner).keep("resp_x", b"[]")
    for owner in owners:
        body = {"model": "m", "previous_response_id": f"{owner} resp_x", "input": "hi"}
        with pytest.raises(RequestError, match="not found"):
            read_request.read(exchange, json.dumps(body).encode(), memory)


@given(st.dictionaries(st.sampled_from(["authorization", "x-api-key"]), st.text()))
def test_an_owner_is_a_hash_whatever_the_credentials(credentials: dict[str, str]) -> None:
    assert re.fullmatch("[0-9a-f]{64}", _begun("POST", "/v1/responses", credentials).owner)


def test_no_key_is_in_the_values_of_an_exchange() -> None:
    assert "s3cret" not in repr(_begun("POST", "/v1/responses", {"authorization": "s3cret"}))


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages", "/v1/chat/completions"])
def test_a_memory_that_is_away_is_reported_with_the_time_to_retry(path: str) -> None:
    line, answer = _begun("POST", path, {}).refusal_answer(AwayError("it is gone"))
    assert (answer.status, answer.retry_after) == (503, 1)
    assert line == f"{MEMORY_AWAY} (it is gone)"
    assert line in json.loads(answer.body)["error"]["message"]


def test_a_request_may_refer_in_any_spelling() -> None:
    exchange = _begun("POST", "/v1/responses", {})
    spelled = [b'{"previous_response_id"', rb'{"previous_response\u005fid"', b'{"input": "hi"']
    assert [exchange.may_refer_to_kept(body) for body in spelled] == [True, True, False]
    assert not _begun("POST", "/v1/chat/completions", {}).may_refer_to_kept(rb"\u0041")


@pytest.mark.parametrize(
    ("item", "refers"),
    [
        (b'{"id":"a"}', True),
        (b'{ "id" :\n"a\\"}b" }', True),
        (b'{"id": "a", "id": "b"}', True),
        (b'{"id": "a", "type": "item_reference"}', True),
        (b'{"id": "a", "type": "message"}', False),
    ],
)
def test_an_item_that_is_sent_again_refers_to_nothing(item: bytes, refers: bool) -> None:
    exchange = _begun("POST", "/v1/responses", {})
    assert exchange.may_refer_to_kept(b'{"input": [%b]}' % item) is refers


@pytest.mark.parametrize("client", [OPENAI_CHAT, ANTHROPIC])
def test_names_with_an_effort_are_listed_if_requested(client: Dialect) -> None:
    exchange = Exchange(endpoints.MODELS, settings.read({"variants": True}), client_dialect=client)
    answer = exchange.models_answer(200, b'{"object":"list","data":[{"id":"small"}]}')
    assert answer
    names = [entry["id"] for entry in json.loads(answer.body)["data"]]
    assert names == ["small", "small-nothink", "small-low", "small-high", "small-max"]


def test_claude_code_is_listed_names_that_it_shows() -> None:
    headers = {"user-agent": "claude-code/2.1.332", "anthropic-version": "2023-06-01"}
    exchange = begin("GET", "/v1/models?limit=1000", headers, settings.read(), "0", reverse=True)
    assert exchange
    answer = exchange.models_answer(200, b'{"object":"list","data":[{"id":"small"}]}')
    assert answer
    names = [entry["id"] for entry in json.loads(answer.body)["data"]]
    assert names == ["small", "anthropic/small"]
