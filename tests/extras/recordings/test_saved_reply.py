"""`think-addon record show FILE`, run as people run it: files, pipes, terminals. What is no matter of a process
runs in this one, because each takes a second to start.
"""

import io
import json
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from converter.extras.command.__main__ import main
from tests.support import recorded
from tests.support.frames import stream, whole

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-m", "converter.command", "record", "show"]
STREAM = b"".join(stream("<think>deep</think>", "Hi"))
PLAIN = "│ deep\n\nHi\n\nmodel: small\nstop: stop\ntokens: 7 in, 5 out\nthoughts: 1, 4 characters\n"


Done = subprocess.CompletedProcess[bytes]


def run_program(*arguments: str, stdin: bytes = b"") -> Done:
    return subprocess.run(
        [*COMMAND, *arguments], check=False, input=stdin, capture_output=True, cwd=ROOT
    )


def run(*arguments: str, stdin: bytes = b"") -> Done:
    """Run the program with these bytes on its standard input."""
    written, complained = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with tempfile.TemporaryFile() as source, pytest.MonkeyPatch.context() as patch:
        source.write(stdin)
        source.seek(0)
        # it closes what it has read
        patch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: os.dup(source.fileno())))
        patch.setattr(sys, "stdout", written)
        patch.setattr(sys, "stderr", complained)
        try:
            status = main(["record", "show", *arguments])
        except SystemExit as ended:  # argparse's
            status = int(ended.code or 0)
    output = written.detach()
    return Done([*arguments], status, output.getvalue(), complained.getvalue().encode())


def on_terminal(*arguments: str, stdin: bytes = b"", **environment: str) -> str:
    """Return the output on a terminal; standard input is a pipe, as behind curl."""
    ours, theirs = pty.openpty()
    variables = (
        {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        | {"TERM": "xterm"}
        | environment
    )
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=theirs, cwd=ROOT, env=variables
    )
    os.close(theirs)
    process.communicate(stdin, timeout=60)
    shown = _all_of(ours)
    os.close(ours)
    return shown.replace("\r\n", "\n")


def _all_of(terminal: int) -> str:
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:
        return shown.decode()  # Linux says so when the other side is closed
    return shown.decode()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "reply.sse"
    path.write_bytes(STREAM)
    return path


def test_a_file_becomes_a_transcript(saved: Path) -> None:
    done = run_program(str(saved))
    assert (done.stdout.decode(), done.stderr, done.returncode) == (PLAIN, b"", 0)


def test_a_terminal_gets_a_transcript_in_colours(saved: Path) -> None:
    shown = on_terminal(str(saved))
    assert shown.startswith("\x1b[2m│ deep\x1b[0m\n\nHi\n")


def test_no_color_is_respected(saved: Path) -> None:
    assert on_terminal(str(saved), NO_COLOR="1") == PLAIN
    assert on_terminal(str(saved), TERM="dumb") == PLAIN


def test_a_model_cannot_act_on_the_terminal() -> None:
    shown = on_terminal(
        "-", stdin=whole("\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eleft"), NO_COLOR="1"
    )
    assert shown.startswith("␛[31mred␛]0;title␇ \\x9b2J \\u202eleft\n")
    assert "\x1b" not in shown


@pytest.mark.parametrize("client", ["openai", "anthropic"])
@pytest.mark.parametrize("name", ["llama-tags-stream", "llama-two-tool-calls-whole"])
def test_a_recorded_reply_is_rewritten(client: str, name: str) -> None:
    recording = recorded.load(name)
    done = run("-", "--for", client, stdin=recording.body)
    assert done.returncode == 0
    back = run("-", "--for", "openai", stdin=done.stdout)
    assert b"reasoning_content" in back.stdout
    assert (done.stdout[:1] == b"{") == (not recording.streamed)
    if client == "anthropic" and not recording.streamed:
        assert [block["type"] for block in json.loads(done.stdout)["content"]] == [
            "thinking",
            "tool_use",
            "tool_use",
        ]


def test_a_stream_is_shown_while_it_comes() -> None:
    """Each piece is on the terminal before the next one is sent."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "-"],
        stdin=subprocess.PIPE,
        stdout=theirs,
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
    )
    os.close(theirs)
    assert process.stdin
    shown = ""
    for frame, awaited in zip(
        stream("<think>one ", "two", "</think>three")[:4], ["", "one", "two", "three"], strict=True
    ):
        process.stdin.write(frame)
        process.stdin.flush()
        while awaited not in shown:  # a test that hangs here is one that fails
            shown += os.read(ours, 4096).decode()
    assert "stop" not in shown
    process.stdin.write(b"".join(stream()[-3:]))
    process.stdin.close()
    shown += _all_of(ours)
    os.close(ours)
    assert process.wait(60) == 0
    assert shown.replace("\r\n", "\n").startswith(
        "│ one two\n\nthree\n\nmodel: small\nstop: stop\n"
    )


def test_a_head_that_curl_saved_is_no_trouble() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    assert run("-", stdin=head + STREAM).stdout.startswith("│ deep\n\nHi\n".encode())
    assert run("-", "--for", "openai", stdin=head + STREAM).stdout.startswith(b"data: {")


def test_tags_and_start_are_those_of_the_addon() -> None:
    own = whole("<hm>deep</hm>Hi")
    assert run("-", "--set", "think_tags=<hm> </hm>", stdin=own).stdout.startswith(
        "│ deep\n\nHi\n".encode()
    )
    begun = b"".join(stream("deep", "</think>", "Hi"))
    assert run("-", "--set", "start=thinking", stdin=begun).stdout.startswith(
        "│ deep\n\nHi\n".encode()
    )
    assert run("-", stdin=begun).stdout.startswith(b"deep</think>Hi\n")


def test_a_file_tells_by_itself_that_it_began_inside_a_thought(saved: Path) -> None:
    saved.write_bytes(b"".join(stream("deep", "</think>", "Hi")))
    assert run(str(saved)).stdout.startswith("│ deep\n\nHi\n".encode())


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["/no/such/file"], b"", "expected a name"),
        (["-", "--for", "openai"], b"garbage", "-: no reply of chat completions"),
        (["-"], b"", "-: no reply of chat completions"),
        (["-", "--set", "start=never"], STREAM, "think_start: expected one of: auto"),
    ],
)
def test_errors_are_one_clear_line(arguments: list[str], stdin: bytes, message: str) -> None:
    done = run(*arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(message)
    assert done.stderr.count(b"\n") == 1


def test_garbage_is_shown_all_the_same() -> None:
    done = run("-", stdin=b"<html>gone</html>")
    assert (done.stdout, done.returncode) == (b"<html>gone</html>\n", 2)


def test_a_reader_that_leaves_is_no_error(saved: Path) -> None:
    saved.write_bytes(b"".join(stream(*["word " * 1000] * 200)))
    process = subprocess.Popen(
        [*COMMAND, str(saved)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout
    assert process.stderr
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 141
