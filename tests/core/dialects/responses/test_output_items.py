import pytest

from converter.core.dialects.responses.output_items import (
    COMPLETED,
    INCOMPLETE,
    MESSAGE,
    THOUGHT,
    FunctionCall,
    OtherCall,
    OutputItem,
    TextItem,
)
from converter.core.dialects.responses.tools import ToolName

ITEMS: dict[str, OutputItem] = {
    "message": TextItem("1", 3, MESSAGE),
    "reasoning": TextItem("1", 3, THOUGHT),
    "function_call": FunctionCall("1", 3, "c", ToolName("function", "f", "n")),
    "custom_tool_call": OtherCall("1", 3, "c", ToolName("custom", "f", "n")),
    "tool_search_call": OtherCall("1", 3, "c", ToolName("tool_search", "tool_search")),
}


@pytest.mark.parametrize("kind", ITEMS)
def test_every_event_names_the_same_item_at_the_same_index(kind: str) -> None:
    item = ITEMS[kind]
    events = [*item.start(), *item.feed('{"a": '), *item.feed("1}")]
    whole, last = item.finish(COMPLETED)
    assert (whole["type"], whole["status"]) == (kind, COMPLETED)
    for event in (*events, *last):
        announced = event.get("item")
        assert event["output_index"] == 3
        assert (announced["id"] if isinstance(announced, dict) else event["item_id"]) == whole["id"]


def test_a_message_that_was_cut_says_so() -> None:
    message = TextItem("1", 0, MESSAGE)
    message.feed("a")
    assert message.finish(INCOMPLETE)[0]["status"] == INCOMPLETE
