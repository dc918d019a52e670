"""A next turn goes out as if it were the first, whatever its client changes in what it repeats."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.memory.known_turns import SHORT, KnownTurns
from tests.support.addon_flows import MESSAGES, ask, request, running
from tests.support.rows import rows_of
from tests.support.strategies import law
from think_addon import ThinkAddon

ROWS = rows_of(__file__)

type Body = dict[str, Any]

_MARK = {"cache_control": {"type": "ephemeral"}}
_TEXT = {"type": "text", "text": "é 你 🙂 \\ud83d"}
_FUNCTION = {"name": "f", "arguments": '{"n": 1}'}
_TOOL = {"name": "f", "input_schema": {"type": "object"}}
_CALLED = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
TURNS: dict[str, list[Body]] = ROWS["turns"]
_WRITERS: list[Callable[[Any], str]] = [
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    lambda value: json.dumps(value, indent=1),
]
_CHANGES = ("edit", "less", "metadata", "order", "tools", "mark")


def first(path: str) -> Body:
    messages = [{"role": "user", "content": "a" * SHORT}]
    name = "input" if path == "/v1/responses" else "messages"
    return {"model": "small", "max_tokens": 9, name: messages, "stream": True}


def next_turn(draw: Callable[[st.SearchStrategy[Any]], Any], path: str, before: Body) -> Body:
    """Return a body that repeats most of the previous body."""
    body, turns = deepcopy(before), st.sampled_from(TURNS[path])
    messages = body["input" if "input" in body else "messages"]
    changes = draw(st.sets(st.sampled_from(_CHANGES), max_size=3))
    messages += deepcopy(draw(st.lists(turns, min_size=1, max_size=4)))
    at = draw(st.integers(0, len(messages) - 1))
    if "mark" in changes:
        for message in messages:
            message.pop("cache_control", None)
        messages[at] |= _MARK
    if "edit" in changes:
        messages[at] = deepcopy(draw(turns))
    if "less" in changes and at:
        del messages[at]
    if "metadata" in changes:
        body["metadata"] = {"user_id": draw(st.text(max_size=2))}
    if "tools" in changes:
        body["tools"] = [_TOOL] if path == MESSAGES else [{"type": "function", "function": _TOOL}]
    names = draw(st.permutations(list(body))) if "order" in changes else list(body)
    return {name: body[name] for name in names}


def outcome(addon: ThinkAddon, path: str, body: bytes, key: str) -> object:
    """Return what the server gets, or the client."""
    flow = ask(addon, request(path, body, x_api_key=key))
    if flow.response:
        return flow.response.status_code, flow.response.content
    return flow.request.path, flow.request.raw_content


@pytest.mark.parametrize("model", ["small", "Kimi-K2-Thinking"])
@pytest.mark.parametrize("path", TURNS)
@law(50)
@given(data=st.data())
def test_a_next_turn_goes_out_as_it_would_alone(path: str, model: str, data: st.DataObject) -> None:
    body = {**first(path), "model": model}
    with running(memory="memory:") as (addon, _), running(memory="memory:") as (forgetful, _):
        for _turn in range(data.draw(st.integers(2, 4))):
            body = next_turn(data.draw, path, body)
            key = data.draw(st.sampled_from(["one", "one", "one", "two"]))
            write = data.draw(st.sampled_from(_WRITERS))
            forgetful._requests._turns = KnownTurns()
            written = write(body).encode()
            assert outcome(addon, path, written, key) == outcome(forgetful, path, written, key)
