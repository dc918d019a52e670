"""JSON values in a text that arrives in pieces: whole, short, or as the arguments of a call."""

import json
from collections.abc import Callable

import pytest

from converter.core.model.events import ToolCall
from converter.core.reading.tool_calls.call import Call
from converter.core.reading.tool_calls.json_value import (
    arguments,
    meaning,
    object_of,
    read_key,
    read_string,
    read_value,
    string_piece,
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
    ("value", "wanted"),
    [
        ('{"a": [1, "}"]}', {"a": [1, "}"]}),
        ('[1, {"b": "]"},]', [1, {"b": "]"}]),
        ('"a, \\" }"', 'a, " }'),
        ("'a, }'", "a, }"),
        ("12.5", 12.5),
        ("True", True),
        ("{a: None, /* x */ 'b': ',',}", {"a": None, "b": ","}),
    ],
)
@pytest.mark.parametrize("behind", [', "next": 1}', "}", "]"])
def test_a_value_is_taken_and_mended(value: str, wanted: object, behind: str) -> None:
    made, rest = read(f" {value}{behind}", read_value)
    assert (json.loads(made), rest) == (wanted, behind)


@pytest.mark.parametrize("text", ['{"a": 1', '"a', "1", ""])
def test_a_value_without_an_end_is_none(text: str) -> None:
    with pytest.raises(Refused):
        read(text, read_value)


@pytest.mark.parametrize(
    ("text", "rest"), [("[1, oops]}", "oops]}"), ("{/x}", "/x}"), ("tru3,", "3,")]
)
def test_text_that_is_no_value_breaks_the_call_where_it_begins(text: str, rest: str) -> None:
    for cut in range(len(text)):
        source = Source()
        source.feed(text[:cut])
        step = read_value(source)
        broken: BrokenArguments | None = None
        for piece in ("", text[cut:]):
            source.feed(piece)
            try:
                next(step)
            except BrokenArguments as error:
                broken = error
                break
        behind = "" if piece else text[cut:]
        assert broken
        assert "".join([*broken.args, source.rest, behind]) == rest


@pytest.mark.parametrize("limit", [HELD_LIMIT, 10])
def test_a_value_that_is_too_long_breaks_the_call(limit: int) -> None:
    source = Source()
    source.feed('"' + "x" * limit)
    with pytest.raises(BrokenArguments):
        next(read_value(source, limit))


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ('"a\\u00e9\\n"', "aé\n"),
        ("'it\\'s'", "it's"),
        (' "two\nlines"', "two\nlines"),
        ('"\\ud83d"', "\ufffd"),
        (f'"{"x" * NAME_LIMIT}"', "x" * NAME_LIMIT),
    ],
)
def test_a_short_string_is_read_with_its_escapes(written: str, wanted: str) -> None:
    assert read(f"{written}rest", read_string) == (wanted, "rest")


@pytest.mark.parametrize("wrong", [f'"{"x" * (NAME_LIMIT + 1)}"', "x", "1", "", '"x', "/* x"])
def test_what_is_no_short_string_is_refused(wrong: str) -> None:
    with pytest.raises(Refused):
        read(wrong, read_string)


@pytest.mark.parametrize("written", ['"name":', "'name' :", "name\n:", "/* a */ , name:"])
def test_a_key_is_read_as_json_has_it_however_it_is_written(written: str) -> None:
    assert read(f" {written} 1", read_key) == ("name", " 1")


@pytest.mark.parametrize(
    "wrong", ['"name" 1', "}", "na", ":", f"/* {'x' * NAME_LIMIT} */ a:", f'"{"k" * NAME_LIMIT}":']
)
def test_what_is_no_key_is_refused(wrong: str) -> None:
    with pytest.raises(Refused):
        read(wrong, read_key)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("a\nb", "a\nb"),
        (r"a\nb", "a\nb"),
        (r"\ud83d\ude42\u00e9", "🙂é"),
        (r"\ud83d, \ude42", "\ufffd, \ufffd"),
        (r"\d\'\uxyz", "\\d'\\uxyz"),
    ],
)
def test_a_string_is_read_piece_by_piece(written: str, wanted: str) -> None:
    def grammar(source: Source) -> Step[str]:
        said = ""
        while piece := (yield from string_piece(source, '"')):
            said += meaning(source.take(len(piece)))
        return said

    assert read(f'{written}"', grammar) == (wanted, '"')


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
