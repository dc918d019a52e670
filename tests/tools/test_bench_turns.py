"""The report on turns still runs, and its agents speak as agents do; a person judges the figures."""

import json

import pytest

from tools.bench import agents_soak
from tools.bench.agents import Agent
from tools.bench.turns import COLUMNS, SIZES, main

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_rows_are_printed_and_every_reply_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick"]) == 0
    _, columns, *rows = capsys.readouterr().out.splitlines()
    assert columns == COLUMNS
    kinds = {"100 kB, chat", "100 kB, Messages", "whole reply", "first byte", "bare", "addon"}
    assert all(any(row.startswith(kind) for row in rows) for kind in kinds)
    assert rows[-1] == "0 replies were wrong"


@pytest.mark.nightly
def test_agents_ask_beside_a_stream_and_every_reply_is_exact(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert agents_soak.main(["--minutes", "0.1"]) == 0
    heading, minute, answered, end = capsys.readouterr().out.splitlines()
    assert heading == agents_soak.HEADING
    assert minute.split()[0] == "1"
    assert len(minute.split()) == 1 + 2 * len(agents_soak.SIDES)
    words = answered.removeprefix("requests answered: ").replace(",", "").split()
    assert words[1::2] == [*agents_soak.SIDES]
    assert all(int(count) > 0 for count in words[::2])
    assert end == "0 replies were wrong"


@pytest.mark.parametrize("size", SIZES.values())
def test_a_request_has_about_the_bytes_that_its_row_says(size: int) -> None:
    agent = Agent(1, "m")
    for written in (agent.chat(agent.turns_of(size)), agent.messages(agent.turns_of(size))):
        assert 0.9 < len(written) / size < 1.1


def test_a_next_turn_repeats_the_turn_before_but_moves_its_marks_and_metadata() -> None:
    before, now = (json.loads(Agent(1, "m").messages(turns)) for turns in (3, 4))
    assert before["metadata"] != now["metadata"]
    assert before["messages"][:-1] == now["messages"][: len(before["messages"]) - 1]
    moved, kept = now["messages"][len(before["messages"]) - 1], before["messages"][-1]
    assert kept["content"][0].pop("cache_control")
    assert moved == kept
