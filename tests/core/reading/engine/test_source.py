"""The text that is not read yet."""

from converter.core.reading.engine.source import Source


def test_a_mark_waits_for_its_last_character() -> None:
    source = Source()
    source.feed(" \n<tool")
    assert source.look(("<tool_call>",)) is None
    source.feed("_call> so")
    assert source.look(("<tool_call>",)) == ("<tool_call>", 2)
    assert source.take(3) == " \n<"
    assert source.look(("<tool_call>",)) == ("", 0)


def test_a_thoughts_closer_before_a_mark_says_nothing() -> None:
    source = Source()
    source.feed("</thi")
    assert source.look(("{",)) is None
    source.feed("nk> {")
    assert source.look(("{",)) == ("{", 9)


def test_at_the_end_half_a_mark_is_none() -> None:
    source = Source()
    source.feed("<tool")
    source.last = True
    assert source.look_at(("<tool_call>",), 0) == ("", 0)
