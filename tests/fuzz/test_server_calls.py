"""Calls of a server, drawn in every kind of disorder: ids and indexes or none, names in pieces,
repeated and with marks, arguments in every shape, one to three calls in up to two choices. An
oracle that knows the calls which were meant tells what a client may run: these, or nothing.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.table import DIALECTS, OPENAI_CHAT, Dialect, Form
from laws.server_words import listen
from tests.support.recordings_of import recording
from tests.support.strategies import cut, law

pytestmark = pytest.mark.slow

type Json = dict[str, Any]
NAMES = ("get", "get_weather", "look", "remove", "now")
PROPERTIES: Json = {"path": {}, "city": {}, "n": {}}
OFFERED = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {} if name == "now" else PROPERTIES},
        },
    }
    for name in NAMES
]
_VALUES: st.SearchStrategy[object] = st.sampled_from(
    [
        "Oslo",
        "",
        "</think>",
        "}",
        '{"a": 1}',
        "é\U0001f600",
        "\n",
        7,
        True,
        None,
        [1, "x"],
        {"k": {}},
    ]
)
_GIVEN = st.dictionaries(st.sampled_from([*PROPERTIES]), _VALUES, max_size=3)
_DRESSES = st.sampled_from(
    [
        "{}",
        "functions.{}",
        "{}<|channel|>commentary",
        "</think>{}",
        "{}\n",
        "{}:0",
        "default_api:{}",
    ]
)


_INDEXES: dict[str, Json] = {"none": {}, "null": {"index": None}, "zero": {"index": 0}}


@st.composite
def _meant(draw: st.DrawFn) -> tuple[str, Json]:
    name = draw(st.sampled_from(NAMES))
    return name, {} if name == "now" else draw(_GIVEN)


@st.composite
def _pieces(draw: st.DrawFn, call: tuple[str, Json], head: Json) -> list[Json]:
    """One call in the pieces of a stream, clear enough to have one meaning. `head`: the fields of
    its first piece, of which the index stands in each.
    """
    name, given = call
    index = {"index": head["index"]} if "index" in head else {}
    text = json.dumps(given, ensure_ascii=draw(st.booleans()))
    shape = draw(st.sampled_from(["text", "object", "twice", "empty first", "marks", "open"]))
    if shape == "object":
        return [{**head, "function": {"name": name, "arguments": given}}]
    text += text if shape == "twice" else "\n</tool_call>" if shape == "marks" else ""
    if shape == "open" and text.endswith(("]}", '"}', "}}")):
        text = text[:-1]
    said = [""] if not given and draw(st.booleans()) else draw(cut(text))
    if shape == "empty first" and given and name != "now":
        said = ["{}", *said]
    parts = [draw(_DRESSES).format(name)]
    if parts == [name] and draw(st.booleans()):
        parts = draw(cut(name))
    # a name said again before the same object, without an id, may as well be the same call again
    again = shape not in ("twice", "empty first") and len(parts) == 1 and draw(st.booleans())
    names: list[Json] = [{"name": part, "arguments": ""} for part in parts]
    names[-1]["arguments"] = said[0] if len(parts) > 1 or draw(st.booleans()) else ""
    rest = said[1:] if names[-1]["arguments"] == said[0] else said
    more = [{**({"name": parts[0]} if again else {}), "arguments": piece} for piece in rest]
    told = [{**index, "function": function} for function in (*names, *more)]
    told[0] |= {**head, "type": "function"}
    return told


@st.composite
def _choice(draw: st.DrawFn) -> tuple[list[tuple[str, Json]], list[Json]]:
    calls = draw(st.lists(_meant(), min_size=1, max_size=3))
    numbers = draw(st.sampled_from(["each", "none", "null", "zero"]))
    ids = numbers != "each" or draw(st.booleans())
    heads: list[Json] = []
    for place in range(len(calls)):
        named: Json = {"id": f"c{place}"} if ids else {}
        heads.append(named | _INDEXES.get(numbers, {"index": place}))
    return calls, [
        piece
        for call, head in zip(calls, heads, strict=True)
        for piece in draw(_pieces(call, head))
    ]


def _frame(choice: int, delta: object, finish: str | None = None) -> bytes:
    entry = {"index": choice, "delta": delta, "finish_reason": finish}
    said = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [entry]}
    return b"data: " + json.dumps(said).encode() + b"\n\n"


def _run(frames: list[bytes], client: Dialect, form: Form) -> dict[int, object] | None:
    """The calls that a client runs, by choice; None for an error."""
    given_reply = recording(b"".join([*frames, b"data: [DONE]\n\n"]), tools=OFFERED)
    rewriter = given_reply.rewriter(client, form)
    out = b"".join([*rewriter.feed(given_reply.body), *rewriter.close()])
    heard = listen(out, form, client)
    if heard.error or rewriter.failure:
        return None
    runs: dict[int, object] = {}
    for index, words in heard.choices.items():
        ids = [call["id"] for call in words.calls.values()]
        assert all(ids)
        assert len(ids) == len(set(ids))
        assert [*words.calls] == [*range(len(words.calls))]
        runs[index] = [
            (call["name"], json.loads(call["arguments"] or "{}")) for call in words.calls.values()
        ]
    return runs


@law(60)
@given(
    st.data(), st.lists(_choice(), min_size=1, max_size=2), st.sampled_from(range(len(DIALECTS)))
)
def test_a_client_runs_what_was_meant(
    data: st.DataObject, choices: list[tuple[list[tuple[str, Json]], list[Json]]], number: int
) -> None:
    client = DIALECTS[number]
    told = choices if client is OPENAI_CHAT else choices[:1]
    order = [index for index, (_, pieces) in enumerate(told) for _ in pieces]
    waiting = [iter(pieces) for _, pieces in told]
    frames = [
        _frame(index, {"tool_calls": [next(waiting[index])]})
        for index in data.draw(st.permutations(order))
    ]
    frames += [_frame(index, {}, "tool_calls") for index in range(len(told))]
    expected = {index: calls for index, (calls, _) in enumerate(told)}
    for form in Form:
        assert _run(frames, client, form) == expected
