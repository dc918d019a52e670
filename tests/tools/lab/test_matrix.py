"""When an answer is as it should be."""

import pytest

from tools.lab.asking import Answer, Question
from tools.lab.matrix import CASES, Case, answers_at_once, calls, is_cut, summary, verdict

pytestmark = pytest.mark.slow

THOUGHT = Answer("I add.", "84", finish="stop")


@pytest.mark.parametrize(
    ("name", "answer", "wrong"),
    [
        ("thinking apart", THOUGHT, ""),
        ("thinking apart", Answer(text="84", finish="stop"), "no thinking"),
        ("thinking apart", Answer("I add.", finish="stop"), "no answer"),
        (
            "thinking apart",
            Answer("I add.", "84</think>", finish="stop"),
            "marks in the words: 84</think>I add.",
        ),
        ("thinking apart", Answer(error="500 gone"), "500 gone"),
        ("tool call", Answer(calls=[("get_weather", {"city": "Oslo"})]), ""),
        ("tool call", Answer(calls=[("get_weather", "{")]), "1 calls"),
        ("tool call", Answer(text="Sunny."), "no call: Sunny."),
        ("thinking off", THOUGHT, "thinking"),
        ("thinking off", Answer("12 * 7 is 84."), "thinking"),
        ("cut in a thought", Answer("I ad", finish="length"), ""),
        ("cut in a thought", Answer(text="I ad", finish="length"), "its thought is text"),
        ("stop string", Answer("I add.", "12 * 7"), ""),
        ("stop string", Answer("I add.", "12 * 7 is 84"), "not stopped"),
        ("two choices", Answer("I add.", "84", finish="stop", others=[THOUGHT]), ""),
        ("two choices", THOUGHT, "1 choices"),
        ("two choices", Answer("I", "84", finish="stop", others=[Answer()]), "no thinking"),
        ("JSON by a schema", Answer(text='{"city": "Oslo", "degrees": 7}'), ""),
        ("JSON by a schema", Answer(text='{"city": "Oslo"}'), "other JSON"),
        ("JSON by a schema", Answer(text="Oslo"), "no JSON"),
        ("JSON by a schema", Answer(text='{"city": ', finish="length"), "cut off"),
        ("reply too long", Answer(error="400 max_tokens exceeds"), ""),
        ("reply too long", THOUGHT, ""),
        ("reply too long", Answer(error="400 prompt is too long: 9"), "the prompt is blamed"),
        ("reply too long", Answer(error="500 oh"), "no error of the 400s"),
        ("wrong model", Answer(error="404 no such model"), ""),
        ("wrong model", Answer(error="500 no such model"), "no error of the 400s"),
        ("prompt too long", Answer(text="</think>"), "no error of the 400s"),
    ],
)
def test_an_answer_is_judged_by_its_question(name: str, answer: Answer, wrong: str) -> None:
    (case,) = [case for case in CASES if case.name == name]
    assert verdict(case, answer) == wrong


def test_a_row_says_how_many_were_right() -> None:
    assert summary({"chat streamed": "", "chat whole": ""}) == "yes"
    assert summary({"a": "", "b": "no thinking"}) == "1 of 2; b: no thinking"


def test_every_question_has_a_judge_that_some_answer_fails() -> None:
    assert all(verdict(case, Answer(text="<think>")) for case in CASES)
    assert Case("x", Question("y"), calls).judge(Answer())
    assert answers_at_once(Answer())
    assert is_cut(Answer())
