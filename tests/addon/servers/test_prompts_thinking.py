"""Asking a model to think: once, in the system turn, with the client's own budget."""

from typing import Any

import pytest

from converter.addon.servers.initial_state import asks_for_thinking
from converter.addon.servers.prompts import TAG, ask_to_think
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

USER = {"role": "user", "content": "hi"}


def _turns(messages: list[Any], budget: int | None = None) -> list[Any]:
    body = ask_to_think({"model": "m", "messages": messages}, budget)
    assert body
    assert body["model"] == "m"
    return body["messages"]  # type: ignore[return-value]


def test_a_request_without_a_system_turn_gets_one() -> None:
    first, *rest = _turns([USER])
    assert (first["role"], TAG in first["content"], rest) == ("system", True, [USER])


@pytest.mark.parametrize("content", ["be brief", [{"type": "text", "text": "be brief"}]])
def test_a_system_turn_is_kept_and_goes_on(content: object) -> None:
    first, *rest = _turns([{"role": "system", "content": content}, USER])
    assert first["content"].startswith("be brief\n\n")
    assert TAG in first["content"]
    assert rest == [USER]


def test_the_clients_budget_is_named() -> None:
    assert "2048 tokens" in _turns([USER], 2048)[0]["content"]
    assert "tokens" not in _turns([USER])[0]["content"]


def test_never_twice() -> None:
    once = ask_to_think({"messages": [USER]}, 2048)
    assert once
    assert ask_to_think(once, 2048) is None


def test_a_user_who_speaks_of_the_tag_is_no_instruction() -> None:
    assert len(_turns([{"role": "user", "content": f"what is {TAG}?"}])) == 2


@pytest.mark.parametrize("messages", [None, "hi", 5])
def test_a_request_without_messages_is_left_alone(messages: object) -> None:
    assert ask_to_think({"messages": messages}, 1) is None


def test_the_request_itself_is_not_changed() -> None:
    body = {"messages": [{"role": "system", "content": "be brief"}, USER]}
    ask_to_think(body, None)
    assert body == {"messages": [{"role": "system", "content": "be brief"}, USER]}


@pytest.mark.parametrize(
    ("body", "asks"), ROWS["a request asks for thinking by any servers switch"]
)
def test_a_request_asks_for_thinking_by_any_servers_switch(
    body: dict[str, object], asks: bool
) -> None:
    assert asks_for_thinking(body) is asks
