"""The measuring tool works: every row is there, every reply is checked, and a wrong one is told of. Nothing is timed here."""

import json
import sys
from pathlib import Path

import pytest

from tools.bench import __main__ as bench
from tools.bench import contenders, report
from tools.bench.contenders import BARE, Contender
from tools.bench.loads import LOADS, MEMORY, measures
from tools.bench.processes import Started, cores
from tools.bench.reading import fault
from tools.bench.replies import CALLED, KINDS, Name, expected, stream, whole

pytestmark = pytest.mark.slow

SPOILS = """
def responseheaders(flow):
    flow.response.stream = lambda chunk: chunk.replace(b"streams", b"dreams!")
"""


@pytest.mark.nightly
def test_a_quick_run_measures_every_row_and_checks_every_reply(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(["--quick", "--json", str(tmp_path / "bench.json")]) == 0
    table, told = capsys.readouterr().out, json.loads((tmp_path / "bench.json").read_text())
    rows = contenders.rows()
    wanted = {
        (load.name, row.name, name)
        for load in LOADS
        for row in rows
        if row.takes(load.name)
        for name in measures(load)
    }
    assert {(entry["load"], entry["row"], entry["measure"]) for entry in told["measured"]} == wanted
    assert all(entry["ratios"] and not entry["wrong"] for entry in told["measured"])
    assert {held["row"] for held in told["memory"]} == {
        row.name for row in rows if row.arguments and row.takes(MEMORY.name)
    }
    assert all(load.name in table for load in LOADS)
    assert ", 0 of them wrong" in table


def test_a_reply_that_a_proxy_spoils_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "spoils.py"
    script.write_text(SPOILS)
    rows = contenders.ROWS[0], Contender("spoils", arguments=("-s", str(script)), apart=False)
    monkeypatch.setattr(contenders, "ROWS", rows)
    assert (
        bench.main(["--quick", "--loads", "burst, 1 ", "--json", str(tmp_path / "bench.json")]) == 1
    )
    table = capsys.readouterr().out
    assert "spoils, burst, 1 stream: tags.40.0: expected" in table
    assert table.count("WRONG REPLIES") == len(measures(LOADS[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_server_writes_is_what_a_client_must_read(kind: str) -> None:
    said = b"".join(token.as_it_is for token in stream(Name(kind, 300)).tokens)
    message = expected(Name(kind, 300))
    begins = {"plain": " I", CALLED: ""}.get(kind, (" We", " Look"))
    assert message.text.startswith(begins)
    assert bool(message.text) == (kind != CALLED)
    assert message.thinking.startswith("" if kind == "plain" else " I")
    assert bool(message.calls) == (kind in ("call", CALLED))
    assert said.count(b"\r\ndata: ") >= 290


def test_thinking_left_in_the_text_is_a_fault_only_where_it_must_be_apart() -> None:
    name = Name("whole", 40)
    assert fault(name, "openai", False, whole(name)) == ""
    assert "expected" in fault(name, "openai", True, whole(name))


def test_a_reply_cut_short_is_a_fault() -> None:
    name = Name("whole", 40)
    assert "cannot be read" in fault(name, "openai", False, whole(name)[:-20])


def test_a_paced_reply_is_checked_without_the_times_it_says() -> None:
    words = "".join(f" @{second:017.6f}" for second in (12.123456, 12.2, 12.3, 13.0))
    said = b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\ndata: [DONE]\n\n' % words.encode()
    assert fault(Name("plain", 4, 50), "openai", True, said) == ""
    assert fault(Name("plain", 5, 50), "openai", True, said) != ""


def test_a_ratio_is_that_of_neighbours() -> None:
    samples = report.Samples()
    samples.add("burst, 1 stream", "addon", {"CPU a chunk": 3.0}, {"CPU a chunk": 2.0})
    samples.add("burst, 1 stream", "addon", {"CPU a chunk": 30.0}, {"CPU a chunk": 10.0})
    assert samples.ratios("burst, 1 stream", "addon", "CPU a chunk") == [1.5, 3.0]
    assert samples.rows("burst, 1 stream") == ["addon"]
    assert BARE not in samples.rows("burst, 1 stream")


def test_the_work_of_a_child_counts_for_the_process_that_started_it(tmp_path: Path) -> None:
    busy = (
        "import time\nwhile time.process_time() < 0.2: pass\nprint('worked', flush=True)\ninput()"
    )
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    with Started([sys.executable, "-u", "-c", parent], cores()[1], tmp_path / "log") as process:
        while "worked" not in process.log.read_text() and process.running:
            pass
        assert process.processor_time > 0.2
        process.tell("go on")
