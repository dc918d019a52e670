"""Every reply to every fault is full, cut or failed, in every dialect, streamed and whole."""

from collections.abc import Iterator

import pytest

from tests.faults.bench import CASES, Bench, Case, running
from tests.faults.hostile_server import Fault
from tests.faults.judge import CLIENTS

pytestmark = pytest.mark.slow

FAULTS: dict[str, list[Case]] = {}
for case in CASES:
    server = f"native {case.dialect} " if case.native else ""
    FAULTS.setdefault(f"{server}{case.fault.name}", []).append(case)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running(tmp_path_factory.mktemp("faults")) as started:
        yield started


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_the_client_learns_the_truth(bench: Bench, name: str) -> None:
    marks = [proxy.mark() for proxy in bench.proxies]
    wrong = {case.name: complaint for case in FAULTS[name] if (complaint := bench.complaint(case))}
    assert wrong == {}
    for proxy, mark in zip(bench.proxies, marks, strict=True):
        proxy.check(mark)


def test_after_all_faults_a_good_reply_is_good(bench: Bench) -> None:
    assert [bench.complaint(case) for case in FAULTS["good"]] == [""] * 2 * len(CLIENTS)


def test_no_fault_has_the_name_of_another() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
    assert all(isinstance(case.fault, Fault) for case in CASES)
