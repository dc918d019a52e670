"""The scan between marks: what waits for a call, and what is noted on the way."""

from converter.core.model.events import Text
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.family_choice import choose
from converter.core.reading.tool_calls.head import Expectations

AUTO = choose(["auto"])


def test_line_ends_wait_for_a_call_only_where_calls_are_read() -> None:
    engine = Engine(
        mark_table(AUTO, offered=True, reads_calls=True), asked=Expectations({"now": {}})
    )
    assert engine.feed("a\n") == [Text("a")]
    assert engine.holds
    assert engine.feed("b") == [Text("\nb")]
    assert Engine(mark_table(AUTO)).feed("a\n") == [Text("a\n")]


def test_a_closer_behind_words_is_noted_and_stays_text() -> None:
    engine = Engine(mark_table(AUTO))
    assert engine.feed("a</think>b") == [Text("a</think>b")]
    assert engine.answer.unmatched_closer
    engine = Engine(mark_table(AUTO))
    engine.feed("`</think>` ends it")
    assert not engine.answer.unmatched_closer


def test_a_closer_that_goes_is_noted_unless_there_was_a_thought_before() -> None:
    for text, noted in (
        ("a<channel|>b<think>why</think>", True),
        ("<think>\n</think>a", True),  # no thought: it has said nothing
        ("<think>why</think>a", False),
    ):
        for pieces in ([text + "<channel|>c"], list(text + "<channel|>c")):
            engine = Engine(mark_table(AUTO))
            said = [event for piece in pieces for event in engine.feed(piece)]
            assert "<channel|>" not in "".join(getattr(event, "text", "") for event in said)
            assert engine.answer.dropped_closer is noted


def test_half_a_mark_of_special_tokens_at_the_end_is_no_text() -> None:
    engine = Engine(mark_table(AUTO))
    assert engine.feed("a<|channel|>ana") == [Text("a")]
    assert engine.flush("length") == []
