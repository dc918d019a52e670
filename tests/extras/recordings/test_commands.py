"""`think-addon record`, as a user types it."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowWriter

from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT
from converter.extras.recordings import flow_file
from converter.extras.recordings.commands import main
from converter.extras.recordings.library import Library
from converter.extras.recordings.redact.redactor import redacted
from tests.extras.recordings.conftest import PLANTED, Capture
from tests.support.frames import stream
from tests.support.harness import SECONDS_TO_START, TESTS
from tests.support.raw_exchanges import exchange
from tests.support.rows import rows_of

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

COMMAND = [sys.executable, "-m", "converter.extras.command", "record"]
NAMES = ["sum", "sum-whole", "anthropic", "anthropic-whole", "tools", "error", "left", "echo"]

type Output = pytest.CaptureFixture[str]


def run(folder: Path, *arguments: str, fails: int = 0) -> None:
    assert main([*arguments, "--dir", str(folder)]) == fails


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    Library(tmp_path).keep(exchange())
    return tmp_path


@pytest.mark.long
def test_real_exchanges_are_kept_listed_and_checked(
    capture: Capture, tmp_path: Path, capsys: Output
) -> None:
    for number, name in enumerate(NAMES, 1):
        run(tmp_path, "add", str(capture.file), name, "--flow", str(number))
        assert capsys.readouterr().out == f"{tmp_path / name}.mitm\n"
    run(tmp_path, "list")
    assert capsys.readouterr().out.splitlines() == sorted(NAMES)
    run(tmp_path, "check")
    assert (
        capsys.readouterr().out
        == f"{len(NAMES)} of {len(NAMES)} recordings are as they should be\n"
    )
    run(tmp_path, "bless")
    assert capsys.readouterr().out == ""
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [word for word in PLANTED if word in written] == []


def test_added_twice_is_the_same_and_another_one_stays(
    kept: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Output
) -> None:
    source = Library(tmp_path_factory.mktemp("other")).keep(exchange(ended="gone"))
    run(kept, "add", str(kept / "hello.mitm"), "hello")
    run(kept, "add", str(source), "hello", fails=2)
    assert "is another recording; --replace" in capsys.readouterr().err
    run(kept, "add", str(source), "hello", "--replace")


def test_an_expectation_comes_with_add_and_options_with_bless(
    kept: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Output
) -> None:
    unread = exchange(stream("<mythink>I add.</mythink>84"))
    source = Library(tmp_path_factory.mktemp("unread")).keep(unread)
    options = ["--expect-thinking", "I add.", "--expect-text", "84", "--replace"]
    run(kept, "add", str(source), "hello", *options)
    assert capsys.readouterr().out.endswith("hello.expected.json\n")
    run(kept, "check", fails=1)
    output = capsys.readouterr().out.split("\n")
    assert "-I add." in output
    command, also = output[-4:-2]
    run(kept, "bless", "hello", fails=1)
    assert "hello is not read as expected" in capsys.readouterr().err
    arguments_printed = shlex.split(command)
    assert arguments_printed[:5] == ["think-addon", "record", "bless", "hello", "--dir"]
    run(kept, "bless", "hello", *arguments_printed[6:])
    shown = capsys.readouterr().out
    assert "+++ now/hello.openai.txt" in shown
    assert "reasoning_content" in shown
    assert shown.endswith(f"{also}\n")
    run(kept, "check")
    run(kept, "bless", "hello", "--set", "think_nothing=1", fails=2)


def test_show_shows_each_client_s_side(kept: Path, capsys: Output) -> None:
    run(kept, "show", "hello")
    both = capsys.readouterr().out
    run(kept, "show", "hello", "--for", "openai")
    assert both.startswith(capsys.readouterr().out)
    assert "an Anthropic client gets" in both


def test_check_and_bless_name_what_differs(kept: Path, capsys: Output) -> None:
    (kept / "hello.openai.txt").write_text("old\n")
    run(kept, "check", fails=1)
    output = capsys.readouterr().out
    assert (
        f"think-addon record bless hello --dir {kept}\n0 of 1 recordings are as they should be\n"
        in output
    )
    run(kept, "bless", "hello")
    assert "-old\n" in capsys.readouterr().out
    run(kept, "check")


def test_a_damaged_file_costs_one_line_and_no_other(kept: Path, capsys: Output) -> None:
    (kept / "bad.mitm").write_bytes(b"")
    run(kept, "bless", fails=2)
    output = capsys.readouterr()
    assert output.err.startswith(f"{kept / 'bad.mitm'}: expected a flow file")
    assert output.err.count("\n") == 1
    assert output.out == ""
    run(kept, "check", fails=1)
    assert "1 of 2 recordings" in capsys.readouterr().out


def _damage(flow: HTTPFlow, what: str) -> None:
    """Files that another version or a person may have written."""
    noted = json.loads(flow.metadata["think"])
    if what == "an option":
        noted["options"]["start"] = "sideways"
    elif what == "a type":
        noted["options"] |= {"tags": 7, "fields": {"a": 1}}
    elif what == "a path":
        flow.request.path = "/other"
    else:
        flow.request.content = b"7"
    flow.metadata["think"] = json.dumps(noted)


@pytest.mark.parametrize("what", ["an option", "a type", "a path", "a Messages request"])
def test_what_this_version_cannot_read_costs_one_line_and_no_other(
    what: str, kept: Path, capsys: Output
) -> None:
    client = ANTHROPIC if what == "a Messages request" else OPENAI_CHAT
    flow = flow_file.to_flow(redacted(exchange(name="bad", client=client)))
    _damage(flow, what)
    with (kept / "bad.mitm").open("wb") as file:
        FlowWriter(file).add(flow)
    for command, names, status in (("bless", [], 2), ("show", ["bad"], 2), ("check", [], 1)):
        run(kept, command, *names, fails=status)
        output = capsys.readouterr()
        complaint = output.out if command == "check" else output.err
        assert [("bad" in line) for line in complaint.split("\n")[:-1]] == [True, False][
            : complaint.count("\n")
        ]
    run(kept, "add", str(kept / "bad.mitm"), "again", fails=2)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(("arguments", "arguments_printed"), ROWS["bad use is one line"])
def test_bad_use_is_one_line(
    arguments: list[str], arguments_printed: str, kept: Path, capsys: Output
) -> None:
    run(kept, *arguments, fails=2)
    output = capsys.readouterr().err
    assert arguments_printed in output
    assert output.count("\n") == 1


def test_it_runs_as_a_program_and_stops_quietly_when_nobody_reads(kept: Path) -> None:
    shell = f"{' '.join(COMMAND)} show hello --dir {kept} | head -n 1"
    done = subprocess.run(
        shell,
        shell=True,
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=SECONDS_TO_START,
        check=True,
    )
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
