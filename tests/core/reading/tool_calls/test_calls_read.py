"""The notes on the calls of a reply."""

from collections import Counter

from converter.core.reading.tool_calls.calls_read import CallsRead


def test_calls_that_were_read_are_reported_by_their_offset() -> None:
    read = CallsRead(text_forms=Counter({"hermes": 2}), thought_forms=Counter({"kimi": 1}))
    assert read.hints == ["2 calls read from text: hermes", "1 call read from a thought: kimi"]
    assert CallsRead().hints == CallsRead().notes == []


def test_values_that_got_a_type_are_counted() -> None:
    one, more = CallsRead(typed_arguments=["a"]), CallsRead(typed_arguments=["a", "b", "a"])
    assert one.hints == ["1 value of a call put in the schema's type: 'a'"]
    assert more.hints == ["3 values of calls put in the schema's type: 'a', 'b'"]


def test_what_went_wrong_is_reported_call_by_call() -> None:
    read = CallsRead(cut_calls=["a"], calls_left_text=["b"], repetitions=["c"], mended_calls=["d"])
    assert [note.split("'")[1] for note in read.notes] == ["a", "b", "c", "d"]
