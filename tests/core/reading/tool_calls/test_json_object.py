"""An object in a text: its members, and what is missing of it."""

import json

import pytest

from converter.core.reading.tool_calls.json_object import json_object

WHOLE = ['{"a": 1, "b": {"c": [1, "}"]}, "d": "\\u00e9"}', "{}", "{ }", '{"a": 1.50}']


@pytest.mark.parametrize("text", WHOLE)
def test_json_is_read_as_it_stands(text: str) -> None:
    read = json_object(f"x{text}, more", 1)
    assert (read.closed, read.end, read.may_be_mended) == (True, len(text) + 1, False)
    assert json.loads(read.text) == json.loads(text)


MENDED = [
    ('{\'a\': True, b: [1, 2,], /* c */ "d": "x\ny",}', {"a": True, "b": [1, 2], "d": "x\ny"}),
    ('{"a": 1</think>, [/THINK]"b": 2}', {"a": 1, "b": 2}),
    ('{"id": call_1, "a": 1}', {"id": "call_1", "a": 1}),
    ('{"a": "\\ud83d \\d"}', {"a": "\ufffd \\d"}),
]


@pytest.mark.parametrize(("text", "wanted"), MENDED)
def test_text_with_one_meaning_is_mended(text: str, wanted: object) -> None:
    read = json_object(text, 0)
    assert (read.closed, read.may_be_mended, json.loads(read.text)) == (True, True, wanted)


OPEN = [
    ('{"a": {"b": [1', "a", '{"b": [1', None),
    ('{"a": {"b": [1]', "a", '{"b": [1]', "}"),
    ('{"a": {"b": [1],\n', "a", '{"b": [1]', "}"),
    ('{"a": "x', "a", '"x', None),
    ('{"a": {"b": true', "a", '{"b": true', "}"),
    ('{"a": 1,', None, "", ""),
    ('{"a": 1, "b', None, "", None),
    ("{", None, "", None),
]


@pytest.mark.parametrize(("text", "key", "begun", "missing"), OPEN)
def test_what_is_missing_of_an_open_object(
    text: str, key: str | None, begun: str, missing: str | None
) -> None:
    read = json_object(text, 0)
    assert (read.closed, read.end) == (False, len(text))
    assert (read.open_key, read.open_value, read.missing_brackets) == (key, begun, missing)
    assert json.loads(json_object(read.so_far + "}" * 9, 0).text) is not None
    if missing is not None:
        read.complete()
        assert json.loads(read.text)


def test_text_that_is_no_json_ends_it() -> None:
    read = json_object('{"a": [15:30]}', 0)
    assert (read.is_invalid, read.end, read.open_value) == (True, len('{"a": [15'), "[15")


def test_members_may_be_read_behind_the_brace() -> None:
    read = json_object('x "a": 1, "b": 2}y', 2, inside=True)
    assert (read.members, read.end) == ([("a", "1"), ("b", "2")], 17)
