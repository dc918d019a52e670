"""Thoughts of earlier turns: where a request holds them, what is put back, and what is not."""

import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from converter.addon.exchange import settings
from converter.addon.exchange.earlier_thoughts import restore_thoughts
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.read_request import read
from converter.addon.servers.chat_templates import TemplateHistory
from converter.addon.servers.profiles import by_name
from converter.core.dialects.table import ANTHROPIC
from converter.core.model.events import Event, Text, Thinking, ThinkingEnd, ToolCall
from converter.core.model.memory import Bounds, Memory, ProcessStore
from tests.support import endpoints, frames
from tests.support.forgetful import APIS, Api, Talk, says

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
TURNS = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Hello."}]},
    {"role": "user", "content": "again"},
]
EXCHANGE = Exchange(endpoints.MESSAGES, settings.read({}), client_dialect=ANTHROPIC)


def written(model: str, server: str = "llama.cpp", **options: object) -> dict[str, object]:
    exchange = replace(EXCHANGE, settings=settings.read(options))
    body = json.dumps({"model": model, "max_tokens": 9, "messages": TURNS}).encode()
    return dict(read(exchange, body).translate(by_name(server), parses=False).body)


def earlier(body: dict[str, object]) -> object:
    messages = body["messages"]
    assert isinstance(messages, list)
    return messages[1]


IN_FIELD = {"role": "assistant", "content": "Hello.", "reasoning_content": "Hm."}
IN_TAGS = {"role": "assistant", "content": "<think>Hm.</think>\n\nHello."}


@pytest.mark.parametrize(
    ("model", "message", "switches"),
    [
        ("Kimi-K3", IN_FIELD, None),
        ("Qwen3.6-35B-A3B", IN_FIELD, {"preserve_thinking": True}),
        ("GLM-5.2", IN_FIELD, {"clear_thinking": False}),
        ("Qwen3-8B", IN_FIELD, None),
        ("DeepSeek-R1-0528", {"role": "assistant", "content": "Hello."}, None),
        ("nobody-knows-it", IN_TAGS, None),
    ],
)
def test_a_models_row_says_where_its_thoughts_go(
    model: str, message: object, switches: object
) -> None:
    body = written(model)
    assert (earlier(body), body.get("chat_template_kwargs")) == (message, switches)


def test_a_server_without_templates_gets_no_switch() -> None:
    body = written("GLM-5.2", "generic")
    assert (earlier(body), body.get("chat_template_kwargs")) == (IN_FIELD, None)


def test_ollama_reads_one_name_alone() -> None:
    assert earlier(written("gpt-oss:20b", "ollama")) == {
        "role": "assistant",
        "content": "Hello.",
        "reasoning": "Hm.",
    }


def test_what_the_user_chose_goes_before_the_row() -> None:
    body = written("GLM-5.2", history=["tags"])
    assert (earlier(body), body.get("chat_template_kwargs")) == (IN_TAGS, None)


CALL = {
    "index": 0,
    "id": "call_7",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
}
TAGGED = frames.stream("<think>\nI add", " them.\n</think>\n\nIt is", " 5.\n")
CALLED = [
    *frames.text("<think>\nI look.\n</think>\n\nA moment.\n"),
    frames.delta(tool_calls=[CALL]),
    frames.finish("tool_calls"),
    frames.DONE,
]
ANSWERED = frames.stream("<think>\nWarm.\n</think>\n\nSunny.")


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> Api:
    return APIS[request.param]


def replies(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for message in body["messages"] if message["role"] == "assistant"]


@pytest.mark.parametrize("reply", [TAGGED, CALLED], ids=["text", "call"])
def test_a_thought_that_came_folded_in_the_text_is_put_back(reply: list[bytes]) -> None:
    talk = Talk(APIS["chat"], Memory(99, 9999), options={"fields": ["text"]})
    talk.turn(says("2 + 3"), reply)
    assert "<details>" in talk.items[-1]["content"]
    sent, earlier = talk.turn(says("thanks"), ANSWERED)
    (restored,) = replies(sent)
    assert (earlier.restored_thoughts, earlier.unknown_replies) == (1, 0)
    assert restored["reasoning_content"] == ("I add them." if reply is TAGGED else "I look.")
    assert "<details>" not in restored["content"]


def test_a_dropped_thought_is_put_back_as_it_was(api: Api) -> None:
    talk = Talk(api, Memory(99, 9999))
    talk.turn(says("2 + 3"), TAGGED)
    sent, earlier = talk.turn(says("thanks"), ANSWERED)
    (reply,) = replies(sent)
    assert reply == {
        "role": "assistant",
        "content": "It is 5.\n",
        "reasoning_content": "I add them.",
    }
    assert sent["chat_template_kwargs"] == {"preserve_thinking": True}
    assert (earlier.restored_thoughts, earlier.unknown_replies) == (1, 0)


def test_a_loop_of_tools_has_the_thoughts_of_all_its_turns(api: Api) -> None:
    talk = Talk(api, Memory(99, 9999))
    talk.turn(says("Oslo?"), CALLED)
    talk.turn(api.result("call_7", "sunny"), ANSWERED)
    sent, earlier = talk.turn(says("thanks"), ANSWERED)
    restored = [(reply["reasoning_content"], reply["content"]) for reply in replies(sent)]
    assert restored == [("I look.", "A moment."), ("Warm.", "Sunny.")]
    assert replies(sent)[0]["tool_calls"][0]["id"] == "call_7"
    assert earlier.restored_thoughts == 2


def test_a_client_that_brings_thoughts_is_never_added_to(api: Api) -> None:
    talk = Talk(api, Memory(99, 9999))
    talk.turn(says("2 + 3"), TAGGED)
    talk.thoughts = True
    talk.turn(says("thanks"), ANSWERED)
    sent, earlier = talk.turn(says("bye"), ANSWERED)
    restored = [reply.get("reasoning_content") for reply in replies(sent)]
    assert (restored, earlier.restored_thoughts, earlier.position) == ([None, "Warm."], 0, None)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("Qwen3.6-35B-A3B", {"restore": "off"}),
        ("Qwen3.6-35B-A3B", {"history": ["drop"]}),
        ("DeepSeek-R1-0528", {}),
        ("DeepSeek-R1-0528", {"history": ["reasoning_content"]}),
        ("nobody-knows-it", {}),
    ],
)
def test_what_nobody_wants_is_not_kept(api: Api, model: str, options: dict[str, Any]) -> None:
    memory = Memory(99, 9999)
    talk = Talk(api, memory, model, options=options)
    talk.turn(says("2 + 3"), TAGGED)
    sent, earlier = talk.turn(says("thanks"), ANSWERED)
    assert ("reasoning_content" in replies(sent)[0], earlier.restored_thoughts) == (False, 0)
    assert isinstance(memory.store, ProcessStore)
    assert [name for name in memory.store._entries if name.startswith("thoughts")] == []


def test_a_field_that_the_user_names_is_a_wish_for_any_model(api: Api) -> None:
    talk = Talk(api, Memory(99, 9999), "nobody-knows-it", options={"history": ["tags"]})
    talk.turn(says("2 + 3"), TAGGED)
    sent, _ = talk.turn(says("thanks"), ANSWERED)
    written = "<think>\nI add them.\n</think>\n\nIt is 5.\n"
    assert replies(sent)[0]["content"] == written


def test_a_template_that_writes_no_line_ends_gets_the_models_own(api: Api) -> None:
    talk = Talk(api, Memory(99, 9999), "GLM-5.2")
    talk.turn(says("Oslo?"), CALLED)
    sent, _ = talk.turn(api.result("call_7", "sunny"), ANSWERED)
    (reply,) = replies(sent)
    texts = (reply["reasoning_content"], reply["content"])
    assert texts == ("\nI look.\n", "\n\nA moment.\n")


def test_a_template_of_loops_gets_no_more_than_it_reads(api: Api) -> None:
    talk = Talk(api, Memory(99, 9999), "Qwen3-8B")
    talk.turn(says("2 + 3"), TAGGED)
    _, in_turn = talk.turn(says("Oslo?"), CALLED)
    sent, in_loop = talk.turn(api.result("call_7", "sunny"), ANSWERED)
    assert (in_turn.restored_thoughts, in_loop.restored_thoughts) == (0, 1)
    assert in_loop.unknown_replies == 0
    assert replies(sent)[-1]["reasoning_content"] == "I look."


def test_a_reply_without_an_entry_is_counted(api: Api) -> None:
    talk = Talk(api, Memory(99, 9999))
    talk.turn(says("2 + 3"), TAGGED)
    talk.memory = Memory(99, 9999)
    sent, earlier = talk.turn(says("thanks"), ANSWERED)
    assert ("reasoning_content" in replies(sent)[0], earlier.unknown_replies) == (False, 1)
    assert earlier.notes == ("1 earlier thought no longer kept",)
    assert earlier.facts == {"thoughts_unknown": 1}


@pytest.mark.parametrize(
    "value",
    [b"null", b"[1,2]", b"no JSON", b'{"thinking": "x"}', b'{"thinking": null, "text": "x"}'],
)
def test_an_entry_of_another_shape_is_as_good_as_none(api: Api, value: bytes) -> None:
    """An entry of a damaged file: a model once got the text `None`."""
    store = ProcessStore(Bounds(99, 9999))
    talk = Talk(api, Memory(store=store))
    talk.turn(says("2 + 3"), TAGGED)
    for entry in store._entries.values():
        entry.value = value
    sent, earlier = talk.turn(says("thanks"), ANSWERED)
    assert "reasoning_content" not in replies(sent)[0]
    assert earlier.facts == {"thoughts_unknown": 1}


def test_a_reply_without_a_thought_has_an_entry(api: Api) -> None:
    talk = Talk(api, Memory(99, 9999))
    talk.turn(says("2 + 3"), frames.stream("5"))
    sent, earlier = talk.turn(says("thanks"), ANSWERED)
    assert ("reasoning_content" in replies(sent)[0], earlier.unknown_replies) == (False, 0)


def test_another_owner_has_nothing_of_it(api: Api) -> None:
    memory = Memory(99, 9999)
    mine, theirs = Talk(api, memory, owner="me"), Talk(api, memory, owner="you")
    mine.turn(says("2 + 3"), TAGGED)
    theirs.items = list(mine.items)
    assert theirs.turn(says("thanks"), ANSWERED)[1].unknown_replies == 1
    assert mine.turn(says("thanks"), ANSWERED)[1].restored_thoughts == 1


def test_what_the_client_says_of_a_switch_counts() -> None:
    talk = Talk(APIS["chat"], Memory(99, 9999))
    switch = {"chat_template_kwargs": {"preserve_thinking": False, "x": 1}}
    talk.api = replace(talk.api, body=lambda items: {"messages": items, **switch})
    talk.turn(says("2 + 3"), TAGGED)
    sent, earlier = talk.turn(says("thanks"), ANSWERED)
    assert earlier.restored_thoughts == 1
    assert sent["chat_template_kwargs"] == switch["chat_template_kwargs"]


def test_of_several_choices_nothing_is_kept() -> None:
    talk = Talk(APIS["chat"], Memory(99, 9999))
    two = [
        frames.delta(content="<think>a</think>5"),
        frames.delta(1, content="<think>b</think>5"),
        frames.finish(),
        frames.finish("stop", 1),
        frames.DONE,
    ]
    talk.turn(says("2 + 3"), two)
    assert talk.turn(says("thanks"), ANSWERED)[1].unknown_replies == 1


# The laws: what is put back is what was said, and nothing is put back into another conversation.

BLANKS_AND_LETTERS = st.text("ab \n\r", min_size=1, max_size=12)
REPLIES = st.sampled_from([("a", ""), ("b", ""), ("", "1"), ("", "2"), ("a", "1")])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "ask", "fork", "edit"]),
        st.integers(0, 9),
        st.integers(0, 9),
        REPLIES,
        st.sampled_from(["", "x", "y"]),
        st.sampled_from(["mine", "yours"]),
        st.sampled_from(["Kimi-K3", "GLM-5"]),
    ),
    max_size=40,
)


@given(BLANKS_AND_LETTERS, BLANKS_AND_LETTERS, st.lists(st.integers(0, 40), max_size=3))
def test_a_restored_thought_is_the_one_that_was_sent(
    thought: str, answer: str, cuts: list[int]
) -> None:
    assume(thought.strip() and answer.strip())
    text = f"<think>{thought}</think>{answer}"
    offsets = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    talk = Talk(APIS["chat"], Memory(99, 9999), "GLM-5.2")
    talk.turn(says("2 + 3"), frames.stream(*(text[a:b] for a, b in pairwise(offsets))))
    sent, _ = talk.turn(says("thanks"), ANSWERED)
    (reply,) = replies(sent)
    assert (reply["reasoning_content"], reply["content"]) == (thought, answer)


def message(reply: tuple[str, str]) -> dict[str, Any]:
    call = {"id": reply[1], "function": {"name": "f", "arguments": "{}"}}
    return {"role": "assistant", "content": reply[0], "tool_calls": [call] if reply[1] else []}


def events_of(reply: tuple[str, str], thought: str) -> list[Event]:
    call: list[Event] = (
        [ToolCall(0, reply[1], "f", ""), ToolCall(0, "", "", "{}")] if reply[1] else []
    )
    thinking: list[Event] = [Thinking(thought), ThinkingEnd()] if thought else []
    return [*thinking, Text(reply[0]), *call]


@given(STEPS)
def test_nothing_is_put_back_into_another_conversation(steps: list[Any]) -> None:
    """Drawn conversations of few words, so that many say the same: forks, edits, other owners and
    models. A thought comes back where all of that is one reply's, and it alone.
    """
    memory, talks = Memory(9999, 1 << 20), [list[dict[str, Any]]()]
    kept = defaultdict[object, set[str]](set)

    def key(owner: str, model: str, messages: list[dict[str, Any]]) -> object:
        return owner, model, json.dumps(messages)

    for what, one, two, reply, thought, owner, model in steps:
        talk = talks[one % len(talks)]
        if what == "fork":
            talks.append(talk[: 2 * (two % (len(talk) // 2 + 1))])
        elif what == "edit" and talk:
            at = two % len(talk)
            talk[at] = message(reply) if at % 2 else says(reply[0] or "c")
        elif what == "ask":
            talk.append(says("ab"[two % 2]))
            body = {"model": model, "messages": talk}
            changed, earlier = restore_thoughts(
                body, TemplateHistory(exact=True), Memory(store=memory.store, owner=owner)
            )
            expected = [
                kept[key(owner, model, talk[: at + 1])] for at in range(1, len(talk) - 1, 2)
            ]
            wanted = [next(iter(each)) if len(each) == 1 else None for each in expected]
            put = [messages.get("reasoning_content") for messages in replies(dict(changed))]
            assert put == [each or None for each in wanted]
            assert earlier.restored_thoughts == sum(map(bool, wanted))
            assert earlier.unknown_replies == wanted.count(None)
            assert earlier.position
            earlier.position.add(
                events_of(reply, thought), [{"thought": thought}] if thought else []
            )
            earlier.position.keep()
            talk.append(message(reply))
            kept[key(owner, model, talk)].add(thought)
