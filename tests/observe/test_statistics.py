"""The table over many replies."""

import pytest

from converter.observe.statistics import LEGEND, Reply, percentile, table, values

HERE, THERE = "127.0.0.1:8000", "127.0.0.1:9000"
STREAMED = {
    "model": "small",
    "finish": "stop",
    "thoughts": 2,
    "thinking": 30,
    "text": 10,
    "first_byte": 0.1,
    "first_thought": 0.2,
    "first_text": 1.2,
    "thinking_time": 1.0,
    "end": 2.0,
}
WHOLE = {
    "model": "small",
    "finish": "stop",
    "thoughts": 1,
    "thinking": 10,
    "text": 30,
    "first_byte": 3.0,
    "first_thought": 3.0,
    "end": 3.0,
}
BROKEN = {"model": "large", "thoughts": 0, "thinking": 0, "text": 0, "first_byte": 0.1, "end": 0.2}


def _cells(line: str) -> list[str]:
    return [cell for cell in line.split("  ") if cell.strip()]


def test_there_is_a_row_per_model_and_server_and_one_for_all() -> None:
    lines = table(
        [Reply(STREAMED, HERE, "vllm"), Reply(STREAMED, THERE), Reply(BROKEN, HERE, "generic")]
    )
    rows = [[cell.strip() for cell in _cells(line)][:4] for line in lines[1:-1]]
    assert rows == [
        ["large", f"vllm {HERE}", "1", "1"],
        ["small", f"vllm {HERE}", "1", "0"],
        ["small", THERE, "1", "0"],
        ["all", "3", "1", "4"],
    ]
    assert lines[-1] == LEGEND


def test_one_group_needs_no_row_for_all() -> None:
    assert len(table([Reply(STREAMED, HERE), Reply(WHOLE, HERE)])) == 3


def test_counts_are_added_and_the_share_is_of_characters() -> None:
    [row] = table([Reply(STREAMED, HERE), Reply(WHOLE, HERE)])[1:-1]
    assert [cell.strip() for cell in _cells(row)][2:6] == ["2", "0", "3", "50%"]


def test_times_are_of_streamed_replies_but_the_last() -> None:
    [row] = table([Reply(STREAMED, HERE), Reply(WHOLE, HERE)])[1:-1]
    assert row.split()[-5:] == ["0.10/0.10", "0.20/0.20", "1.20/1.20", "1.00/1.00", "2.00/3.00"]


def test_what_no_reply_has_is_a_dash() -> None:
    [row] = table([Reply({"model": "m", "finish": "stop"}, HERE)])[1:-1]
    assert row.split()[-6:] == ["-"] * 6


def test_no_replies_are_said_to_be_none() -> None:
    [line] = table([])
    assert "no replies" in line


def test_columns_stand_below_each_other() -> None:
    lines = table(
        [Reply(STREAMED, HERE), Reply({**WHOLE, "model": "a model of a longer name"}, THERE)]
    )[:-1]
    assert len({len(line) for line in lines}) == 1


def test_a_models_name_cannot_act_on_the_terminal() -> None:
    [row] = table([Reply({**STREAMED, "model": "\x1b[2J\x9b1m\n" + "x" * 500}, HERE)])[1:-1]
    assert not set(row) & set("\x1b\x9b\n")
    assert len(row) < 200


@pytest.mark.parametrize(("share", "expected"), [(0.5, 10), (0.95, 19), (1.0, 20), (0.01, 1)])
def test_percentiles_are_values_that_came(share: float, expected: float) -> None:
    assert percentile([float(value) for value in range(20, 0, -1)], share) == expected


def test_the_same_numbers_come_as_plain_values() -> None:
    small, large = values([Reply(BROKEN, HERE), Reply(STREAMED, HERE), Reply(WHOLE, HERE)])[::-1]
    assert (large["model"], large["failed"]) == ("large", 1)
    assert (small["replies"], small["thoughts"], small["thinking"]) == (2, 3, 40)
    assert small["end"] == {"p50": 2.0, "p95": 3.0}
    assert "first_byte" in small
    assert values([]) == []
