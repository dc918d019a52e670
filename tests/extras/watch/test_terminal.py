"""The output of real mitmdump and mitmweb: on a terminal, into a pipe, and without a reader."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from threading import Event

import pytest

from tests.support.by_path_server import CHAT
from tests.support.clients import OPENAI, Client, Dialect, Live, question
from tests.support.console import Console
from tests.support.frames import DONE, END, ROLE, delta, stream, text, whole
from tests.support.harness import ADDON, MITMDUMP, SECONDS_TO_STOP, Program, Proxy, start_proxy
from tests.support.on_terminal import OnTerminal
from tests.support.scripted_server import JSON, Drop, Reply, ScriptedServer
from tools.recording_plans import OPENAI_TOOL

pytestmark = pytest.mark.slow

PRINT = ["--set", "think_print=true", "--set", "think_server=generic"]
THOUGHT = "deep and long enough"
GOOD = stream(f"<think>{THOUGHT}</think>", "hello")
LINE = r"reply: (.*)"


def _command(address: str, folder: Path, *arguments: str, program: str = "mitmdump") -> list[str]:
    mode = ["--mode", f"reverse:{address}@127.0.0.1:0", "--set", f"confdir={folder / 'mitmproxy'}"]
    return [str(MITMDUMP.with_name(program)), "-s", str(ADDON), *mode, *arguments]


def _port(program: Program) -> int:
    return int(program.wait_for(r"proxy to \S+ listening at 127\.0\.0\.1:(\d+)")[0])


@contextmanager
def _on_terminal(
    address: str, folder: Path, *arguments: str, **environment: str
) -> Iterator[tuple[OnTerminal, int]]:
    program = OnTerminal(_command(address, folder, *arguments), folder / "terminal", environment)
    with program:
        yield program, _port(program)
    assert "Traceback" not in program.output


@pytest.fixture(scope="module")
def one_terminal(
    scripted_server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OnTerminal, int]]:
    folder = tmp_path_factory.mktemp("terminal")
    with _on_terminal(scripted_server.address, folder, *PRINT) as started:
        yield started


@pytest.fixture
def printing(one_terminal: tuple[OnTerminal, int]) -> tuple[OnTerminal, int]:
    """A mitmdump that prints, in colours, and has printed nothing; and its port."""
    one_terminal[0].forget()
    return one_terminal


def _ask(port: int, dialect: Dialect = OPENAI, streamed: bool = True, path: str = "") -> bytes:
    with Client(port) as client:
        return client.ask(path or dialect.path, question(streamed)).body


def test_thinking_is_dim_and_the_answer_plain_while_the_reply_still_comes(
    server: ScriptedServer, printing: tuple[OnTerminal, int], dialect: Dialect
) -> None:
    program, port = printing
    more, last = Event(), Event()
    server.answer(
        Reply(
            [ROLE, *text("<think>deep", " thought"), more, *text("</think>", "hello"), last, *END]
        )
    )
    with Client(port) as client:
        live = Live(client.send(dialect.path, question(stream=True)))
        program.wait_for(r"  \x1b\[2m│ deep\x1b\[0m\x1b\[2m thought\x1b\[0m")
        more.set()
        program.wait_for(r"\x1b\[0m\n\n  hello")
        assert "reply: " not in program.output
        last.set()
        live.rest()
        program.wait_for(LINE)


def test_while_a_call_is_held_a_growing_line_says_how_much_of_it_is_written(
    server: ScriptedServer, printing: tuple[OnTerminal, int]
) -> None:
    program, port = printing
    more, last = Event(), Event()
    half = text('<tool_call>{"name": "get_weather", "arguments": {"city": "' + "x" * 500)
    end = text('"}}</tool_call>')
    server.answer(Reply([ROLE, *text("Look."), *half, more, *text("x" * 500), last, *end, *END]))
    with Client(port) as client:
        live = Live(client.send(CHAT, question(stream=True, tools=[OPENAI_TOOL])))
        program.wait_for(r"Look\.\n\n  \S+calling a tool, characters:\S+ \S+500\x1b\[0m")
        more.set()
        program.wait_for(r"500\x1b\[0m \S+1,000\x1b\[0m")
        last.set()
        live.rest()
        program.wait_for(r"1,000\S+\n\n  \S+→ get_weather call_")


LINES = {
    "streamed": (
        Reply(GOOD),
        True,
        r"{path} small · 1 thought, 20 chars · (first byte [\d.]+ s, whole )?[\d.]+ s · stop",
    ),
    "whole": (Reply([whole("hello")], JSON), False, r"{path} small · no thought · [\d.]+ s · stop"),
    "an error": (
        Reply([b'{"error": {"message": "no"}}'], JSON, 500),
        False,
        r"{path} small · status 500",
    ),
    "no finish": (Reply([ROLE, *text("a"), DONE]), True, r"{path} small · no thought · .* s.*"),
    "dropped": (
        Reply([ROLE, *text("a"), Drop()]),
        True,
        r"{path} small · no thought · .* s · .*(closed|disconnect).*",
    ),
}


@pytest.mark.parametrize(("reply", "streamed", "expected"), LINES.values(), ids=LINES)
def test_an_exchange_is_one_short_line_of_the_log(
    server: ScriptedServer,
    proxy: Proxy,
    dialect: Dialect,
    reply: Reply,
    streamed: bool,
    expected: str,
) -> None:
    server.answer(reply)
    before = len(proxy.wait_for(LINE, 0))
    with Client(proxy.ports[0]) as client:
        response = client.send(f"{dialect.path}?key=sesame", question(streamed))
        with suppress(HTTPException, OSError):  # it may break off
            response.read()
    line = proxy.wait_for(LINE, before + 1)[-1]
    assert re.fullmatch(expected.format(path=dialect.path), line), line
    assert "sesame" not in proxy.output.replace(f"{server.address}{dialect.path}?key=sesame", "")


def test_a_pipe_gets_no_colours_and_whole_lines(server: ScriptedServer, tmp_path: Path) -> None:
    server.answer(Reply(GOOD))
    with start_proxy([f"reverse:{server.address}"], PRINT, tmp_path, "piped") as proxy:
        _ask(proxy.ports[0])
        proxy.wait_for(
            rf"(?m)^── #1 {CHAT} small ──\n  │ {THOUGHT}\n\n  hello\n\[[\d:.]+\] reply: "
        )
    assert "\x1b" not in proxy.output


def test_a_line_of_the_log_does_not_stand_in_the_middle_of_a_thought(
    server: ScriptedServer, tmp_path: Path
) -> None:
    more = Event()
    server.answer(
        Reply(
            [*GOOD[:1], delta(reasoning_content="one"), more, delta(reasoning_content=" two"), *END]
        )
    )
    with (
        _on_terminal(server.address, tmp_path, *PRINT, NO_COLOR="1") as (program, port),
        Client(port) as client,
    ):
        live = Live(client.send(CHAT, question(stream=True)))
        program.wait_for("│ one")
        Client(port).close()
        program.wait_for("client disconnect")
        more.set()
        live.rest()
        program.wait_for(LINE)
        assert "│ one\n\x1b" in program.output
        assert re.search(r"(?m)^   two\n", program.output)


def test_a_pipe_that_nobody_reads_holds_no_reply_up(server: ScriptedServer, tmp_path: Path) -> None:
    text_of_reply = "x" * 1000
    server.answer(Reply(stream("<think>", *[text_of_reply] * 3000, "</think>end")))
    reading, writing = os.pipe()
    with start_proxy([f"reverse:{server.address}"], [], tmp_path, "probe") as probe:
        [port] = probe.ports  # free again when it has ended
    command = _command(server.address, tmp_path, "-q", *PRINT)
    command[command.index("--mode") + 1] = f"reverse:{server.address}@127.0.0.1:{port}"
    proxy = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.STDOUT
    )
    os.close(writing)
    try:
        got = _patiently(port, proxy)
        assert got.count(text_of_reply.encode()) == 3000
        assert OPENAI.read_stream(got).text == "end"
        proxy.terminate()
        assert proxy.wait(SECONDS_TO_STOP) == 0
        printed = b"".join(iter(lambda: os.read(reading, 1 << 16), b"")).replace(b"\n  ", b"")
        assert b"x" * 40_000 in printed  # a pipe takes 16 pages, none of them full
    finally:
        proxy.kill()
        proxy.wait()
        os.close(reading)


def _patiently(port: int, proxy: subprocess.Popen[bytes]) -> bytes:
    """Ask once the proxy listens: it prints nothing, so that only an answer shows that it does."""
    while proxy.poll() is None:
        try:
            return _ask(port)
        except ConnectionRefusedError:
            Event().wait(0.02)
    raise AssertionError(f"expected a proxy that listens, got exit status {proxy.returncode}")


def test_nothing_is_printed_over_mitmproxys_console(server: ScriptedServer, tmp_path: Path) -> None:
    server.answer(Reply(GOOD))
    with Console(server.address, tmp_path, *PRINT) as console:
        _ask(console.port)
        console.press("E")
        console.shows("reply: ")
        assert "── #1".encode() not in console.written
