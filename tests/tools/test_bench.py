"""The bench works: every row is there, every reply is checked, and a wrong one is reported. Nothing
is timed here.
"""

import json
from pathlib import Path

import pytest

from tools.bench import __main__ as bench
from tools.bench import contenders
from tools.bench.contenders import Contender
from tools.bench.loads import LOADS, MEMORY, measures

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
    table, result = capsys.readouterr().out, json.loads((tmp_path / "bench.json").read_text())
    rows = contenders.rows()
    wanted = {
        (load.name, row.name, name)
        for load in LOADS
        for row in rows
        if row.takes(load.name)
        for name in measures(load)
    }
    assert {
        (entry["load"], entry["row"], entry["measure"]) for entry in result["measured"]
    } == wanted
    assert all(entry["ratios"] and not entry["wrong"] for entry in result["measured"])
    assert {held["row"] for held in result["memory"]} == {
        row.name for row in rows if row.arguments and row.takes(MEMORY.name)
    }
    assert all(load.name in table for load in LOADS)
    assert ", 0 of them wrong" in table


def test_a_reply_that_a_proxy_spoils_is_reported(
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
