"""JSON values in a text that arrives in pieces: whole, short, or as the arguments of a call."""

from collections.abc import Callable

import pytest

from converter.core.model.events import ToolCall
from converter.core.reading.tool_calls.call import Call
from converter.core.reading.tool_calls.json_value import (
    BARE_LIMIT,
    arguments,
    decoded,
    expect,
    object_of,
    string,
    value_text,
)
from converter.core.reading.tool_calls.source import (
    NAME_LIMIT,
    BrokenArguments,
    Refused,
    Source,
    Step,
)
from converter.core.wire.bounds import HELD_LIMIT


def read[T](text: str, grammar: Callable[[Source], Step[T]]) -> tuple[T, str]:
    """What a grammar reads, and the rest, whole and character by character."""
    results = []
    for pieces in ([text], list(text)):
        source = Source()
        step, waiting = grammar(source), list(pieces)
        while True:
            source.feed(waiting.pop(0) if waiting else "")
            source.last = not waiting
            try:
                next(step)
            except StopIteration as end:
                results.append((end.value, source.rest + "".join(waiting)))
                break
    assert results[0] == results[1]
    return results[0]


@pytest.mark.parametrize(
    "value",
    [
        '{"a": [1, "}"]}',
        '[1, {"b": "]"}]',
        '"a, \\" }"',
        "'a, }'",
        "12.5",
        "True",
        "[f(x=(1, 2)), ']']",
    ],
)
@pytest.mark.parametrize("behind", [', "next": 1}', "}", "]"])
def test_a_value_is_taken_as_it_is_written(value: str, behind: str) -> None:
    made, rest = read(f" {value}{behind}", value_text)
    assert (made.strip(), rest) == (value, behind)


@pytest.mark.parametrize("text", ['{"a": 1', '"a', "1", "1" * (BARE_LIMIT + 2)])
def test_a_value_that_goes_on_without_end_is_none(text: str) -> None:
    with pytest.raises(Refused):
        read(text, value_text)


def test_a_value_that_is_too_long_breaks_the_call() -> None:
    source = Source()
    source.feed('"' + "x" * (HELD_LIMIT + 1))
    with pytest.raises(BrokenArguments):
        next(value_text(source))


def test_a_short_string_is_read_with_its_escapes() -> None:
    assert read('a\\u00e9\\n"rest', string) == ("aé\n", "rest")
    for wrong in ("x" * NAME_LIMIT + '"', '\\x"', "x"):
        with pytest.raises(Refused):
            read(wrong, string)
    assert decoded("two\nlines") == "two\nlines"


def test_a_mark_that_is_not_there_is_refused() -> None:
    assert read(" :x", lambda source: expect(source, ":")) == (None, "x")
    with pytest.raises(Refused):
        read("x", lambda source: expect(source, ":"))


@pytest.mark.parametrize("text", ['{"a": [1]}', '"{\\"a\\": [1]}"'])
def test_arguments_are_said_but_for_their_last_brace(text: str) -> None:
    for pieces in ([text], list(text)):
        events: list[ToolCall] = []
        source, call = Source(), Call({"f": {}}, events.append, events.clear, 0, "a")
        call.named("f")
        step = arguments(source, call)
        for piece in pieces:
            source.feed(piece)
            next(step, None)
        assert "".join(event.arguments for event in events) == '{"a": [1]'


def test_brackets_may_be_missing_before_a_closing_mark() -> None:
    events: list[ToolCall] = []
    source, call = Source(), Call({"f": {}}, events.append, events.clear, 0, "a")
    call.named("f")
    source.feed('{"a": [1</end>')
    with pytest.raises(StopIteration):
        next(object_of(source, call, ("</end>",)))
    assert "".join(event.arguments for event in events) == '{"a": [1]'
    assert source.rest == "</end>"
