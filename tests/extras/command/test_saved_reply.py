"""`think-addon read`, run as people run it: files, pipes, terminals. What is no matter of a process
runs in this one, because each takes a second to start.
"""

import gzip
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
COMMAND = [sys.executable, "-m", "converter.command", "read"]
STREAM = b"".join(stream("<think>deep</think>", "Hi"))
PLAIN = "│ deep\n\nHi\n\nmodel: small\nstop: stop\ntokens: 7 in, 5 out\nthoughts: 1, 4 characters\n"


Done = subprocess.CompletedProcess[bytes]


def run_program(*arguments: str, given: bytes = b"") -> Done:
    return subprocess.run(
        [*COMMAND, *arguments], check=False, input=given, capture_output=True, cwd=ROOT
    )


def run(*arguments: str, given: bytes = b"") -> Done:
    """What the program does with these bytes on its standard input."""
    written, complained = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with tempfile.TemporaryFile() as source, pytest.MonkeyPatch.context() as patch:
        source.write(given)
        source.seek(0)
        # it closes what it has read
        patch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: os.dup(source.fileno())))
        patch.setattr(sys, "stdout", written)
        patch.setattr(sys, "stderr", complained)
        try:
            status = main(["read", *arguments])
        except SystemExit as ended:  # argparse's
            status = int(ended.code or 0)
    said = written.detach()
    return Done([*arguments], status, said.getvalue(), complained.getvalue().encode())


def on_terminal(*arguments: str, given: bytes = b"", **environment: str) -> str:
    """What a terminal shows; standard input is a pipe, as behind curl."""
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
    process.communicate(given, timeout=60)
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
    done = run_program(str(saved), "--to", "transcript")
    assert (done.stdout.decode(), done.stderr, done.returncode) == (PLAIN, b"", 0)


def test_standard_input_is_the_default_and_a_dash(saved: Path) -> None:
    shown = [
        run_program(*where, "--to", "transcript", given=saved.read_bytes()).stdout
        for where in ([], ["-"])
    ]
    assert shown[0].startswith("│ deep\n\nHi\n".encode())
    assert shown[1].startswith("│ deep\n\nHi\n".encode())


def test_a_pipe_gets_a_chat_completion(saved: Path) -> None:
    done = run_program(str(saved))
    assert done.returncode == 0
    assert b'"reasoning_content":"deep"' in done.stdout
    assert done.stdout.endswith(b"data: [DONE]\n\n")


def test_a_terminal_gets_a_transcript_in_colours(saved: Path) -> None:
    shown = on_terminal(str(saved))
    assert shown.startswith("\x1b[2m│ deep\x1b[0m\n\nHi\n")


def test_no_color_is_respected(saved: Path) -> None:
    assert on_terminal(str(saved), NO_COLOR="1") == PLAIN
    assert on_terminal(str(saved), TERM="dumb") == PLAIN


def test_a_model_cannot_act_on_the_terminal() -> None:
    shown = on_terminal(given=whole("\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eleft"), NO_COLOR="1")
    assert shown.startswith("␛[31mred␛]0;title␇ \\x9b2J \\u202eleft\n")
    assert "\x1b" not in shown


@pytest.mark.parametrize("client", ["openai", "anthropic"])
@pytest.mark.parametrize("name", ["llama-tags-stream", "llama-two-tool-calls-whole"])
def test_a_recorded_reply_is_rewritten(client: str, name: str) -> None:
    recording = recorded.load(name)
    done = run("--to", client, given=recording.body)
    assert done.returncode == 0
    back = run("--to", "openai", given=done.stdout)
    assert b"reasoning_content" in back.stdout
    assert (done.stdout[:1] == b"{") == (not recording.streamed)
    if client == "anthropic" and not recording.streamed:
        assert [block["type"] for block in json.loads(done.stdout)["content"]] == [
            "thinking",
            "tool_use",
            "tool_use",
        ]


def test_a_stream_is_shown_while_it_comes() -> None:
    """What was said is on the terminal before the reply goes on: each piece is sent when the one
    before has been shown.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND],
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


def test_a_request_is_shown_too() -> None:
    asked = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
    assert run("--to", "transcript", given=asked).stdout == b"model: m\n\nuser\nHi\n"
    refused = run("--to", "anthropic", given=asked)
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert refused.stderr == b"think-addon: -: a request; --to transcript shows it\n"


def test_a_head_that_curl_saved_is_no_trouble() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    assert run("--to", "transcript", given=head + STREAM).stdout.startswith(
        "│ deep\n\nHi\n".encode()
    )
    assert run(given=head + STREAM).stdout.startswith(b"data: {")


def test_tags_and_start_are_those_of_the_addon() -> None:
    own = whole("<hm>deep</hm>Hi")
    assert run("--to", "transcript", "--tags", "<hm> </hm>", given=own).stdout.startswith(
        "│ deep\n\nHi\n".encode()
    )
    begun = b"".join(stream("deep", "</think>", "Hi"))
    assert run("--to", "transcript", "--start", "thinking", given=begun).stdout.startswith(
        "│ deep\n\nHi\n".encode()
    )
    assert run("--to", "transcript", given=begun).stdout.startswith(b"deep</think>Hi\n")


def test_a_file_tells_by_itself_that_it_began_inside_a_thought(saved: Path) -> None:
    saved.write_bytes(b"".join(stream("deep", "</think>", "Hi")))
    assert run(str(saved), "--to", "transcript").stdout.startswith("│ deep\n\nHi\n".encode())


@pytest.mark.parametrize(
    ("arguments", "given", "code", "words"),
    [
        (["/no/such/file"], b"", 2, "think-addon: /no/such/file: No such file or directory\n"),
        (["."], b"", 2, "think-addon: .: Is a directory\n"),
        (
            ["--to", "openai"],
            b"garbage",
            1,
            "think-addon: -: no reply of chat completions, the Messages API or the Responses API\n",
        ),
        (
            ["--to", "transcript"],
            b"",
            1,
            "think-addon: -: no reply of chat completions, the Messages API or the Responses API\n",
        ),
        (["--start", "never"], b"", 2, ""),
        (["--tags", "nosuch"], b"", 2, "think-addon: --tags: expected auto, a pair"),
    ],
)
def test_errors_are_one_clear_line(
    arguments: list[str], given: bytes, code: int, words: str
) -> None:
    done = run(*arguments, given=given)
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.decode().startswith(words)
    assert "Traceback" not in done.stderr.decode()


def test_garbage_is_shown_all_the_same() -> None:
    done = run("--to", "transcript", given=b"<html>gone</html>")
    assert (done.stdout, done.returncode) == (b"<html>gone</html>\n", 1)


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


OTHERS = {
    "compressed": (gzip.compress(STREAM), "uncompress it first"),
    "flows": (b"12:2:id;3:abc;}", "mitmweb -s think_addon.py"),
    "UTF-16": (whole("a").decode().encode("utf-16"), "UTF-8"),
}


@pytest.mark.parametrize(("given", "hint"), OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("to", ["openai", "transcript"])
def test_what_people_take_for_a_reply_gets_a_hint(given: bytes, hint: str, to: str) -> None:
    done = run("--to", to, given=given)
    assert done.returncode == 1
    assert hint in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_closed_end_is_one_clear_line(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND],
        check=False,
        capture_output=True,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (
        2,
        b"think-addon: standard input or output is closed\n",
    )
