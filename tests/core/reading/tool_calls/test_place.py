"""A place in the text that may hold calls: what becomes of its text."""

from converter.core.model.events import Event, Text, ToolCall
from converter.core.reading.tool_calls.place import CallPlace, Expectations, Fate, PlaceText
from converter.core.reading.tool_calls.source import Source
from tests.support.tool_call_texts import TOOLS

CALL = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
LIST = '<tool_call>[{"name": "now"}, {"name": "other"}, {"name": "now"}]</tool_call>'


def place(text: str, opener: str = "<tool_call>", in_doubt: bool = False) -> CallPlace:
    source = Source()
    source.feed(text)
    made = CallPlace(source, Expectations(TOOLS), 0, PlaceText(0, doubted=in_doubt))
    made.begin(opener)
    return made


def kinds(events: list[Event]) -> list[str]:
    return [
        event.text if isinstance(event, Text) else f"{event.name}{event.arguments}"
        for event in events
        if isinstance(event, Text | ToolCall)
    ]


def test_text_is_held_until_the_call_counts_and_then_gone() -> None:
    made = place('<tool_call>{"name": ')
    assert not made.advance()
    assert (made.text.fate, "".join(made.text.held)) == (Fate.HELD, '<tool_call>{"name":')
    made.source.feed('"now", "arguments": {"')
    assert not made.advance()
    assert (made.text.fate, made.text.held, kinds(made.text.drain())) == (
        Fate.TAKEN,
        [],
        ["now", '{"'],
    )


def test_all_behind_the_opener_is_read_up_to_the_closing_mark() -> None:
    made = place(CALL + "rest")
    assert made.advance()
    assert (made.source.rest, made.refused, made.current.done) == ("rest", False, True)


def test_a_call_of_no_tool_flows_out_and_those_beside_it_count() -> None:
    made = place(LIST + ".")
    assert made.advance()
    said = "|".join(kinds(made.text.drain()))
    assert said.startswith("now|{|}|")
    assert said.endswith("|now|{|}")
    assert said.replace("|", "").count('{"name": "other"}, ') == 1


def test_calls_of_no_tool_are_not_remembered() -> None:
    many = '{"name": "other"}, {"name": "now"}, ' * 100
    made = place(f"<tool_call>[{many}]</tool_call>.")
    assert made.advance()
    assert [call.id for call in made.calls] == [f"call_{number}" for number in range(100)]


def test_in_doubt_nothing_comes_out() -> None:
    made = place(CALL + ".", in_doubt=True)
    assert made.advance()
    assert (made.text.drain(), "".join(made.text.held)) == ([], CALL)


def test_in_doubt_one_call_of_no_tool_makes_all_text() -> None:
    made = place(LIST + ".", in_doubt=True)
    assert made.advance()
    assert not made.text.doubted
    assert "".join(kinds(made.text.drain())) == LIST
    assert not [call for call in made.calls if call.begun]


def test_what_does_not_fit_is_told() -> None:
    made = place('<tool_call>{"name": "now", "arguments": {"a": oops}}')
    assert made.advance()
    assert (made.refused, made.text.fate, made.source.rest) == (True, Fate.TAKEN, "oops}}")


def test_a_call_whose_arguments_are_none_is_text_up_to_its_closing_mark() -> None:
    none = '<tool_call>{"name": "now", "arguments": {oops} <b> }</tool_call>'
    made = place(none + "rest")
    assert made.advance()
    assert ("".join(kinds(made.text.drain())), made.source.rest, made.refused) == (
        none,
        "rest",
        False,
    )


def test_or_up_to_the_next_call() -> None:
    none = '<tool_call>{"name": "now", "arguments": {oops} '
    made = place(none + CALL)
    assert made.advance()
    assert ("".join(kinds(made.text.drain())), made.source.rest) == (none, CALL)


def test_words_of_an_argument_are_plain_while_its_call_counts() -> None:
    begun = '<tool_call>{"name": "now", "arguments": {"a": "b'
    made, doubted = place(begun), place(begun, in_doubt=True)
    assert (made.text.plain(), doubted.text.plain()) == (None, None)
    assert (made.advance(), doubted.advance()) == (False, False)
    assert (made.text.plain(), doubted.text.plain()) == ('"\r\n\t', None)
    made.source.feed('"')
    assert not made.advance()
    assert made.text.plain() is None
