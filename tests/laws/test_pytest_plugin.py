"""The plugin in a project of its own: a folder of captures is collected, and a fault in the parser
makes one fail.
"""

import compileall
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from converter.extras.recordings.library import Library
from tests.support.frames import END, delta, text
from tests.support.recordings_of import of_whole, recording, streamed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SAYS = ["<think>\nI add", " them.\n</thi", "nk>\n\nIt", " is 5."]
CALL = b'{"error":{"message":"no such model","type":"invalid_request_error","code":400}}'


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A streamed reply, a whole one, an error and a stream that broke off, kept as any other."""
    folder = tmp_path_factory.mktemp("project") / "captures"
    kept = [
        streamed(*SAYS, name="sum-stream"),
        of_whole("".join(SAYS), name="sum-whole"),
        streamed("It is a <", "thi", name="held"),
        recording(
            b"".join([delta(reasoning_content="why"), *text("a <think>", "b"), *END]), name="native"
        ),
        recording(CALL, "application/json", name="error", status=400),
        recording(streamed(*SAYS).body[:500], name="dropped", ended="server disconnected"),
    ]
    for each in kept:
        Library(folder).keep(each)
    return folder


@pytest.fixture
def project(captures: Path, tmp_path: Path) -> Path:
    """A project with captures and a test, in which warnings are errors."""
    shutil.copytree(captures, tmp_path / "captures")
    (tmp_path / "test_mine.py").write_text("def test_mine() -> None:\n    pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    return tmp_path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as `pip install` lays it down, compiled, entry points included."""
    site = tmp_path_factory.mktemp("site")
    for name in ("converter", "laws"):
        shutil.copytree(ROOT / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(site / name, quiet=1)
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][
        "pytest11"
    ]
    information = site / "think_addon-0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: think-addon\nVersion: 0\n")
    (information / "entry_points.txt").write_text(
        "[pytest11]\n" + "".join(f"{name} = {to}\n" for name, to in points.items())
    )
    return site


# what each run imports without them is imported in half the time
PLUGINS_OF_OTHERS = ("cacheprovider", "anyio", "hypothesispytest", "langsmith_plugin")


def run(project: Path, site: Path, *arguments: str) -> tuple[int, str]:
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    without = [word for name in PLUGINS_OF_OTHERS for word in ("-p", f"no:{name}")]
    command = [sys.executable, "-m", "pytest", *without, *arguments]
    ran = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.long
def test_a_project_gets_an_item_for_each_law_and_golden(project: Path, installed: Path) -> None:
    recordings = ("--think-recordings", "captures", "--think-cuts", "1")
    status, output = run(project, installed, *recordings, "-v")
    assert status == 0, output
    for name in (
        "law 1 bytes cut anywhere",
        "law 3 streamed equals whole",
        "law 9 streams of blocks in order",
    ):
        assert f"captures/sum-stream.mitm::{name} PASSED" in output
    assert "captures/sum-stream.mitm::golden for openai clients PASSED" in output
    assert "captures/sum-stream.mitm::golden for anthropic clients PASSED" in output
    assert "captures/error.mitm::law 4 nothing lost PASSED" in output
    assert "captures/dropped.mitm::law 3" not in output
    assert "test_mine.py::test_mine PASSED" in output


@pytest.mark.long
def test_a_project_keeps_a_module_that_has_the_name_of_ours(project: Path, installed: Path) -> None:
    (project / "converter.py").write_text("MINE = 1\n")
    mine = "from converter import MINE\n\ndef test_mine() -> None:\n    import converter\n"
    (project / "test_mine.py").write_text(f"{mine}    assert MINE == converter.MINE\n")
    chosen = ("-k", "mine or golden or (sum-whole and law)", "-q")
    for files in (("test_mine.py", "captures"), ("captures", "test_mine.py")):
        recordings = ("--think-recordings", "captures", "--think-cuts", "1")
        status, output = run(project, installed, *recordings, *files, *chosen)
        assert status == 0, output


def test_without_the_option_nothing_is_collected_and_nothing_imported(
    project: Path, installed: Path
) -> None:
    (project / "test_mine.py").write_text(
        "import sys\n\ndef test_mine() -> None:\n    assert 'mitmproxy' not in sys.modules\n"
    )
    status, output = run(project, installed, "captures", "test_mine.py")
    assert (status, "1 passed" in output) == (0, True), output


def test_a_damaged_file_fails_in_one_line_and_harms_no_other(
    project: Path, installed: Path
) -> None:
    whole = (project / "captures" / "sum-whole.mitm").read_bytes()
    (project / "captures" / "cut.mitm").write_bytes(whole[:200])
    (project / "captures" / "archive.mitm").write_text('{"log": {"version": "1.2"}}')
    (project / "captures" / "empty.mitm").write_bytes(b"")
    only = ("-k", "golden or can")
    status, output = run(project, installed, "--think-recordings", "captures", "-q", *only)
    assert status == 1
    assert re.search(r"3 failed, \d+ passed", output)
    for name in ("cut", "archive", "empty"):
        assert len(re.findall(rf"^captures/{name}\.mitm: .+$", output, re.MULTILINE)) == 1
    assert "Traceback" not in output


def test_a_golden_that_says_otherwise_shows_the_difference_and_how_to_accept_it(
    project: Path, installed: Path
) -> None:
    golden = project / "captures" / "sum-whole.openai.txt"
    golden.write_text(golden.read_text().replace("It is 5", "It is 6"))
    (project / "captures" / "sum-stream.anthropic.txt").unlink()
    goldens = ("--think-recordings", "captures", "-q", "-k", "golden")
    status, output = run(project, installed, *goldens)
    assert (status, "2 failed" in output) == (1, True), output
    assert re.search(r"^-.*It is 6", output, re.MULTILINE)
    assert re.search(r"^\+.*It is 5", output, re.MULTILINE)
    commands = re.findall(
        r"^(think-addon record bless \S+ --dir \S+)\n(?:_|=)", output, re.MULTILINE
    )
    assert commands == [
        f"think-addon record bless {name} --dir captures" for name in ("sum-stream", "sum-whole")
    ]
    for command in commands:
        subprocess.run(
            [sys.executable, "-m", "converter.command", *command.split()[1:]],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(installed)},
            check=True,
        )
    assert run(project, installed, *goldens)[0] == 0


def test_a_recording_is_held_to_what_a_person_expects(project: Path, installed: Path) -> None:
    expected = project / "captures" / "sum-stream.expected.json"
    expected.write_text('{"thinking": "I add them.", "text": "It is 6.", "why": "a slip"}')
    only = ("--think-recordings", "captures", "-k", "expected")
    status, output = run(project, installed, *only)
    assert (status, "1 failed" in output, "Traceback" in output) == (1, True, False)
    assert "sum-stream is not read as expected\nexpected, because a slip:" in output
    assert "-It is 6.\n+It is 5." in output
    expected.write_text('{"thinking": "I add them.", "text": "It is 5."}')
    status, output = run(project, installed, *only)
    assert (status, "1 passed" in output) == (0, True), output


def test_a_fault_of_the_encoder_makes_a_recording_fail(
    project: Path, installed: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    encoder = site / "converter" / "core" / "dialects" / "anthropic" / "encoder.py"
    stop = '        yield {"type": "content_block_stop", "index": self._index}\n'
    assert stop in encoder.read_text(), "the fault no longer fits the source"
    encoder.write_text(encoder.read_text().replace(stop, ""))
    only = ("--think-cuts", "1", "-k", "law and not SDKs")
    status, output = run(project, site, "--think-recordings", "captures", "-qx", *only)
    assert status == 1, output
    assert re.search(r"(?m)^E? *[\w-]+ breaks law \d .+\n.*(event|frame|stream ends)", output), (
        output
    )
    assert re.search(r"\nthink-addon record check \S+ --dir captures\n(_|=)", output)
