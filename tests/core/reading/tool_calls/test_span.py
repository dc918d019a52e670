"""The span of a candidate, and arguments that have one name."""

from converter.core.reading.tool_calls.span import Span, merge_arguments
from converter.core.reading.tool_calls.verdict import End
from tests.support.verdicts import ROWS


def test_blanks_and_closers_of_thoughts_are_a_gap() -> None:
    span = Span(ROWS["hermes"], " \n</think>\r\n[/THINK] x", End.STOP, {}, is_last=True)
    assert span.text[span.skip_blanks(0) :] == "x"
    assert span.skip_blanks(len(span.text)) == len(span.text)


def test_the_beginning_of_a_mark_may_close_the_call() -> None:
    span = Span(ROWS["qwen3-coder"], "</function>", End.STOP, {}, is_last=True)
    assert all(span.begins_closer(it) for it in ("</", "</tool_", "</func"))
    assert not span.begins_closer("<tool")
    assert (span.closes(0), span.closes(1)) == (True, False)


def test_equal_arguments_of_one_name_are_one() -> None:
    assert merge_arguments([("a", "1"), ("b", "2"), ("a", "1.0")]) == {"a": "1", "b": "2"}
    assert merge_arguments([("a", "1"), ("a", "true")]) is None
