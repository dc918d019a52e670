"""Start the proxy with the addon: what `make run` does.

With --server it stands in front of that server; without, a llama.cpp server with the small model of
tests/model is started too. Everything listens on 127.0.0.1 only. Ctrl-C, SIGTERM and SIGHUP stop
all that was started, and so does the end of any part of it.
"""

import argparse
import asyncio
import os
import re
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

TESTS = Path(__file__).resolve().parents[1]
PROJECT = TESTS.parent
LOCAL = "127.0.0.1"
PROGRAMS = {"web": "mitmweb", "dump": "mitmdump"}
WANTED_SERVER = "SERVER must look like http://localhost:8000"
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SECONDS_TO_STOP = 5  # each part needs far less; after that it is killed


class RunError(Exception):
    """Why the proxy could not start or go on, in one line for the person who started it."""


def server_address(text: str) -> str:
    """SCHEME://HOST[:PORT], as mitmproxy wants it; a missing http:// and a trailing / or /v1 are
    forgiven.
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        usable = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port != 0
            and not re.search(r"[\s@?#]", text)
        )
    except ValueError:
        usable = False
    if not usable:
        raise RunError(f"{WANTED_SERVER}, not {text!r}")
    if parts.path.rstrip("/") not in ("", "/v1"):
        raise RunError(
            f"{WANTED_SERVER}, without the path {parts.path!r}: each request's own path is passed on"
        )
    return f"{parts.scheme}://{parts.netloc}"


def program_name(interface: str) -> str:
    """The program of mitmproxy's that `interface` stands for."""
    if interface not in PROGRAMS:
        raise RunError(f"UI must be {' or '.join(PROGRAMS)}, not {interface!r}")
    return PROGRAMS[interface]


def usable_port(name: str, text: str) -> int:
    """The port that `text` says, which nobody listens on."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 65535):
        raise RunError(f"{name} must be a number from 1 to 65535, not {text!r}")
    port = int(text)
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as mitmproxy does: a port in use a minute ago is free
        try:
            probe.bind((LOCAL, port))
        except OSError as error:
            raise RunError(
                f"port {port} cannot be used ({error.strerror}): set {name} to another"
            ) from error
    return port


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line as given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", default="", help="such as http://localhost:8000")
    parser.add_argument("--ui", default="web", help="web (mitmweb) or dump (mitmdump)")
    parser.add_argument("--port", default="8080", help="where the proxy listens")
    parser.add_argument("--web-port", default="8081", help="where mitmweb listens")
    parser.add_argument("options", nargs="*", help="after --: more options for mitmproxy")
    return parser.parse_args(arguments)


def listening(chosen: argparse.Namespace) -> list[str]:
    """The arguments that say where mitmproxy listens."""
    port = usable_port("PORT", chosen.port)
    proxy = ["--listen-host", LOCAL, "--listen-port", str(port)]
    if chosen.ui == "dump":
        return proxy
    web_port = usable_port("WEB_PORT", chosen.web_port)
    if web_port == port:
        raise RunError(f"PORT and WEB_PORT are both {port}: set one of them to another")
    return [*proxy, "--web-host", LOCAL, "--web-port", str(web_port), "--no-web-open-browser"]


async def spawn(
    program: Path, *arguments: str, output: int | None = None, errors: IO[bytes] | None = None
) -> Process:
    """Run a Python program in a session of its own, so that a Ctrl-C meant for us does not reach it
    as well.
    """
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(program),
        *arguments,
        cwd=PROJECT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdin=DEVNULL,
        stdout=output,
        stderr=errors,
        start_new_session=True,
    )


async def ready_address(server: Process, log: IO[bytes]) -> str:
    """The address the model server prints once it answers."""
    assert server.stdout is not None
    words = (await server.stdout.readline()).decode().split()
    if not words:
        log.seek(0)
        reason = log.read().decode(errors="replace").strip().rpartition("\n")[2]
        raise RunError(f"the embedded llama.cpp server did not start: {reason}")
    return words[1]


class Run:
    """The programs one call has started, by name."""

    def __init__(self) -> None:
        self._parts: dict[str, Process] = {}

    async def until_one_ends(self, chosen: argparse.Namespace) -> None:
        """Start all that was asked for, and raise as soon as one part of it has ended."""
        name = program_name(chosen.ui)
        options = [*listening(chosen), *chosen.options]
        server = (
            server_address(chosen.server) if chosen.server else await self._start_model_server()
        )
        await self._start_mitmproxy(name, f"reverse:{server}", *options)
        raise await self._first_end()

    async def stop(self) -> None:
        """End every part, the hard way when asking does not help."""
        for part in self._parts.values():
            with suppress(ProcessLookupError):
                part.terminate()
        for part in self._parts.values():
            try:
                await asyncio.wait_for(part.wait(), SECONDS_TO_STOP)
            except TimeoutError:
                part.kill()
                await part.wait()

    async def _start_model_server(self) -> str:
        with tempfile.TemporaryFile() as log:
            program = TESTS / "model" / "serve.py"
            server = await spawn(
                program, "--port", "0", "--reasoning", "none", output=PIPE, errors=log
            )
            self._parts["the embedded llama.cpp server"] = server
            return await ready_address(server, log)

    async def _start_mitmproxy(self, name: str, mode: str, *options: str) -> None:
        program = Path(sys.executable).with_name(name)
        scripts = ["-s", "think_addon.py", "-s", str(TESTS / "tools" / "announce.py")]
        self._parts[name] = await spawn(program, *scripts, "--mode", mode, *options)

    async def _first_end(self) -> RunError:
        waiting = {asyncio.create_task(part.wait()): name for name, part in self._parts.items()}
        ended, others = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            other.cancel()
        first = ended.pop()
        return RunError(
            f"{waiting[first]} has ended with exit code {first.result()}, so everything was stopped"
        )


async def run(chosen: argparse.Namespace) -> None:
    """Run the proxy until a signal asks for the end; raise RunError when it ended by itself."""
    started = Run()
    work = asyncio.create_task(started.until_one_ends(chosen))
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await work
    finally:
        await started.stop()


def main() -> None:
    """Run, and say in one line what went wrong."""
    chosen = parse(sys.argv[1:])
    try:
        asyncio.run(run(chosen))
    except RunError as failure:
        sys.exit(f"make run: {failure}.")


if __name__ == "__main__":
    main()
