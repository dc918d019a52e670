"""A compacted conversation, from the request for it to the request that goes on."""

from dataclasses import replace
from typing import Any

import pytest
from openai.types.responses import CompactedResponse

from converter.core.dialects.dialect import Purpose, RequestContext
from converter.core.dialects.responses import thoughts
from converter.core.dialects.responses.compaction import (
    NO_SUMMARY,
    PROMPT,
    SUMMARY_HEAD,
    trigger_request,
    user_messages,
)
from converter.core.dialects.responses.request_reader import ResponseContext, read
from converter.core.dialects.table import RESPONSES
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.conversation import TextBlock, Turn
from converter.core.model.events import Finish, Thinking, ThinkingEnd
from converter.core.model.events import Text as Said
from converter.core.model.memory import Memory
from tests.support.responses_of import HEAD as BEGIN
from tests.support.responses_of import (
    STOP,
    accumulated,
    complete,
    context_of,
    output,
    types,
    whole,
    written,
)

pytestmark = pytest.mark.slow

TRIGGER = {"type": "compaction_trigger"}
FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}}
CONTEXT = ReplyContext(own=ResponseContext(is_compaction=True))


def read_items(*items: dict[str, Any]) -> Any:
    return read({"model": "m", "input": [*items], "tools": [FUNCTION], "tool_choice": "auto"})


def test_the_model_gets_a_request_for_a_summary_and_offered_no_tools() -> None:
    conversation, context = read_items({"role": "user", "content": "hi"}, TRIGGER)
    assert conversation.turns == (
        Turn("user", (TextBlock("hi"),)),
        Turn("user", (TextBlock(PROMPT),)),
    )
    assert (conversation.tools, conversation.tool_choice) == ((), None)
    assert context.is_compaction
    assert not read_items({"role": "user", "content": "hi"})[1].is_compaction


def test_its_answer_is_one_item_and_its_thought_another() -> None:
    events: list[Any] = [Said("\n"), Thinking("hm"), ThinkingEnd(), Said(" The user "), Thinking("so"), ThinkingEnd(), Said("likes tea.\n"), STOP]  # fmt: skip
    stream = complete(events, CONTEXT)
    items = output(stream)
    assert [item["type"] for item in items] == ["reasoning", "reasoning", "compaction"]
    assert thoughts.decode(items[-1]["encrypted_content"]) == "The user likes tea."
    assert types(stream)[-3:] == ["output_item.added", "output_item.done", "completed"]
    assert accumulated(stream)["output"] == items


def test_a_summary_is_the_same_whole() -> None:
    events: list[Any] = [BEGIN, Said("It is tea."), STOP]
    (item,) = whole(events, CONTEXT)["output"]
    assert item == output(written(events, CONTEXT))[0]


@pytest.mark.parametrize("events", [[Said("half"), Finish("length")], [Said(" \n"), STOP]])
def test_half_a_summary_or_none_is_no_item(events: list[Any]) -> None:
    assert output(complete(events, CONTEXT)) == []


def test_the_conversation_goes_on_from_the_summary() -> None:
    item = output(complete([Said("It is tea."), STOP], CONTEXT))[0]
    (turn, *_) = read_items(item, {"role": "user", "content": "so?"})[0].turns
    assert turn == Turn("user", (TextBlock(SUMMARY_HEAD + "It is tea."),))


def test_a_summary_of_somebody_else_is_left_out_and_named() -> None:
    item = {"type": "compaction", "encrypted_content": "gAAA"}
    assert "compaction" in read_items(item)[0].notes[-1]


def test_the_answer_of_its_own_endpoint_repeats_the_users_messages() -> None:
    body = trigger_request(
        {
            "model": "m",
            "input": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        }
    )
    repeated = user_messages(body["input"])  # type: ignore[index]
    context = replace(
        context_of(input=body["input"]),  # type: ignore[index]
        own=ResponseContext(is_compaction=True, repeated_messages=repeated),
    )
    sent = whole([BEGIN, Said("It is tea."), STOP], context)
    CompactedResponse.model_validate({**sent, "output": sent["output"][1:]})  # it knows no user
    assert [item["type"] for item in sent["output"]] == ["message", "compaction"]
    assert sent["output"][0]["content"] == [{"type": "input_text", "text": "hi"}]


def test_no_summary_is_an_error_there() -> None:
    body = whole(
        [BEGIN, Said("half"), Finish("length")],
        ReplyContext(own=ResponseContext(is_compaction=True, repeated_messages=())),
    )
    assert body["error"]["message"] == NO_SUMMARY


@pytest.mark.parametrize(
    ("sent", "items"), [("hi", [{"role": "user", "content": "hi"}, TRIGGER]), (None, [TRIGGER])]
)
def test_a_request_to_its_own_endpoint_asks_by_an_item(sent: Any, items: list[Any]) -> None:
    requested = trigger_request({"model": "m", "input": sent, "stream": True})
    assert requested == {"model": "m", "input": items, "stream": False, "store": False}


@pytest.mark.parametrize("body", ["no object", {"input": 5}])
def test_what_breaks_the_format_is_left_to_the_reader(body: Any) -> None:
    assert trigger_request(body) == body


@pytest.mark.parametrize("memory", [None, Memory(9, 10_000)], ids=["no memory", "a memory"])
def test_its_own_endpoint_asks_for_a_summary_and_keeps_what_users_sent(
    memory: Memory | None,
) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    body = {"model": "m", "input": messages}
    conversation = RESPONSES.requests.read(body, RequestContext(Purpose.COMPACTION, memory=memory))
    assert conversation.turns[-1] == Turn("user", (TextBlock(PROMPT),))
    assert isinstance(conversation.own, ResponseContext)
    assert conversation.own.is_compaction
    assert conversation.own.repeated_messages == (messages[0],)
