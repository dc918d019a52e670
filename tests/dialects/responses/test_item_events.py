"""One item after another; what they say is in test_response_events.py."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from converter.dialects.responses.context import ResponseContext
from converter.dialects.responses.item_events import ItemEvents
from converter.model.events import Block, Text, Thinking, ThinkingEnd, ToolCall
from tests.support.strategies import law


def fed(*content: Any) -> tuple[ItemEvents, list[dict[str, Any]]]:
    items = ItemEvents(ResponseContext())
    events = [event for piece in content for event in items.write(piece)]
    return items, [*events, *items.finish(True, "completed")]


def test_what_was_said_and_thought_is_counted_without_blanks_of_json() -> None:
    items, _ = fed(Thinking("abc"), Text("de"), ToolCall(0, "c", "f", '{"a": 1}'))
    assert (items.thought, items.said) == (3, 2 + len('{"a":1}'))


def test_an_item_of_another_kind_stands_in_its_place() -> None:
    search = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {}}
    items, events = fed(Text("a"), Block("responses", search), Text("b"))
    assert [item["type"] for item in items.output] == ["message", "web_search_call", "message"]
    assert [event["item"] for event in events if event.get("item", {}).get("id") == "ws_1"] == [search] * 2  # fmt: skip


def test_a_block_of_another_dialect_has_no_place() -> None:
    assert fed(Block("anthropic", {"type": "content_block_start"}))[1] == []


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
