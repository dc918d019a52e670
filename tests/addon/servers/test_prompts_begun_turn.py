"""A request with the assistant's turn begun: each kind of server gets it as it takes one."""

import pytest

from converter.addon.servers.profiles import SERVERS, by_name
from converter.addon.servers.prompts import Turn, with_begun_turn
from converter.core.model.events import Text, Thinking

USER = {"role": "user", "content": "hi"}
REQUEST = {"model": "small", "messages": [USER], "max_tokens": 50, "seed": 1, "stream": True}
THOUGHT = (Thinking("a"),)
LATER = (Text("x"), Thinking("b"))
BOTH = (Thinking("a"), Text("x"), Thinking("b"))
EMPTY = [{"type": "text", "text": ""}]


def turn(
    server: str, reply: Turn, marks: tuple[str, str] | None = None, inside: bool = False
) -> object:
    sent = with_begun_turn(REQUEST, by_name(server), reply, marks=marks, inside=inside, tokens=8)
    messages = sent["messages"]
    assert isinstance(messages, list)
    assert messages[:-1] == [USER]
    return {name: value for name, value in messages[-1].items() if name != "role"}


@pytest.mark.parametrize(
    ("server", "reply", "wanted"),
    [
        ("llama.cpp", THOUGHT, {"reasoning_content": "a", "content": EMPTY}),
        ("llama.cpp", BOTH, {"reasoning_content": "a", "content": "x<think>\nb\n</think>\n\n"}),
        ("llama.cpp", LATER, {"content": "x<think>\nb\n</think>\n\n"}),
        ("vllm", THOUGHT, {"content": "<think>\na\n</think>\n\n"}),
        ("sglang", BOTH, {"content": "<think>\na\n</think>\n\nx<think>\nb\n</think>\n\n"}),
    ],
)
def test_the_turn_is_begun_as_the_server_takes_it(server: str, reply: Turn, wanted: object) -> None:
    assert turn(server, reply) == wanted


def test_an_opener_that_the_prompt_ends_with_is_not_repeated() -> None:
    assert turn("sglang", THOUGHT, inside=True) == {"content": "a\n</think>\n\n"}
    assert turn("vllm", THOUGHT, inside=True) == {"content": "<think>\na\n</think>\n\n"}


def test_the_marks_are_the_models_own() -> None:
    marks = ("[THINK]", "[/THINK]")
    assert turn("vllm", THOUGHT, marks=marks) == {"content": "[THINK]\na\n[/THINK]\n\n"}


def test_all_else_is_the_same_but_for_the_tokens_that_are_left() -> None:
    sent = with_begun_turn(REQUEST, by_name("vllm"), THOUGHT, marks=None, inside=False, tokens=8)
    more = by_name("vllm").prefill
    assert sent == {**REQUEST, **more, "messages": sent["messages"], "max_tokens": 42}


def test_at_least_one_token_is_left() -> None:
    sent = with_begun_turn(REQUEST, by_name("vllm"), THOUGHT, marks=None, inside=False, tokens=99)
    assert sent["max_tokens"] == 1


def test_servers_that_continue_a_message_can_hold_a_thought() -> None:
    assert {server.name for server in SERVERS if server.prefill and not server.continues} == set()
