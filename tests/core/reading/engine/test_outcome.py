"""What waits of thought and answer, and the notes on calls."""

from converter.core.model.events import Text, Thinking, ThinkingEnd
from converter.core.reading.engine.outcome import Answer, OpenThought
from converter.core.reading.tag_matcher import choose


def test_blanks_before_a_call_go_with_it_or_come_before_the_next_text() -> None:
    answer = Answer(0, lead="\n")
    assert answer.say("a") == [Text("\na")]
    answer.lead = "\n\n"
    assert answer.take_lead() == "\n\n"
    assert answer.release() == []
    answer.lead = "\n"
    assert answer.release() == [Text("\n")]


def test_text_that_a_closer_would_make_a_thought_waits() -> None:
    answer = Answer(2)
    assert answer.say("a", waits=True) == []
    assert answer.take_waiting() == [Text("a", 2)]
    assert answer.take_waiting() == []


def test_the_answers_closer_counts_once_its_opener_went() -> None:
    answer = Answer(0)
    answer.closed_by("</think>", {"</think>": ("<answer>", "</answer>")})
    assert answer.frames == ("<answer>", "")
    answer.frame(opens=True)
    answer.closed_by("", {})
    assert answer.frames == ("", "</answer>")


def test_an_unmatched_closer_behind_words_is_noted() -> None:
    answer = Answer(0)
    answer.note_unmatched("", "</think>")
    assert not answer.unmatched_closer
    answer.say("a")
    answer.note_unmatched("", "</think>")
    assert answer.unmatched_closer


def test_a_guess_waits_and_is_a_thought_in_the_end() -> None:
    thought = OpenThought(0, guessed=True)
    assert thought.hear("so") == []
    assert thought.settle() == [Thinking("so")]
    assert [type(event) for event in thought.end()] == [ThinkingEnd]
    thought.begin_guess()
    assert thought.hear("b") == []
    assert thought.take_guess() == "b"
    assert thought.end() == []


def test_a_thought_knows_its_marks() -> None:
    thought = OpenThought(0, guessed=False)
    assert thought.marks is None
    assert thought.closers == ()
    row = choose(["think-suffix"])[0]
    thought.open(row, "ab")
    assert thought.marks == ("<think:ab>", "</think:ab>")
    thought.forget()
    assert thought.marks is None
    assert thought.begun
