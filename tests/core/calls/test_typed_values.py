"""Values of calls in the types of the tool's schema."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.calls.assembler import Assembler, Offer
from converter.core.calls.ids import CallIds
from converter.core.calls.typed_values import ArgumentValues, wants_types
from converter.core.dialects.table import DIALECTS, Dialect, Form
from converter.core.model.events import Event, Finish, Text, ToolCall, joined
from converter.core.wire.bounds import HELD_LIMIT
from laws.reply_parser import parse_reply
from tests.support.frames import chat_stream, chat_whole
from tests.support.recordings_of import JSON, STREAM, recording
from tests.support.strategies import cut, law

STRINGS = {"type": "array", "items": {"type": "string"}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "any": {},
        "either": {"type": ["string", "integer"]},
        "two": {"type": ["boolean", "integer"]},
        "number": {"type": "number"},
        "count": {"type": "integer"},
        "exact": {"type": "boolean"},
        "strings": STRINGS,
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "items": {"type": "array"},
        "options": {"type": "object", "properties": {"depth": {"type": "integer"}, "s": STRINGS}},
        "maybe": {"anyOf": [STRINGS, {"type": "null"}]},
        "places": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
    },
    "$defs": {"Place": {"type": "object", "properties": {"x": {"type": "number"}}}},
}
SAME: list[tuple[str, object]] = [
    ("text", "5"),
    ("text", "[1]"),
    ("text", 5),
    ("any", "5"),
    ("any", 5),
    ("unknown", "true"),
    ("either", "5"),
    ("two", "5"),
    ("two", "true"),
    ("number", "five"),
    ("number", ""),
    ("number", None),
    ("count", 5),
    ("exact", "yes"),
    ("exact", "1"),
    ("strings", ["a"]),
    ("strings", []),
    ("strings", ""),
    ("strings", " "),
    ("strings", None),
    ("strings", "null"),
    ("strings", 5),
    ("strings", {"a": 1}),
    ("numbers", "five"),
    ("numbers", True),
    ("options", "none"),
    ("options", {"other": "5"}),
    ("options", [1]),
]
CHANGED: list[tuple[str, object, object]] = [
    ("number", "5", 5),
    ("number", "-1.5", -1.5),
    ("count", " 5 ", 5),
    ("exact", "true", True),
    ("exact", "False", False),
    ("strings", '["a", "b"]', ["a", "b"]),
    ("strings", "['a', 'b']", ["a", "b"]),
    ("strings", "a", ["a"]),
    ("strings", "a, b", ["a, b"]),
    ("strings", '"a"', ['"a"']),
    ("items", "a", ["a"]),
    ("items", 5, [5]),
    ("items", True, [True]),
    ("items", {"a": [1]}, [{"a": [1]}]),
    ("numbers", "5", [5]),
    ("numbers", 5, [5]),
    ("numbers", '["5"]', [5]),
    ("numbers", ["5", 6], [5, 6]),
    ("options", '{"depth": "5"}', {"depth": 5}),
    ("options", {"depth": "5", "s": "a"}, {"depth": 5, "s": ["a"]}),
    ("maybe", "a", ["a"]),
    ("maybe", '["a"]', ["a"]),
    ("maybe", "null", None),
    ("places", {"x": "1"}, [{"x": 1}]),
    ("places", '[{"x": "1"}]', [{"x": 1}]),
]


def read(text: str, pieces: Sequence[str]) -> tuple[str, list[str]]:
    values = ArgumentValues(SCHEMA)
    out = "".join([*map(values.feed, pieces), values.close()])
    assert "".join(pieces) == text
    return out, values.changed


def in_every_cut(arguments: object) -> tuple[object, list[str]]:
    """Read the arguments whole, by character and cut in two, and written without blanks."""
    results = []
    for separators in ((", ", ": "), (",", ":")):
        for ascii_only in (True, False):
            text = json.dumps(arguments, separators=separators, ensure_ascii=ascii_only)
            ways = [[text], list(text)]
            ways += [[text[:offset], text[offset:]] for offset in range(1, len(text))]
            results += [read(text, cuts) for cuts in ways]
    assert all(json.loads(out) == json.loads(results[0][0]) for out, _ in results)
    assert all(changed == results[0][1] for _, changed in results)
    return json.loads(results[0][0]), results[0][1]


@pytest.mark.parametrize(("name", "value"), SAME)
def test_a_value_that_the_schema_takes_or_that_reads_as_none_stays(
    name: str, value: object
) -> None:
    arguments = {"text": "a", name: value, "any": ["5"]}
    assert in_every_cut(arguments) == (arguments, [])


@pytest.mark.parametrize(("name", "value", "wanted"), CHANGED)
def test_a_value_gets_the_only_type_that_the_schema_leaves(
    name: str, value: object, wanted: object
) -> None:
    for before, behind in (({}, {}), ({"text": "5"}, {"any": {"é\\": '\\"'}})):
        typed, changed = in_every_cut({**before, name: value, **behind})
        assert typed == {**before, name: wanted, **behind}
        assert {*changed} == {name}


def test_a_text_that_needs_nothing_goes_on_as_it_comes() -> None:
    values = ArgumentValues(SCHEMA)
    assert [
        values.feed(piece) for piece in ('{"te', 'xt": "a', "b", '\\n"', ', "strings": ["a')
    ] == [*("{", '"text": "a', "b", '\\n"', ', "strings": ["a')]


def test_only_a_string_that_may_be_another_value_waits() -> None:
    values = ArgumentValues(SCHEMA)
    assert values.feed('{"count": "') == '{"count": '
    assert values.feed("12") == ""
    assert values.feed('3", "text": "a') == '123, "text": "a'


def test_a_string_that_is_too_long_goes_on_as_one() -> None:
    values = ArgumentValues(SCHEMA)
    begun = '{"strings": "['
    assert values.feed(begun) == '{"strings": '
    out = values.feed("x" * HELD_LIMIT)
    assert out == '"[' + "x" * HELD_LIMIT
    assert values.feed('y", "count": "5"}') == 'y", "count": 5}'


@pytest.mark.parametrize("text", ['{"count": "5', '{"count', '{"strings": "[\\', '{"text": "\\'])
def test_arguments_that_were_cut_come_out_as_they_came(text: str) -> None:
    for pieces in ([text], list(text)):
        assert read(text, pieces) == (text, [])


@law(100)
@given(
    st.data(),
    st.dictionaries(
        st.sampled_from([*SCHEMA["properties"]]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.text(max_size=5)
            | st.sampled_from(["5", "[1]"]),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(st.text(max_size=2), inner, max_size=2)
            ),
            max_leaves=5,
        ),
        max_size=3,
    ),
)
def test_it_is_the_same_however_it_is_cut(
    data: st.DataObject, arguments: dict[str, object]
) -> None:
    text = json.dumps(arguments, ensure_ascii=data.draw(st.booleans()))
    out, changed = read(text, data.draw(cut(text)))
    assert (out, changed) == read(text, [text])
    json.loads(out)
    assert out == text or changed


def assembler(changed: list[str]) -> Assembler:
    offer = Offer({"f": SCHEMA}, converts_values=True)
    return Assembler(offer, CallIds(frozenset(), "x"), [], changed)


def fed(events: Sequence[Event]) -> tuple[list[Event], list[str]]:
    changed: list[str] = []
    stage = assembler(changed)
    return [emitted for event in events for emitted in stage.feed(event)], changed


def test_a_piece_that_needs_nothing_is_the_same() -> None:
    events: list[Event] = [
        ToolCall(0, "a", "f", '{"text": "a'),
        ToolCall(0, "", "", '"}', ends=True),
        Text("Hi"),
        Finish("tool_calls"),
    ]
    typed, changed = fed(events)
    assert (typed, changed) == (events, [])


def test_calls_that_take_turns_are_read_each_by_itself() -> None:
    typed, changed = fed(
        [
            ToolCall(0, "a", "f", '{"count": "1'),
            ToolCall(1, "b", "g", '{"count": "1'),
            ToolCall(1, "", "", '"}', ends=True),
            ToolCall(0, "", "", '2"}', ends=True),
            Finish("tool_calls"),
        ]
    )
    assert typed == [
        ToolCall(0, "a", "f", '{"count": '),
        ToolCall(0, "", "", "12}", ends=True),
        ToolCall(1, "b", "g", '{"count": "1"}', ends=True),
        Finish("tool_calls"),
    ]
    assert changed == ["count"]


def test_text_of_a_string_that_stays_one_is_plain() -> None:
    stage = assembler([])
    plain: list[object] = []
    for piece in ('{"text"', ': "a', " b", '", "count": "1', '2", "text": "c\\', 'n", '):
        stage.feed(ToolCall(0, "" if plain else "a", "" if plain else "f", piece))
        plain.append(stage.plain(ToolCall))
    string = ToolCall, '"\r\n\t'
    assert plain == [None, string, string, None, None, None]
    assert stage.plain(Text) == (Text, "")


def test_a_string_of_a_call_that_was_cut_comes_before_the_finish() -> None:
    typed, changed = fed([ToolCall(0, "a", "f", '{"count": "1'), Finish("length")])
    assert joined(typed) == [ToolCall(0, "a", "f", '{"count": "1'), Finish("length")]
    assert changed == []


def test_a_text_of_a_custom_call_is_left_alone() -> None:
    text = '{"count": "1"}'
    [call, *_], changed = fed([ToolCall(0, "a", "f", text, free_text=True), Finish("tool_calls")])
    assert isinstance(call, ToolCall)
    assert (json.loads(call.arguments + '"}'), changed) == ({"input": text}, [])


@pytest.mark.parametrize(
    ("properties", "wants"),
    [
        ({}, False),
        ({"a": {"type": "string"}}, False),
        ({"a": {}, "b": {"type": ["string", "integer"]}}, False),
        ({"a": {"type": "string"}, "b": {"type": "integer"}}, True),
        ({"a": STRINGS}, True),
        (None, False),
    ],
)
def test_only_a_tool_with_an_argument_that_is_no_string_is_looked_at(
    properties: object, wants: bool
) -> None:
    assert wants_types({"properties": properties}) is wants


OFFERED = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]
UNTYPED = {"text": "5", "count": "5", "exact": "true", "strings": '["a"]', "numbers": 7}
MEANT = {"text": "5", "count": 5, "exact": True, "strings": ["a"], "numbers": [7]}
WRITTEN = json.dumps(UNTYPED)
FUNCTION = {"name": "f", "arguments": WRITTEN}
DELTAS: dict[str, list[dict[str, Any]]] = {
    "the server's": [{"tool_calls": [{"index": 0, "id": "a", "function": FUNCTION}]}],
    "the server's, in pieces": [
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]},
        *[{"tool_calls": [{"index": 0, "function": {"arguments": each}}]} for each in WRITTEN],
    ],
    "in text": [{"content": f'<tool_call>{{"name": "f", "arguments": {WRITTEN}}}</tool_call>'}],
    "in text, in pieces": [
        {"content": each}
        for each in f'<tool_call>{{"name": "f", "arguments": {WRITTEN}}}</tool_call>'
    ],
}


BODIES = {kind: chat_stream(deltas, "tool_calls") for kind, deltas in DELTAS.items()} | {
    f"{kind}, whole": chat_whole({"role": "assistant", **DELTAS[kind][0]}, "tool_calls")
    for kind in ("the server's", "in text")
}


@pytest.mark.parametrize("values", ["schema", "sent"])
@pytest.mark.parametrize("client", DIALECTS, ids=lambda each: each.label.title)
@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("kind", BODIES)
def test_every_client_gets_the_values_in_their_types(
    kind: str, form: Form, client: Dialect, values: str
) -> None:
    body = BODIES[kind]
    label = JSON if body.startswith(b"{") else STREAM
    reply = recording(body, label, tools=OFFERED, options={"values": values})
    rewriter = reply.rewriter(client, form)
    out = b"".join([*rewriter.feed(body), *rewriter.close()])
    (call,) = parse_reply(out, form, client).choice().calls.values()
    assert json.loads(call["arguments"]) == (MEANT if values == "schema" else UNTYPED)
    hint = "4 values of calls put in the schema's type: 'count', 'exact', 'strings', 'numbers'"
    assert (hint in rewriter.findings.hints) is (values == "schema")
