"""Readers of the slow reading, one by one."""

import re

import pytest

from laws.call_oracle_readers import (
    NOTHING,
    Members,
    Reader,
    Row,
    Said,
    elements,
    gemma,
    header,
    objects,
    python,
    tags,
)

CITY = r"<(?P<key>\w+)>(?P<value>.*?)</\w+>"
READ: list[tuple[Reader, str, str, list[Said]]] = [
    (objects(), "#", '#{"name": "f", "arguments": "{}"} so', [("f", {})]),
    (objects(), "#", '#{"function": {"name": "f", "args": {"a": 1}}}', [("f", {"a": 1})]),
    (objects("$"), "#", '#{"name": "f", "arguments": {"a": 1}$', [("f", {"a": 1})]),
    (objects("$"), "#", '#{"name": "f", "args": {"a": [1, $', [("f", {"a": [1]})]),
    (objects(by_key=True), "#", '#[{"f": {"a": 1}}, {"g": {}}]', [("f", {"a": 1}), ("g", {})]),
    (header, r"#(?P<name>\w+) ", '#f {"a": 1}', [("f", {"a": 1})]),
    (header, r"#(?P<name>\w+) ", "#f </f>", [("f", NOTHING)]),
    (tags(CITY, "!"), r"#(?P<name>\w+) ", "#f <a>\n1\n</a> <b>2</b>!", [("f", {"a": "1", "b": "2"})]),
    (tags(CITY, "!"), r"#(?P<name>\w+) ", '#f {"a": 1}!', [("f", {"a": 1})]),
    (python("$"), "#", "#[f(a=1), g()]$", [("f", {"a": 1}), ("g", {})]),
    (python("$"), "#", '#[{"name": "f", "arguments": {}}]$', [("f", {})]),
    (gemma("'", "$"), r"#(?P<name>\w+)", "#f{a:'b:c',d:[1]}$", [("f", {"a": "b:c", "d": [1]})]),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "begin", "text", "said"), READ)
def test_a_reader_takes_what_a_call_says(
    reader: Reader, begin: str, text: str, said: list[Said]
) -> None:
    row = Row("form", begin, reader)
    found = row.find(text, 0)
    assert found
    read = row.calls(text, found)
    assert read
    meant = [
        (name, given.arguments(["a"]) if isinstance(given, Members) else given)
        for name, given in read[1]
    ]
    assert meant == said


def test_members_are_arguments_where_the_schema_knows_them() -> None:
    assert Members({"a": 1, "id": 2}).arguments(["a"]) == {"a": 1}
    assert Members({"arguments": {"a": 1}, "b": 2, "note": None}).arguments("ab") == {
        "a": 1,
        "b": 2,
    }
    assert Members({"with": {"a": 1}}).arguments(["a"]) == {"a": 1}
    assert Members({"with": 1}).arguments(["a"]) is None
    assert Members({"arguments": {"a": 1}, "a": 2}).arguments(["a"]) is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"name": "f"}, {"a": 1}', {"a": 1}),
        ('{"name": "f", "arguments": {}} {"a": 1}, {"b": 2}', {"a": 1, "b": 2}),
        ('[{"name": "f"}, {"arguments": {"a": 1}}]', {"a": 1}),
        ('{"name": "f", "arguments": {"a": 1}}, {"a": 1}', {"a": 1}),
        ('{"name": "f", "arguments": {"a": 1}}, {"b": 2}', None),
        ('{"name": "f"}, {"c": 1}', None),
    ],
)
def test_an_object_without_a_name_belongs_to_the_one_before(written: str, meant: object) -> None:
    row = Row("form", "#", objects())
    found = row.find(f"#{written}", 0)
    assert found
    read = row.calls(f"#{written}", found)
    assert read
    ((name, members),) = read[1]
    assert isinstance(members, Members)
    assert (name, members.arguments("ab")) == ("f", meant)


def test_a_list_of_elements_is_one_of_items() -> None:
    mark = "]<]minimax[>["
    text = f"#f {mark}<a>{mark}<item>1{mark}</item>{mark}</a>{mark}</invoke>"
    found = re.match(r"#(?P<name>\w+) ", text)
    assert found
    assert elements(text, found) == (len(text), [("f", {"a": ["1"]})])


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (objects(), "#so"),
        (objects(), "#" + "[" * 100_000),
        (header, "#f so"),
        (tags(CITY, "!"), "#f <a>1</a> and so on"),
        (python("$"), "#[f(]$"),
        (python("$"), "#[f(a=b)]$"),
        (gemma("'", "$"), "#f{a:b}$"),
    ],
)
def test_what_cannot_be_read_is_no_call(reader: Reader, text: str) -> None:
    row = Row("form", r"#(?P<name>f? ?)", reader)
    found = row.find(text, 0)
    assert found
    assert row.calls(text, found) is None


def test_the_marks_behind_a_call_are_its_own() -> None:
    row = Row("form", "#", objects(), ["!", "[?]"])
    text = '#{"name": "f"} !? so'
    found = row.find(text, 0)
    assert found
    assert row.calls(text, found) == (len("#{'name': 'f'} !?"), [("f", {})])
