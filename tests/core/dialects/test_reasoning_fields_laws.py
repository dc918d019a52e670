"""The laws, over drawn replies with fields that no standard knows."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.reasoning_fields import REASONING_FIELDS
from converter.core.dialects.table import ANTHROPIC, Form
from tests.support.frames import whole
from tests.support.frames_of import OPENAI, STREAM, WHOLE, Json, values
from tests.support.messages_of import folded
from tests.support.reasoning_field_replies import custom, streamed, written
from tests.support.strategies import cut, law

pytestmark = pytest.mark.slow

WORDS = st.text(st.sampled_from("ab \n你🙂"), min_size=1, max_size=6)
NAMES = st.lists(
    st.sampled_from(["reasoning", "reasoning_content", "thinking", "musings"]),
    min_size=1,
    max_size=3,
    unique=True,
)
VALUES = WORDS | st.sampled_from([None, "", [], {}, 0, 1.5, False, ["a"], {"b": None}])
FIELDS = [
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "musings",
    "my_custom_field",
    "plan",
    "other",
    "content",
]
DELTAS = st.lists(
    st.dictionaries(st.sampled_from(FIELDS[:-1]), VALUES)
    | st.fixed_dictionaries({"content": WORDS}),
    max_size=8,
)


@law(150)
@given(st.data(), NAMES, WORDS, WORDS | st.sampled_from([0, [1], {"a": None}]), WORDS)
def test_law_3_streamed_equals_whole(
    data: st.DataObject, names: list[str], thought: str, value: object, said: str
) -> None:
    """One thought under the names, each in pieces of its own; then a block of the user's; then the
    answer.
    """
    deltas: list[Json] = [{name: piece} for name in names for piece in data.draw(cut(thought))]
    deltas += [
        {"my_custom_field": piece}
        for piece in (data.draw(cut(value)) if isinstance(value, str) else [value])
    ]
    deltas += [{"content": piece} for piece in data.draw(cut(said))]
    sent: Json = {**dict.fromkeys(names, thought), "my_custom_field": value}
    bodies = {STREAM: streamed(deltas), WHOLE: whole(said, **sent)}
    contents = [_content(body, server, form) for server, body in bodies.items() for form in Form]
    assert contents == [contents[0]] * 4
    assert custom(value) in contents[0]
    assert [_named(written(OPENAI, body, server), server) for server, body in bodies.items()] == [
        thought,
        thought,
    ]


def _content(body: bytes, server: Form, form: Form) -> Any:
    out = written(ANTHROPIC, body, server, form)
    return folded(out)["content"] if form is STREAM else json.loads(b"".join(out))["content"]


def _named(out: list[bytes], form: Form) -> str:
    """What stands under the name that clients are given."""
    bodies = values(out) if form is STREAM else [json.loads(b"".join(out))]
    said = [
        choice.get("message") or choice["delta"] for body in bodies for choice in body["choices"]
    ]
    return "".join(fields.get("reasoning_content") or "" for fields in said)


@law(150)
@given(DELTAS)
def test_law_4_every_field_survives_for_openai_clients(deltas: list[Json]) -> None:
    body = streamed(deltas)
    sent, got = values([body]), values(written(OPENAI, body, STREAM))
    for name in set(FIELDS) - {"reasoning_content"}:
        assert _joined(got, name) == _joined(sent, name)


def _joined(bodies: list[Json], name: str) -> list[object]:
    """What a field says, its strings joined; a thought is never a number."""
    said: list[object] = []
    for value in (choice["delta"].get(name) for body in bodies for choice in body["choices"]):
        if name in REASONING_FIELDS and isinstance(value, bool | int | float):
            continue
        if isinstance(value, str) and said and isinstance(said[-1], str):
            said[-1] += value
        elif value not in (None, "", [], {}):
            said.append(value)
    return said
