"""Parts of a request by size: their sum is the server's count, and the work for it is linear."""

import json
from typing import Any

import pytest

from converter.addon.exchange import settings
from converter.addon.transcript import context_parts
from converter.addon.transcript.context_parts import MOST, context_values
from converter.addon.transcript.turns import Part
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"path": "x"}'}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CHAT = {
    "tools": [
        {"type": "function", "function": {"name": name, "parameters": PARAMETERS}}
        for name in ("look", "write")
    ],
    "messages": [
        {"role": "system", "content": "Be short. " * 20},
        {"role": "user", "content": [{"type": "text", "text": "Look."}, PICTURE]},
        {"role": "assistant", "reasoning_content": "I should look.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "a", "content": "found"},
    ],
}
MESSAGES = ROWS["messages"]
RESPONSES = ROWS["responses"]


def parts(body: object, counted: int | None = None) -> list[tuple[str, str, int]]:
    parts = context_values(json.dumps(body).encode(), settings.read(), counted)["parts"]
    assert isinstance(parts, list)
    return parts


@pytest.mark.parametrize("body", [CHAT, MESSAGES, RESPONSES])
def test_every_dialect_has_its_parts_by_kind(body: object) -> None:
    shown = parts(body)
    kinds = {"system", "tool", "turn", "thought", "call", "result", "picture"}
    assert {kind for kind, _, _ in shown} == kinds
    assert {name for kind, name, _ in shown if kind == "tool"} == {"look", "write (never called)"}
    assert [name.split()[1] for kind, name, _ in shown if kind == "result"] == ["look"]
    assert all(tokens > 0 for _, _, tokens in shown)


@pytest.mark.parametrize("counted", [1, 7, 100, 12_345])
def test_the_sum_is_what_the_server_counted(counted: int) -> None:
    shown = context_values(json.dumps(CHAT).encode(), settings.read(), counted)
    assert sum(tokens for _, _, tokens in parts(CHAT, counted)) == counted
    kinds = shown["kinds"]
    assert isinstance(kinds, list)
    assert sum(tokens for _, tokens in kinds) == counted
    assert "counted by the server" in str(shown["note"])


def test_an_estimate_is_called_one() -> None:
    body = {"prompt": "word" * 100}
    assert parts(body) == [("turn", "prompt", 100)]
    assert "estimated" in str(
        context_values(json.dumps(body).encode(), settings.read(), None)["note"]
    )


def test_the_largest_are_listed_and_the_others_are_one() -> None:
    turns = [{"role": "user", "content": "x" * (at + 4)} for at in range(MOST + 10)]
    shown = parts({"messages": turns}, 1_000_000)
    assert len(shown) == MOST + 1
    assert shown[-1][:2] == ("other", "10 smaller parts")
    assert sum(tokens for _, _, tokens in shown) == 1_000_000


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"messages": 5, "tools": {"a": 1}}', b'{"tools": [5, {}]}', b"\xff"],
)
def test_odd_bodies_are_listed_and_raise_nothing(body: bytes) -> None:
    shown = context_values(body, settings.read(), 10)["parts"]
    assert isinstance(shown, list)
    assert all(tokens >= 0 for _, _, tokens in shown)


def test_half_a_surrogate_pair_has_a_size() -> None:
    assert parts({"messages": [{"role": "user", "content": "\ud83d" * 4}]})[0][0] == "turn"


def test_the_work_for_an_agents_request_is_one_look_at_each_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """70 tools and 100 turns: each part is looked at once, and twice as many take twice the work."""
    looks = list[Part]()
    name = context_parts._part_name

    def counted(part: Part, *rest: Any) -> str:
        looks.append(part)
        return name(part, *rest)

    monkeypatch.setattr(context_parts, "_part_name", counted)

    def work(tools: int, turns: int) -> int:
        looks.clear()
        listed = [{"type": "function", "function": {"name": f"t{at}"}} for at in range(tools)]
        messages = [{"role": "user", "content": "x"} for _ in range(turns)]
        shown = parts({"tools": listed, "messages": messages})
        assert len(shown) == tools + turns
        return len(looks)

    assert work(70, 100) == 100
    assert work(140, 200) == 200
