"""What a law that does not hold tells: the first event that differs, and in the last line a
command.
"""

import pytest

from laws.failures import Broken, BrokenLawError, compare, compare_bytes, events_of


def difference(expected: list[object], got: list[object]) -> str:
    with pytest.raises(BrokenLawError) as raised:
        compare("a client", expected, got)
    assert raised.value.variant == "a client"
    return raised.value.difference


def test_equal_events_say_nothing() -> None:
    compare("a client", ["a", ("text", "b")], ["a", ("text", "b")])
    compare_bytes("a client", b"data: 1\n\n", b"data: 1\n\n")


def test_the_first_difference_is_told_with_its_place() -> None:
    assert difference(["a", "b", "c"], ["a", "x", "y"]) == "event 1\n  expected: b\n  got:      x"


def test_an_event_that_is_missing_and_one_too_many_are_told() -> None:
    assert difference(["a", "b"], ["a"]) == "event 1\n  expected: b\n  got:      (nothing)"
    assert difference(["a"], ["a", "b"]) == "event 1\n  expected: (nothing)\n  got:      b"


def test_of_long_events_the_place_where_they_part_is_shown_in_one_line() -> None:
    told = difference(["x" * 500 + "\n1" + "y" * 500], ["x" * 500 + "\n2" + "y" * 500])
    assert "\\n1y" in told.split("\n")[1]
    assert "\\n2y" in told.split("\n")[2]
    assert max(map(len, told.split("\n"))) < 150


def test_bodies_are_compared_frame_by_frame_or_value_by_value() -> None:
    assert events_of(b"data: 1\n\ndata: 2\r\n\r\n") == ["data: 1", "data: 2", ""]
    assert events_of(b'{"a": {"b": [1, {}]}, "c": "d"}') == ["a.b[0]: 1", "a.b[1]: {}", 'c: "d"']
    with pytest.raises(BrokenLawError, match="event 1\n  expected: data: 2\n  got:      data: 3"):
        compare_bytes("a client", b"data: 1\n\ndata: 2\n\n", b"data: 1\n\ndata: 3\n\n")
    with pytest.raises(BrokenLawError, match="the same values, other bytes"):
        compare_bytes("a client", b'{"a":1}', b'{"a": 1}')


def test_what_is_told_names_recording_and_law_and_ends_with_the_command() -> None:
    lines = Broken(
        "sum-stream", "law 5 the oracle agrees", "a client", "event 0\n  expected: a\n  got:      b"
    ).told("do this")
    assert lines.split("\n")[0] == "sum-stream breaks law 5 the oracle agrees"
    assert lines.split("\n")[1] == "a client: event 0"
    assert lines.split("\n")[-1] == "do this"
