"""Parts as they grow: the new text, and all parts."""

from converter.addon.transcript import shown
from converter.addon.transcript.accumulator import Accumulator, News
from converter.addon.transcript.turns import Field
from converter.core.model import events
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolUse


def fed(*fed_events: events.Event) -> tuple[Accumulator, list[News]]:
    growing = Accumulator()
    return growing, [new for event in fed_events for new in growing.feed(event)]


def test_text_goes_on_until_another_part_comes() -> None:
    growing, news = fed(
        events.Thinking("de"),
        events.Thinking("ep"),
        events.ThinkingEnd(),
        events.Thinking("more"),
        events.Text("Hi"),
    )
    assert growing.parts() == (ThinkingBlock("deep"), ThinkingBlock("more"), TextBlock("Hi"))
    assert news == [
        News(ThinkingBlock("de")),
        News(ThinkingBlock("ep"), fresh=False),
        News(ThinkingBlock("more")),
        News(TextBlock("Hi")),
    ]


def test_a_call_is_returned_once_it_is_complete() -> None:
    pieces = [
        events.ToolCall(0, "a", "look", ""),
        events.ToolCall(0, "", "", '{"at"'),
        events.ToolCall(0, "", "", ":1}"),
    ]
    growing, news = fed(*pieces)
    assert news == []
    assert growing.parts() == (ToolUse("a", "look", '{"at":1}'),)
    assert growing.feed(events.Finish("tool_calls")) == [News(ToolUse("a", "look", '{"at":1}'))]
    assert growing.finish == "tool_calls"


def test_calls_at_one_index_are_distinguished_by_their_ids() -> None:
    growing, _ = fed(
        events.ToolCall(0, "a", "look", "{"),
        events.ToolCall(0, "b", "see", "["),
        events.ToolCall(0, "b", "", "]"),
    )
    assert growing.parts() == (ToolUse("a", "look", "{"), ToolUse("b", "see", "[]"))


def test_fields_of_the_servers_own_come_last() -> None:
    growing, news = fed(
        events.Opaque(
            "openai", {"role": "assistant", "content": "", "x": "a"}, {"logprobs": {"content": [1]}}
        ),
        events.Text("Hi"),
        events.Opaque("openai", {"x": "b", "y": {"z": 1}}, {"y2": None}),
    )
    assert growing.parts() == (TextBlock("Hi"), Field("x", "ab"), Field("y", {"z": 1}))
    assert [new.part for new in [*news, *growing.close()]] == list(growing.parts())


def test_a_part_of_a_content_that_no_event_tells_is_read() -> None:
    content = [
        {"type": "text", "text": "told"},
        {"type": "image_url", "image_url": {"url": "https://h/c.png"}},
    ]
    growing, _ = fed(
        events.Opaque("openai", {"content": content}, {}),
        events.Text("told", own=events.Own("openai")),
    )
    assert "https://h/c.png" in str(growing.parts())


def test_a_block_of_the_messages_api_is_read() -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    growing, _ = fed(
        events.DialectBlock(
            "anthropic", {"type": "content_block_start", "index": 0, "content_block": use}
        ),
        events.ToolCall(0, "", "", '{"query": "x"}'),
        events.DialectBlock(
            "anthropic",
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "citations_delta", "citation": "c"},
            },
        ),
    )
    assert growing.parts() == (
        ToolUse("s", "web_search", '{"query": "x"}'),
        Field("citations.citation", "c"),
    )


def test_a_call_says_where_it_was_read_from() -> None:
    growing = Accumulator()
    growing.feed(events.ToolCall(0, "c", "f", "", read_from="text (hermes)"))
    growing.feed(events.ToolCall(0, "", "", "{}"))
    (call,) = growing.parts()
    assert isinstance(call, ToolUse)
    assert call == ToolUse("c", "f", "{}", "text (hermes)")
    assert shown.part_json(call)["id"] == "c, read from text (hermes)"
