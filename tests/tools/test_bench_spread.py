"""Any process of two machines answers any turn: conversations at random, behind the manual's HAProxy."""

import pytest

from tests.support.namespaces import networks_or_skip
from tools.bench.spread import WORKERS, Result, answered, run

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_every_turn_is_exact_whichever_process_answers() -> None:
    with networks_or_skip("two machines were NOT tried"):
        pass
    told = run(conversations=60, turns=5)
    assert told.wrong == []
    assert told.exact == told.turns == 300
    assert len(told.processes) == 2 * WORKERS
    assert told.moves > told.turns / 5


def test_a_turn_that_is_not_exact_is_told() -> None:
    told = Result(2, seconds=1, exact=1, wrong=["c1: turn 0: {}"])
    first, *_, last = told.lines()
    assert first.startswith("1 of 2 turns exact")
    assert last == "c1: turn 0: {}"


def test_words_in_another_order_are_another_answer() -> None:
    assert answered(["a", "b"]) != answered(["b", "a"])
