"""The text that is not read yet."""

import pytest

from converter.core.reading.engine.source import Source
from converter.core.reading.mark_search import NeedMore
from converter.core.reading.tool_calls.verdict import End


def test_a_mark_waits_for_its_last_character() -> None:
    source = Source(" \n<tool")
    with pytest.raises(NeedMore):
        source.mark_ahead(("<tool_call>",))
    source.rest += "_call> so"
    assert source.mark_ahead(("<tool_call>",)) == "<tool_call>"
    assert source.take(3) == " \n<"
    assert source.mark_ahead(("<tool_call>",)) == ""


def test_a_thoughts_closer_before_a_mark_is_skipped() -> None:
    source = Source("</thi")
    with pytest.raises(NeedMore):
        source.mark_ahead(("{",))
    source.rest += "nk> {"
    assert source.mark_ahead(("{",)) == "{"


def test_at_the_end_half_a_mark_is_none() -> None:
    source = Source("<tool")
    source.end = End.STOP
    assert source.mark_at(("<tool_call>",), 0) == ""
