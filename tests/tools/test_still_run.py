"""The tools that measure and draw still run; a person judges their figures."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.namespaces import networks_or_skip
from tools import moving_picture, page_benchmark, pictures, view_benchmark
from tools.bench import agents_soak, earlier, gaps, growth, memory, spread, turns
from tools.lab.installing import INSTALLERS
from tools.lab.servers import CONFIGURATIONS

pytestmark = pytest.mark.slow

type Main = Callable[[Sequence[str]], int | None]

LOOK = ["--frames", "4", "--runs", "1", "--megabytes"]
PAGE = [*LOOK, "0.001", "--exchanges", "3", "--only"]
RUNS: list[tuple[Main, list[str], int, str]] = [
    (earlier.main, [], 1 + len(earlier.TURNS), ""),
    (growth.main, ["--size", "2", "--runs", "1"], 1 + len(growth.CASES), ""),
    (gaps.main, ["--repetitions", "1", "--only", "count of", "--rows", "bare", "addon"], 3, "aim:"),
    (turns.main, ["--quick"], 9, "0 replies were wrong"),
    (agents_soak.main, ["--minutes", "0.1"], 4, "0 replies were wrong"),
    *((view_benchmark.main, [*LOOK, "0.01", "--only", part], 4, "") for part in ("paced", "open")),
    *((page_benchmark.main, [*PAGE, part], 4, "") for part in ("paced", "fast", "paint")),
]


@pytest.mark.nightly
@pytest.mark.parametrize(("main", "arguments", "lines", "last"), RUNS)
def test_rows_are_printed_and_no_reply_is_wrong(
    main: Main, arguments: list[str], lines: int, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not main(arguments)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) >= lines
    assert printed[-1].startswith(last)


@pytest.mark.nightly
def test_every_store_returns_every_turn_exactly() -> None:
    with networks_or_skip("two machines were NOT tried"):
        pass
    assert memory.main(["--quick"]) == 0
    result = spread.run(conversations=60, turns=5)
    assert result.wrong == []
    assert result.exact == result.turns == 300
    assert len(result.processes) == 2 * spread.WORKERS


@pytest.mark.nightly
def test_the_manual_gets_its_pictures(tmp_path: Path) -> None:
    pictures.make(tmp_path)
    assert len([*tmp_path.iterdir()]) == 3
    assert max(path.stat().st_size for path in tmp_path.iterdir()) < 160_000
    moving_picture.make(tmp_path / "think.webp")
    assert (tmp_path / "think.webp").read_bytes().count(b"ANMF") > 15


def test_the_lab_starts_every_server_that_it_installs() -> None:
    assert CONFIGURATIONS.keys() == INSTALLERS.keys()
