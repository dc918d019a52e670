"""The log of a proxy whose output is a file, as under journald and Docker: each line is there when
the reply is, whatever starts the proxy. PYTHONUNBUFFERED is not set.
"""

import os
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.support.clients import OPENAI, Client, question
from tests.support.frames import stream
from tests.support.harness import ADDON, MITMDUMP, MITMWEB, SECONDS_TO_START, free_ports
from tests.support.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

REVERSE = ["--mode", "reverse:{server}", "--listen-host", "127.0.0.1"]
PAGE = ["--web-host", "127.0.0.1", "--web-port", "0", "--no-web-open-browser"]
STARTS = {
    "the command": [
        "-E",
        "-m",
        "converter.command",
        "{server}",
        "--dump",
        "--port",
        "{port}",
    ],
    "mitmdump": ["-E", str(MITMDUMP), "-s", str(ADDON), *REVERSE, "-p", "{port}"],
    "mitmweb": ["-E", str(MITMWEB), "-s", str(ADDON), *REVERSE, "-p", "{port}", *PAGE],
}


@pytest.mark.parametrize("words", STARTS.values(), ids=list(STARTS))
def test_a_reply_is_in_the_log_at_once(
    words: list[str], server: ScriptedServer, tmp_path: Path
) -> None:
    server.answer(Reply(stream("<think>deep</think>Hello")))
    [port], log = free_ports(1), tmp_path / "log"
    filled = [word.format(server=server.address, port=port) for word in words]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment = {**kept, "HOME": str(tmp_path)}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, *filled],
            cwd=ADDON.parent,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            _wait_for_port(port, process)
            with closing(Client(port)) as client:
                assert client.ask(OPENAI.path, question(stream=True)).status == 200
            deadline = time.monotonic() + SECONDS_TO_START / 20
            while "reply:" not in log.read_text() and time.monotonic() < deadline:
                time.sleep(0.05)
            said = log.read_text()
        finally:
            process.terminate()
    assert "reply:" in said


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise AssertionError("it does not listen")
