"""Any process of two machines answers any turn: conversations at random, behind the manual's HAProxy."""

import pytest

from tests.support.namespaces import networks_or_skip
from tools.bench.spread import WORKERS, run

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
