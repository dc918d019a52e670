"""Arguments and what stands behind them."""

from itertools import batched

import pytest

from converter.core.calls.arguments import REMEMBERED, Arguments, arguments_of, meaning_of


def fed(text: str, size: int, waits: bool = False) -> tuple[str, Arguments]:
    read = Arguments(("a",) if waits else ())
    out = "".join([read.feed("".join(piece)) for piece in batched(text, size)])
    return out, read


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("behind", "unfit"),
    [
        ("", False),
        ("\n", False),
        ("}]", False),
        ("</tool_call> and more", False),
        ('{"a": "x"}', False),
        ('\n{ "a":"x" }\n', False),
        ('{"a": "x"}' * 3, False),
        ('{"a": "y"}', True),
        (" and more", True),
        ("{oops", True),
        ('{"a": "x"}{"a": "y"}', True),
    ],
)
def test_only_the_same_object_may_follow(behind: str, unfit: bool, size: int) -> None:
    out, read = fed('{"a": "x"}' + behind, size)
    assert out == '{"a": "x"}'
    assert bool(read.unfit) is unfit


def test_an_object_that_is_half_repeated_is_not_whole() -> None:
    _, read = fed('{"a": "x"}{"a"', 100)
    assert not read.complete
    assert not read.unfit


@pytest.mark.parametrize("behind", ["", "{}", '{"a": 1}', '\n{"a": 1}'])
def test_an_empty_object_waits_for_the_real_one(behind: str) -> None:
    out, read = fed("{}", 100, waits=True)
    assert (out, read.complete, read.waiting) == ("", False, True)
    out = read.feed(behind) + read.close()
    assert out.strip() == ('{"a": 1}' if "a" in behind else "{}")
    assert read.complete


def test_an_empty_object_of_a_tool_without_parameters_goes_on() -> None:
    assert fed("{}", 100)[0] == "{}"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ({"arguments": '{"a":1}'}, ('{"a":1}', True)),
        ({"arguments": ""}, ("", True)),
        ({}, ("", True)),
        ({"arguments": None}, ("", True)),
        ({"arguments": {}}, ("{}", False)),
        ({"arguments": {"a": 1}}, ('{"a":1}', False)),
        ({"arguments": []}, ("", False)),
        ({"parameters": {"a": 1}}, ('{"a":1}', False)),
        ({"arguments": None, "input": '{"a":1}'}, ('{"a":1}', False)),
        ({"arguments": 5}, ("5", False)),
    ],
)
def test_arguments_are_read_where_servers_put_them(
    function: dict[str, object], expected: tuple[str, bool]
) -> None:
    assert arguments_of(function) == expected


SAME = '{"a": 1, "b": [true, "\u00e9"]}'


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ('{"b":[true,"\\u00e9"],"a":1.0}', True),
        ('{"a": 1e0, "b": [true, "\u00e9"]}', True),
        ('{"a": true, "b": [true, "\u00e9"]}', False),
        ('{"a": "1", "b": [true, "\u00e9"]}', False),
        ('{"a": 1, "b": [1, "\u00e9"]}', False),
        ('{"a": 1.5, "b": [true, "\u00e9"]}', False),
    ],
)
def test_a_call_is_the_same_if_it_means_the_same(other: str, same: bool) -> None:
    assert (meaning_of(SAME) == meaning_of(other)) is same
    _, read = fed(SAME + other, 3)
    assert bool(read.unfit) is not same


def test_a_text_that_is_no_json_has_no_meaning() -> None:
    assert meaning_of('{"a"') == meaning_of("[" * 100_000) == ""


@pytest.mark.parametrize(("behind", "unfit"), [('{"a":"x"}', False), ('{"a": "y"}', True)])
def test_an_object_is_compared_though_its_text_was_forgotten(behind: str, unfit: bool) -> None:
    _, read = fed('{"a": "x"}', 100)
    read.forget()
    assert read.feed(behind) == ""
    assert bool(read.unfit) is unfit


def test_an_open_object_that_is_long_is_not_compared() -> None:
    _, read = fed('{"a": "' + "x" * REMEMBERED, 1 << 20)
    read.forget()
    assert read.feed('"}') == '"}'
    read.feed('{"a": "' + "x" * REMEMBERED + '"}')
    assert read.unfit
