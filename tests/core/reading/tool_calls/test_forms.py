"""Every form in every situation: what comes out of what a model wrote, cut anywhere."""

import json
from collections.abc import Iterator

import pytest

from converter.core.model.events import Event, Text, ToolCall, joined
from converter.core.reading.engine.engine import Engine
from converter.core.reading.rows import Counts
from converter.core.reading.tool_calls.bodies import Header, Json, Keyed
from converter.core.reading.tool_calls.forms import FORMS, OPENERS, SECTIONS, WHOLE
from converter.core.reading.tool_calls.head import Expectations
from tests.support.call_engine import call_engine
from tests.support.strategies import every_so_many
from tests.support.tool_call_texts import TOOLS, WRITTEN, Calls, Written, dumps

HARD = (
    'if (a) { b["0"] = "}" } // </tool_call> <function=now> [TOOL_CALLS] <invoke name="now">\n'
    "```\n\n`x` <|tool_call_begin|>\n\n<arg_key> ' \\ \\n {"
)
SITUATIONS: dict[str, Calls] = {
    "one call": [("get_weather", {"city": "Oslo", "days": 3, "metric": True})],
    "two calls": [
        ("get_weather", {"city": "Oslo"}),
        ("write_file", {"path": "a", "content": "b c"}),
    ],
    "a string that looks like a number": [("write_file", {"path": "007", "content": "true"})],
    "braces and marks in strings": [
        ("write_file", {"path": "{x}", "content": HARD, "meta": {"a": [1, "}"]}, "tags": ["["]})
    ],
    "characters of all kinds": [("write_file", {"path": "日本/🙂", "content": "é\u2028ü \x7f"})],
    "no arguments": [("now", {})],
}
CASES = [
    pytest.param(written, calls, id=f"{name}: {situation}")
    for name, written in WRITTEN.items()
    for situation, calls in SITUATIONS.items()
    if written.bare or calls[0][1]
]
SPECIAL_FORMS = {form.name for form in FORMS if form.counts is Counts.EVERYWHERE}
_FORMS_OF_JSON = {form.name for form in FORMS if isinstance(form.body, Json)}
ONE = SITUATIONS["one call"][0]
OF_JSON = [
    name
    for name, written in WRITTEN.items()
    if written.form in _FORMS_OF_JSON and dumps(ONE[1]) in written.write([ONE])
]
"""Ways of writing whose arguments are an object within an object."""
BY_NAME = pytest.mark.parametrize("written", WRITTEN.values(), ids=list(WRITTEN))
TWO = SITUATIONS["two calls"]


def parser() -> Engine:
    return call_engine(Expectations(TOOLS))


def read(text: str, size: int = 0, cut: bool = False) -> list[Event]:
    """Return the events of the text, fed in pieces of that size."""
    reading = parser()
    pieces = [text[at : at + size] for at in range(0, len(text), size)] if size else [text]
    out = [event for piece in pieces for event in reading.feed(piece)]
    return joined([*out, *reading.flush(cut=cut)])


def parts_of(events: list[Event]) -> list[object]:
    """Texts as they are, calls as name and arguments."""
    return [
        (event.name, json.loads(event.arguments)) if isinstance(event, ToolCall) else event.text
        for event in events
        if isinstance(event, Text | ToolCall)
    ]


@pytest.mark.parametrize(("written", "calls"), CASES)
def test_calls_are_read_as_they_were_meant(written: Written, calls: Calls) -> None:
    reading = parser()
    text = written.write(calls)
    events = joined([*reading.feed(text), *reading.flush()])
    assert parts_of(events) == list(calls)
    assert [call.form for call in reading.calls.read if call.whole] == [written.form] * len(calls)


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", OF_JSON)
def test_arguments_as_a_string_are_the_same_in_every_form_of_json(
    name: str, situation: str
) -> None:
    calls = SITUATIONS[situation]
    text = WRITTEN[name].write(calls)
    for _, arguments in calls:
        text = text.replace(dumps(arguments), dumps(dumps(arguments)), 1)
    assert [parts_of(read(text, size)) for size in (0, 1, 2, 7)] == [list(calls)] * 4


@pytest.mark.parametrize(("written", "calls"), CASES)
def test_calls_are_the_same_however_the_text_is_cut(written: Written, calls: Calls) -> None:
    text = written.write(calls)
    assert [read(text, size) for size in (1, 2, 3, 7)] == [read(text)] * 4


@BY_NAME
def test_calls_are_the_same_cut_at_every_position(written: Written) -> None:
    text = f"Look.\n{written.write(SITUATIONS['one call'])}\n"
    text = text.removeprefix("Look.\n") if written.whole else text
    wanted = read(text)
    for offset in every_so_many(range(len(text))):
        reading = parser()
        pieces = (text[:offset], text[offset:])
        events = [event for piece in pieces for event in reading.feed(piece)]
        assert joined([*events, *reading.flush()]) == wanted


@pytest.mark.slow
@BY_NAME
def test_the_cost_of_a_chunk_is_that_of_what_is_held(written: Written) -> None:
    """For a chunk the parser looks at the held text and the chunk, however long the call is."""
    looked_at = []
    for length in (400, 1600):
        text = written.write([("write_file", {"path": "x", "content": "word " * length})])
        reading, longest = parser(), 0
        for at in range(0, len(text), 10):
            reading.feed(text[at : at + 10])
            longest = max(longest, len(reading._source.rest))
        looked_at.append(longest)
    assert looked_at[0] == looked_at[1] < 400


@BY_NAME
def test_text_around_calls_stays_less_the_blanks_that_touch_them(written: Written) -> None:
    text = f"Let me see.\n\n{written.write(TWO)}\n\nThat was it.\n"
    alone = written.whole and written.form != "functools"  # which counts at a line's head
    wanted = [text] if alone else ["Let me see.", *TWO, "That was it.\n"]
    for size in (0, 1, 5):
        assert parts_of(read(text, size)) == wanted


@BY_NAME
def test_blanks_around_the_reply_do_not_matter(written: Written) -> None:
    assert parts_of(read(f"\n\n{written.write(TWO)}\n \n", 3)) == list(TWO)


@BY_NAME
def test_a_call_of_no_tool_is_text_byte_for_byte(written: Written) -> None:
    wrong = [(f"{name}_", arguments) for name, arguments in (*TWO, *SITUATIONS["one call"])]
    text = f"Look:\n\n{written.write(wrong)}\n\nSo."
    for before in ("", "Look:\n\n"):
        text = f"{before}{written.write(wrong)}\n\nSo. "
        assert read(text) == read(text, 1) == read(text, 4) == [Text(text)]


@BY_NAME
def test_a_call_in_a_code_block_is_text_unless_its_marks_are_special_tokens(
    written: Written,
) -> None:
    text = f"Like this:\n\n~~~~\n{written.write(TWO)}\n~~~~\n"
    is_special = not written.whole and written.form in SPECIAL_FORMS
    wanted = ["Like this:\n\n~~~~", *TWO, "~~~~\n"] if is_special else [text]
    assert parts_of(read(text)) == parts_of(read(text, 1)) == wanted


@BY_NAME
def test_a_whole_call_in_a_sentence_counts(written: Written) -> None:
    call = written.write(TWO[:1]).rstrip()
    text = f"One writes {call} for that."
    unclosed = written.form == "granite-20b"  # written without its closing mark
    wanted = [text] if written.whole or unclosed else ["One writes ", *TWO[:1], "for that."]
    assert parts_of(read(text)) == parts_of(read(text, 1)) == wanted
    text = f"I look it up now {call}"
    wanted = [text] if written.whole else ["I look it up now ", *TWO[:1]]
    assert parts_of(read(text)) == parts_of(read(text, 1)) == wanted


def _cuts(written: Written) -> Iterator[str]:
    text = written.write([*SITUATIONS["one call"], ("write_file", {"path": "x", "tags": ["y"]})])
    yield from (text[:end] for end in every_so_many(range(1, len(text))))


@BY_NAME
def test_a_call_that_was_cut_off_is_never_completed(written: Written) -> None:
    wanted = [*SITUATIONS["one call"], ("write_file", {"path": "x", "tags": ["y"]})]
    for text in _cuts(written):
        reading = parser()
        events = joined([*reading.feed(text), *reading.flush(cut=True)])
        calls = [event for event in events if isinstance(event, ToolCall)]
        if not calls:
            assert events == [Text(text)]
        for call, read, (name, arguments) in zip(calls, reading.calls.read, wanted, strict=False):
            assert call.name == read.name == name
            if read.whole:
                assert json.loads(call.arguments) == arguments
            else:
                with pytest.raises(json.JSONDecodeError):
                    json.loads(call.arguments)


def test_every_form_is_written_by_some_test() -> None:
    assert {form.name for form in FORMS} == {written.form for written in WRITTEN.values()}


def test_no_mark_begins_another_so_that_a_stream_can_tell_them_apart() -> None:
    marks = {*OPENERS, *SECTIONS}
    begun = {(one, other) for one in marks for other in marks - {one} if other.startswith(one)}
    assert begun == set()


def test_marks_that_a_stream_waits_for_begin_with_no_letter() -> None:
    """Otherwise any word at a chunk's end would be held; marks of whole replies count once."""
    assert not [mark for mark in (*OPENERS, *SECTIONS) if mark[0].isalnum()]
    blank = [mark for mark in (*OPENERS, *SECTIONS, *WHOLE) if mark[:1].isspace()]
    assert {mark[0] for mark in blank} == {"\n"}  # which waits for a call in any case


def test_every_header_has_a_name() -> None:
    headers = [form.body for form in FORMS if isinstance(form.body, Header)]
    assert len(headers) > 3
    assert all("(?P<name>" in header.pattern for header in headers)


def test_what_opens_is_not_what_closes() -> None:
    bodies = [form.body for form in FORMS if isinstance(form.body, Keyed)]
    assert len(bodies) > 12
    for marks_of in bodies:
        opening = {*marks_of.starts, *marks_of.key_openers, marks_of.value_opener} - {""}
        assert not opening & {*marks_of.body_closers, *marks_of.value_closers, marks_of.key_closer}
