"""When an answer is as it should be."""

import pytest

from tools.lab import matrix
from tools.lab.asking import Answer, Question

pytestmark = pytest.mark.slow


def test_every_question_has_a_judge_that_some_answer_fails() -> None:
    assert all(matrix.fault_of(case, Answer(text="<think>")) for case in matrix.CASES)
    assert matrix.Case("x", Question("y"), matrix.fault_unless_one_call).judge(Answer())
    assert matrix.fault_unless_no_thought(Answer())
    assert matrix.fault_unless_cut(Answer())
