"""The events of a Responses stream, and their order."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    OpaqueFrame,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from tests.support.responses_of import (
    HEAD,
    STOP,
    accumulated,
    complete,
    context_of,
    output,
    parsed,
    types,
    whole,
    written,
)
from tests.support.rows import rows_of
from tests.support.strategies import law

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

CALLED = Finish("tool_calls")
TOOLS = [
    {"type": "function", "name": "f", "parameters": {"type": "object"}},
    {"type": "namespace", "name": "mcp__m", "description": "d", "tools": [{"type": "function", "name": "g"}]},
    {"type": "custom", "name": "apply", "description": "d"},
    {"type": "tool_search", "execution": "client", "description": "d"},
]  # fmt: skip


def call(arguments: str, name: str = "f", index: int = 0) -> ToolCall:
    return ToolCall(index, f"call_{index}", name, arguments)


def kinds(items: list[Any]) -> list[str]:
    return [item["type"] for item in items]


def test_a_response_is_sent_in_order() -> None:
    stream = complete([Thinking("a"), ThinkingEnd(), Text("b"), Text("c"), STOP])
    assert types(stream) == [
        *["created", "in_progress"],
        *["output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta"],
        *["reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"],
        *["output_item.added", "content_part.added", "output_text.delta", "output_text.delta"],
        *["output_text.done", "content_part.done", "output_item.done"],
        "completed",
    ]


def test_the_beginning_has_what_clients_ask_for() -> None:
    context = context_of(tools=TOOLS, tool_choice="required")
    response = complete([STOP], context)[0]["response"]
    names = ("id", "created_at", "model", "status", "output", "tool_choice", "tools")
    assert {name: response[name] for name in names} == {
        "id": "resp_1",
        "created_at": 1700000000,
        "model": "asked",
        "status": "in_progress",
        "output": [],
        "tool_choice": "required",
        "tools": [],
    }


def test_added_items_are_empty_and_finished_ones_whole() -> None:
    stream = complete([Thinking("a"), Text("b"), call("{}"), CALLED], context_of(tools=TOOLS))
    items = [event["item"] for event in stream if event["type"] == "response.output_item.added"]
    assert [item.get("summary", item.get("content", item.get("arguments"))) for item in items] == [
        [],
        [],
        "",
    ]
    done = [event["item"] for event in stream if event["type"] == "response.output_item.done"]
    assert done == output(stream)
    assert [item["status"] for item in done] == ["completed"] * 3


def test_ids_are_those_that_codex_keeps_and_no_two_alike() -> None:
    stream = complete([Thinking("a"), Text("b"), call("{}"), call("{}", "apply", 1), CALLED], context_of(tools=TOOLS))  # fmt: skip
    assert [item["id"] for item in output(stream)] == ["rs_1_0", "msg_1_1", "fc_1_2", "ctc_1_3"]


def test_each_thought_is_an_item_in_its_order() -> None:
    events: list[Event] = [Thinking("a"), ThinkingEnd(), Thinking("b"), ThinkingEnd(), Text("c"), Thinking("d")]  # fmt: skip
    items = output(complete([*events, STOP]))
    assert kinds(items) == ["reasoning", "reasoning", "message", "reasoning"]
    assert [item["summary"][0]["text"] for item in items if "summary" in item] == ["a", "b", "d"]


def test_a_thought_comes_as_opaque_content_when_requested() -> None:
    stream = complete([Thinking("é"), STOP], context_of(include=["reasoning.encrypted_content"]))
    (item,) = output(stream)
    assert item["encrypted_content"].startswith("think-addon.")


def test_an_answer_of_blanks_alone_makes_no_item() -> None:
    items = output(complete([Thinking("a"), Text("\n\n"), call("{}"), CALLED]))
    assert kinds(items) == ["reasoning", "function_call"]


def test_alternating_calls_become_one_item_after_another() -> None:
    pieces = [call('{"a"'), call('{"b"', index=1), ToolCall(0, "", "", ":1}"), ToolCall(1, "", "", ":2}")]  # fmt: skip
    items = output(complete([*pieces, CALLED]))
    assert [(item["call_id"], item["arguments"]) for item in items] == [
        ("call_0", '{"a":1}'),
        ("call_1", '{"b":2}'),
    ]


def test_text_amid_a_call_waits_for_its_end() -> None:
    items = output(complete([call('{"a"'), Text("t"), ToolCall(0, "", "", ":1}"), CALLED]))
    assert kinds(items) == ["function_call", "message"]


def test_a_call_comes_back_as_what_was_offered() -> None:
    events: list[Event] = [
        call("{}", "mcp__m__g", 0),
        call('{"input": "*** Begin"}', "apply", 1),
        call('{"query": "q"}', "tool_search", 2),
    ]
    items = output(complete([*events, CALLED], context_of(tools=TOOLS)))
    assert [{name: item[name] for name in item.keys() - {"id", "call_id", "status"}} for item in items] == [
        {"type": "function_call", "name": "g", "namespace": "mcp__m", "arguments": "{}"},
        {"type": "custom_tool_call", "name": "apply", "input": "*** Begin"},
        {"type": "tool_search_call", "execution": "client", "arguments": {"query": "q"}},
    ]  # fmt: skip


def test_a_custom_call_streams_its_text() -> None:
    stream = complete([call('{"input": "a\\nb"}', "apply"), CALLED], context_of(tools=TOOLS))
    assert types(stream)[2:-1] == [
        *["output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done"],
        "output_item.done",
    ]
    assert stream[3]["delta"] == "a\nb"


@pytest.mark.parametrize("name", ["f", "apply", "tool_search"])
@pytest.mark.parametrize("finish", ["length", "tool_calls", "stop", None])
@pytest.mark.parametrize("arguments", ['{"a": "b', '{"a":'])
def test_a_cut_call_is_never_finished(name: str, finish: str | None, arguments: str) -> None:
    ends: list[Event] = [Finish(finish), End()] if finish else []
    stream = written([HEAD, Text("t"), call(arguments, name), *ends], context_of(tools=TOOLS))
    assert kinds(output(stream)) == ["message"]
    assert types(stream).count("output_item.done") == 1
    assert types(stream)[-1] == ("incomplete" if finish == "length" else "failed")


def test_a_call_without_arguments_takes_none_unless_the_reply_was_cut() -> None:
    assert [item["arguments"] for item in output(complete([call(""), CALLED]))] == ["{}"]
    assert output(complete([call(""), Finish("length")])) == []


def test_a_call_cut_in_a_reply_that_calls_itself_complete_is_a_failure() -> None:
    stream = complete([call('{"a":'), CALLED])
    assert stream[-1]["response"]["error"]["code"] == "server_error"
    assert "must not be run" in stream[-1]["response"]["error"]["message"]


def test_usage_has_its_total() -> None:
    stream = written([HEAD, Thinking("aa"), Text("bb"), STOP, Usage(7, 4, cached=2), End()])
    assert stream[-1]["response"]["usage"] == {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 11,
    }


def test_usage_that_never_came_is_null() -> None:
    assert written([HEAD, Text("a"), STOP])[-1]["response"]["usage"] is None


@pytest.mark.parametrize(
    ("reason", "detail"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_a_reply_that_stopped_early_is_incomplete(reason: str, detail: str) -> None:
    last = complete([Text("a"), Finish(reason)])[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": detail}
    assert last["response"]["output"][0]["status"] == "incomplete"


@pytest.mark.parametrize(
    ("failure", "code"),
    ROWS["a failure has the code that clients act on"],
)  # fmt: skip
def test_a_failure_has_the_code_that_clients_act_on(failure: Failure, code: str) -> None:
    stream = written([HEAD, Text("a"), failure, Text("ignored")])
    assert types(stream)[-3:] == ["content_part.done", "output_item.done", "failed"]
    assert stream[-1]["response"]["error"]["code"] == code


def test_a_servers_ping_is_an_event_that_clients_count() -> None:
    stream = written(
        [OpaqueFrame(Own("openai", raw=b": ping\n\n"), comment=True), HEAD, Text("a"), STOP]
    )
    assert types(stream)[:4] == ["created", "in_progress", "keepalive", "output_item.added"]


def test_a_head_behind_a_ping_names_the_model() -> None:
    ping = OpaqueFrame(Own("openai", raw=b": keepalive 0/55\n\n"), comment=True)
    stream = written([ping, HEAD, Start("chatcmpl-1", "another"), STOP, End()], ReplyContext())
    assert [event["response"]["model"] for event in stream if "response" in event] == [
        "",
        "",
        "served",
    ]


def test_the_last_event_repeats_the_request() -> None:
    stream = complete([STOP], context_of(tools=TOOLS[:1], metadata={"a": "b"}, store=False))
    response = stream[-1]["response"]
    assert (response["tools"], response["metadata"], response["store"]) == (TOOLS[:1], {"a": "b"}, False)  # fmt: skip
    assert stream[0]["response"]["tools"] == []


def test_other_choices_are_left_out() -> None:
    assert output(complete([Text("a"), Text("b", choice=1), STOP]))[0]["content"][0]["text"] == "a"


def test_the_server_names_the_model_when_nobody_else_does() -> None:
    assert complete([STOP], ReplyContext())[0]["response"]["model"] == "served"


# Laws, over drawn replies.

TEXTS = st.text(st.sampled_from("ab \né🙂"), min_size=1, max_size=6)
ARGUMENTS = st.dictionaries(st.sampled_from("ab"), TEXTS, max_size=2).map(json.dumps)
NAMES = st.sampled_from(["f", "mcp__m__g", "apply", "tool_search"])


@st.composite
def replies(draw: st.DrawFn) -> list[Event]:
    events: list[Event] = [Start("1", "m")]
    calls = 0
    for kind in draw(st.lists(st.sampled_from(["text", "thinking", "end", "call"]), max_size=8)):
        if kind == "call":
            arguments = draw(ARGUMENTS)
            cut = draw(st.integers(0, len(arguments)))
            events += [ToolCall(calls, f"c{calls}", draw(NAMES), arguments[:cut])]
            events += [ToolCall(calls, "", "", arguments[cut:])] if cut < len(arguments) else []
            calls += 1
        else:
            event_type = {"text": Text, "thinking": Thinking}.get(kind)
            events.append(event_type(draw(TEXTS)) if event_type else ThinkingEnd())
    return [*events, Finish("tool_calls" if calls else "stop"), Usage(3, 2), End()]


@law(100)
@given(replies())
def test_the_sdk_makes_the_whole_response_of_the_stream(events: list[Event]) -> None:
    context = context_of(tools=TOOLS, include=["reasoning.encrypted_content"])
    stream = written(events, context)
    response = whole(events, context)
    assert stream[-1]["response"] == response
    assert accumulated(stream) == parsed(response)
    done = [event["item"] for event in stream if event["type"] == "response.output_item.done"]
    assert done == response["output"]


@law(100)
@given(replies(), st.data())
def test_the_text_cut_anywhere_makes_the_same_response(
    events: list[Event], data: st.DataObject
) -> None:
    cut: list[Event] = []
    for event in events:
        if isinstance(event, Text | Thinking):
            at = data.draw(st.integers(0, len(event.text)))
            cut += [type(event)(part) for part in (event.text[:at], event.text[at:]) if part]
        else:
            cut.append(event)
    assert whole(cut) == whole(events)


@law(100)
@given(replies(), st.data())
def test_a_reply_cut_anywhere_fails_and_finishes_nothing_twice(
    events: list[Event], data: st.DataObject
) -> None:
    before = events[: data.draw(st.integers(0, len(events) - 3))]
    stream = written([*before, Failure("gone")], context_of(tools=TOOLS))
    assert types(stream)[-1] == "failed"
    done = [event["item"]["id"] for event in stream if event["type"] == "response.output_item.done"]
    assert len(done) == len(set(done))
