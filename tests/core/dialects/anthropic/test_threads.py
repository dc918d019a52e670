"""Message threads: kept by the id of the last reply, gone on with, or refused in the API's codes."""

from collections.abc import Mapping
from typing import Any

import pytest

from converter.core.dialects.anthropic import ANTHROPIC, threads
from converter.core.dialects.anthropic.encoder import AnthropicEncoder
from converter.core.dialects.dialect import RequestContext
from converter.core.dialects.wire_form import Form, ReplyContext
from converter.core.model.conversation import RequestError
from converter.core.model.events import End, Event, Failure, Finish, Text, Thinking
from converter.core.model.memory import Memory
from tests.support.messages_of import HEAD

CREATE: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "system": "Be brief.",
    "tools": [{"name": "add", "input_schema": {"type": "object"}}],
    "messages": [{"role": "user", "content": "12 * 7"}],
    "thread": {"type": "create"},
}
MORE = {"role": "user", "content": "And 3 * 3?"}
EVENTS: list[Event] = [HEAD, Thinking("12 * 7"), Text("84"), Finish("stop"), End()]
REPLY = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "12 * 7", "signature": "ours"},
        {"type": "text", "text": "84"},
    ],
}


@pytest.fixture
def memory() -> Memory:
    return Memory(9, 100_000)


def going_on(name: str = "msg_one", **fields: Any) -> dict[str, Any]:
    thread = {"type": "continue", "previous_message_id": name}
    return {"model": "m", "max_tokens": 9, "messages": [MORE], "thread": thread, **fields}


def exchange(memory: Memory, body: object, name: str = "one", form: Form = Form.STREAM) -> None:
    """One request and its reply, which is kept."""
    request = ANTHROPIC.requests.read(body, RequestContext(memory=memory))
    context = ReplyContext("m", name, signature="ours", own=request.own)
    machine = ANTHROPIC.wire.encoder(context, form is Form.WHOLE)
    assert b"".join([*machine.feed(EVENTS), *machine.close()]).count(f"msg_{name}".encode()) == 1


def whole(memory: Memory, body: object) -> Mapping[str, Any]:
    completed, thread = threads.with_kept_turns(body, memory)
    assert thread
    assert isinstance(completed, dict)
    return completed


@pytest.mark.parametrize("form", list(Form))
def test_a_thread_goes_on_with_all_that_was_sent(memory: Memory, form: Form) -> None:
    exchange(memory, CREATE, form=form)
    completed = whole(memory, going_on())
    assert completed["messages"] == [*CREATE["messages"], REPLY, MORE]
    assert (completed["system"], completed["tools"]) == (CREATE["system"], CREATE["tools"])


def test_each_turn_adds_only_its_own(memory: Memory) -> None:
    exchange(memory, CREATE)
    before = memory.size
    exchange(memory, going_on(), "two")
    assert memory.size - before < before
    assert len(whole(memory, going_on("msg_two"))["messages"]) == 5


def test_a_reply_may_be_gone_on_with_twice(memory: Memory) -> None:
    exchange(memory, CREATE)
    exchange(memory, going_on(), "two")
    exchange(memory, going_on(), "other")
    assert len(whole(memory, going_on("msg_other"))["messages"]) == 5


def test_a_turn_without_messages_of_its_own_goes_on(memory: Memory) -> None:
    exchange(memory, CREATE)
    assert len(whole(memory, going_on(messages=[]))["messages"]) == 2


def test_a_request_without_a_thread_is_left_as_it_is(memory: Memory) -> None:
    for thread in ({}, {"thread": None}):
        body = {"messages": [MORE], **thread}
        assert threads.with_kept_turns(body, memory) == (body, None)
    exchange(memory, CREATE | {"thread": None}, "1")
    assert memory.size == 0


def test_without_a_memory_a_request_stands_alone() -> None:
    request = ANTHROPIC.requests.read(going_on(), RequestContext())
    assert (len(request.turns), request.own) == (1, None)


def refusal(memory: Memory, body: object) -> tuple[int, Mapping[str, Any]]:
    assert ANTHROPIC.answers.refusal
    with pytest.raises(RequestError) as caught:
        threads.with_kept_turns(body, memory)
    status, answer = ANTHROPIC.answers.refusal(caught.value)
    assert answer["type"] == "error"
    error = answer["error"]
    assert isinstance(error, dict)
    return status, error


def test_an_unknown_thread_is_refused(memory: Memory) -> None:
    status, error = refusal(memory, going_on())
    assert (status, error["type"]) == (404, "not_found_error")
    assert error["details"] == {"error_code": "thread_not_found"}
    assert "'msg_one'" in error["message"]


def test_a_thread_whose_beginning_is_gone_is_refused() -> None:
    memory = Memory(1, 100_000)
    exchange(memory, CREATE)
    exchange(memory, going_on(), "two")
    assert refusal(memory, going_on("msg_two"))[0] == 404


@pytest.mark.parametrize(
    "value",
    [b"{}", b"null", b"[1,2]", b"no JSON", b'{"messages": []}', b'{"messages": 1, "reply": {}}'],
)
def test_a_thread_of_another_shape_is_refused_and_the_error_says_why(value: bytes) -> None:
    memory = Memory(9, 100_000)
    memory.keep("thread msg_one", value)
    status, error = refusal(memory, going_on())
    assert (status, error["details"]) == (404, {"error_code": "thread_not_found"})
    assert "cannot be read" in error["message"]


def test_without_room_a_request_goes_on_unthreaded() -> None:
    for memory in (Memory(0, 1000), Memory(9, 0)):
        status, error = refusal(memory, CREATE)
        assert (status, error["type"]) == (400, "invalid_request_error")
        assert error["details"] == {
            "error_code": "thread_unsupported_request",
            "unsupported": ["thread"],
        }


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"system": "Be long."}, "`system`"), ({"tools": [], "system": "x"}, "`system` and `tools`")],
)
def test_what_a_thread_keeps_cannot_change(
    memory: Memory, fields: dict[str, Any], named: str
) -> None:
    exchange(memory, CREATE)
    status, error = refusal(memory, going_on(**fields))
    assert (status, error["details"]["error_code"]) == (400, "thread_fingerprint_mismatch")
    assert named in error["message"]
    assert whole(memory, going_on(system=CREATE["system"]))["system"] == CREATE["system"]


@pytest.mark.parametrize(
    ("thread", "path"),
    [
        ("create", "thread"),
        ({}, "thread.type"),
        ({"type": "fork"}, "thread.type"),
        ({"type": "continue"}, "thread.previous_message_id"),
    ],
)
def test_what_is_no_thread_is_refused_with_its_path(
    memory: Memory, thread: object, path: str
) -> None:
    status, error = refusal(memory, CREATE | {"thread": thread})
    assert (status, "details" in error) == (400, False)
    assert error["message"].startswith(f"{path}: ")


@pytest.mark.parametrize("form", list(Form))
def test_a_reply_that_broke_off_is_not_kept(memory: Memory, form: Form) -> None:
    request = ANTHROPIC.requests.read(CREATE, RequestContext(memory=memory))
    encoder = ANTHROPIC.wire.encoder(ReplyContext("m", "one", own=request.own), form is Form.WHOLE)
    encoder.feed([HEAD, Text("a"), Failure("gone")])
    encoder.close()
    assert memory.size == 0


def test_a_stream_larger_than_the_memory_is_not_gathered() -> None:
    memory = Memory(9, 2000)
    request = ANTHROPIC.requests.read(CREATE, RequestContext(memory=memory))
    assert isinstance(request.own, threads.Thread)
    encoder = AnthropicEncoder(ReplyContext("m", "one", own=request.own))
    encoder.feed([HEAD, *[Text("word " * 20)] * 50, Finish("stop"), End()])
    assert memory.size == 0
    exchange(memory, CREATE)
    assert memory.size > 0


def test_the_servers_own_endpoint_gets_no_thread() -> None:
    with pytest.raises(RequestError) as refused:
        ANTHROPIC.requests.native(CREATE)
    assert refused.value.details["error_code"] == "thread_unsupported_request"
    assert ANTHROPIC.requests.native({"messages": []}) == {"messages": []}
