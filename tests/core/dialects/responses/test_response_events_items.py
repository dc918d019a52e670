import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.responses.errors import FINAL_CODE
from converter.core.dialects.responses.request_reader import ResponseContext
from converter.core.dialects.responses.response_events import FILTERED, ResponsesEncoder, usage_json
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import (
    DialectBlock,
    End,
    Event,
    Failure,
    Finish,
    OpaqueFrame,
    Own,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from tests.support.responses_of import (
    HEAD,
    STOP,
    check,
    complete,
    context_of,
    read_frame,
    types,
    whole,
)
from tests.support.strategies import law


def fed(*content: Any) -> tuple[ResponsesEncoder, list[dict[str, Any]]]:
    items = ResponsesEncoder(ReplyContext())
    events = [event for piece in content for event in items.wire_events(piece)]
    of_items = [event for event in events if "response" not in event]
    return items, [*of_items, *items.finish(whole=True)]


def response_behind(reason: str, *, is_codex: bool = False) -> dict[str, Any]:
    """The response of a stream's last event."""
    context = ReplyContext(own=ResponseContext(is_codex=is_codex))
    response: dict[str, Any] = complete([Text("a"), Finish(reason)], context)[-1]["response"]
    return response


def test_the_text_and_the_thought_is_counted_without_blanks_of_json() -> None:
    items, _ = fed(Thinking("abc"), Text("de"), ToolCall(0, "c", "f", '{"a": 1}'))
    assert (items.thinking_length, items.text_length) == (3, 2 + len('{"a":1}'))


def test_an_item_of_another_kind_keeps_its_index() -> None:
    search = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {}}
    items, events = fed(Text("a"), DialectBlock("responses", search), Text("b"))
    assert [item["type"] for item in items.output] == ["message", "web_search_call", "message"]
    assert [event["item"] for event in events if event.get("item", {}).get("id") == "ws_1"] == [search] * 2  # fmt: skip


def test_a_servers_own_item_without_an_id_gets_one() -> None:
    search = {"type": "web_search_call", "status": "completed"}
    items, _ = fed(Text("a"), DialectBlock("responses", search))
    assert items.output[1] == {"id": f"{items._context.id}_1", **search}


def test_a_block_of_another_dialect_is_left_out() -> None:
    assert fed(DialectBlock("anthropic", {"type": "content_block_start"}))[1] == []


CONTENT = st.one_of(
    st.builds(Text, st.text(max_size=3)),
    st.builds(Thinking, st.text(max_size=3)),
    st.just(ThinkingEnd()),
    st.builds(ToolCall, st.integers(0, 2), st.just(""), st.sampled_from(["", "f"]), st.sampled_from(["", "{}", '{"a":', "1}"])),
)  # fmt: skip


@law(200)
@given(st.lists(CONTENT, max_size=12))
def test_one_item_is_open_at_a_time_and_each_is_finished_once_whatever_comes(
    content: list[Any],
) -> None:
    items, events = fed(*content)
    open_at: list[object] = []
    for event in events:
        if event["type"] == "response.output_item.added":
            assert open_at == []
            open_at = [event["output_index"]]
        assert [event["output_index"]] == open_at
        if event["type"] == "response.output_item.done":
            open_at = []
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == items.output
    assert all(
        json.loads(str(item["arguments"])) is not None for item in done if "arguments" in item
    )


def test_nothing_begins_behind_a_call_that_was_cut() -> None:
    items, events = fed(ToolCall(0, "a", "f", '{"a":'), ToolCall(1, "b", "g", "{}"))
    added = [event for event in events if event["type"] == "response.output_item.added"]
    assert [event["item"]["call_id"] for event in added] == ["a"]
    assert items.cut
    assert items.output == []


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("stop", "completed"),
        ("tool_calls", "completed"),
        ("anything", "completed"),
        ("length", "incomplete"),
        ("content_filter", "incomplete"),
    ],
)
def test_a_finish_reason_has_its_status(reason: str, status: str) -> None:
    assert response_behind(reason)["status"] == status


def test_a_filtered_reply_has_failed_for_good_where_the_client_would_ask_again() -> None:
    body = response_behind("content_filter", is_codex=True)
    assert body["status"] == "failed"
    assert body["error"] == {"code": FINAL_CODE, "message": FILTERED}
    assert response_behind("length", is_codex=True)["status"] == "incomplete"


@pytest.mark.parametrize(
    ("usage", "thought", "answer", "thinking"),
    [
        (Usage(1, 10), 0, 5, 0),
        (Usage(1, 10), 5, 5, 5),
        (Usage(1, 10), 5, 0, 10),
        (Usage(1, 10, thinking=3), 5, 5, 3),
        (Usage(1, 10, thinking=30), 5, 5, 10),
    ],
)
def test_thinking_is_counted_by_the_server_or_by_its_share(
    usage: Usage, thought: int, answer: int, thinking: int
) -> None:
    counted = usage_json(usage, thought, answer)
    assert counted is not None
    assert counted["output_tokens_details"] == {"reasoning_tokens": thinking}


def test_a_count_that_never_came_is_none() -> None:
    assert usage_json(None, 1, 1) is None


pytestmark = pytest.mark.slow


def stream(*pieces: list[bytes]) -> list[dict[str, object]]:
    sent = b"".join(piece for pieces_ in pieces for piece in pieces_).decode()
    events = [read_frame(frame) for frame in sent.split("\n\n")[:-1]]
    check(events)
    return events


def test_the_whole_response_is_that_of_the_last_event() -> None:
    events: list[Event] = [HEAD, Thinking("a"), Text("b"), STOP, End()]
    assert whole(events) == stream(ResponsesEncoder(context_of()).feed(events))[-1]["response"]


def test_a_whole_reply_that_failed_is_an_error() -> None:
    encoder = ResponsesEncoder(context_of(), whole=True)
    encoder.feed([HEAD, Text("a"), Failure("gone")])
    (body,) = encoder.close()
    assert json.loads(body)["error"]["code"] == "server_error"
    assert encoder.failure


def test_a_sign_of_life_begins_the_response() -> None:
    encoder = ResponsesEncoder(context_of())
    events = stream(encoder.ping(), encoder.ping(), encoder.feed([HEAD, Text("a")]), encoder.ping())
    assert types(events) == [
        *["created", "in_progress", "keepalive", "keepalive"],
        *["output_item.added", "content_part.added", "output_text.delta", "keepalive"],
    ]


def test_a_response_that_is_over_gives_no_sign() -> None:
    encoder = ResponsesEncoder(context_of())
    encoder.feed([HEAD, Text("a"), STOP, End()])
    assert encoder.ping() == []
    assert encoder.feed([OpaqueFrame(Own("openai", raw=b": ping\n\n"), comment=True)]) == []


def test_the_response_is_handed_out_before_its_last_event() -> None:
    kept: list[object] = []
    context = ReplyContext(own=ResponseContext(keep_response=kept.append))
    stream_events = complete([Text("a"), STOP], context)
    assert kept == [stream_events[-1]["response"]]
