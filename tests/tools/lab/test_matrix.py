"""When an answer is as it should be."""

import pytest

from tools.lab.asking import Answer, Question
from tools.lab.matrix import CASES, Case, answers_at_once, calls, is_cut, verdict

pytestmark = pytest.mark.slow


def test_every_question_has_a_judge_that_some_answer_fails() -> None:
    assert all(verdict(case, Answer(text="<think>")) for case in CASES)
    assert Case("x", Question("y"), calls).judge(Answer())
    assert answers_at_once(Answer())
    assert is_cut(Answer())
