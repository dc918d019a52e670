"""A small soak: some seconds of clients in all dialects, a part of them with a fault, and more
streams at one time than any test has. `make soak` is the long one.
"""

from pathlib import Path

import pytest

from tests.soak.plans import faults, plan
from tests.soak.soak import Report, crowd, soak

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_nothing_is_wrong_and_nothing_left_after_some_seconds(tmp_path: Path) -> None:
    report = soak(minutes=0.1, clients=8, folder=tmp_path)
    assert not report.wrong
    assert not report.left
    assert report.exchanges > 50
    assert report.faulty


def test_many_streams_at_one_time_are_exact(tmp_path: Path) -> None:
    crowded = crowd(90, tmp_path)
    assert not crowded.wrong
    assert not crowded.left
    assert crowded.at_once == 90


def test_clients_meet_faults_in_both_forms() -> None:
    assert len(faults(stream=True)) > 5
    assert len(faults(stream=False)) > 2


def test_a_plan_is_always_the_same() -> None:
    assert plan(7) == plan(7)
    assert plan(7).text != plan(8).text


def test_growth_is_the_last_quarter_against_the_second() -> None:
    assert Report(memory=[1, 100, 100, 110]).growth == 1.1
    assert not Report(memory=[1, 100, 100, 110]).holds
    assert Report(memory=[1, 100, 500, 105]).holds


def test_what_is_left_or_wrong_does_not_hold() -> None:
    assert not Report(wrong=["1 good"]).holds
    report = Report()
    report.after["tasks"] += 1
    assert report.left == {"tasks": 1}
    assert not report.holds
