"""Run a llama.cpp server with the small model of tests/tiny_model, and `think-addon` in front of
it.

`make run` without SERVER starts this script. Ctrl-C, SIGTERM and SIGHUP stop both programs. If one
of them ends by itself, the other is stopped too. The arguments go on to `think-addon`, whose server
address the script adds.
"""

import asyncio
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
"""The folder of this project."""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals at which both programs are stopped."""
SECONDS_TO_STOP = 5  # a program that has not ended after this time is killed
MODEL = "the embedded llama.cpp server"
"""The name of the model server in the script's error messages."""


class RunError(Exception):
    """The server or the proxy did not start, or has ended by itself. The message is one line."""


async def spawn(
    *arguments: str, output: int | None = None, errors: IO[bytes] | None = None
) -> Process:
    """Start a Python program in a session of its own, so that Ctrl-C reaches only this script.

    `output` and `errors`: where its stdout and stderr go; None: the same as this script's.
    """
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=ROOT,
        stdin=DEVNULL,
        stdout=output,
        stderr=errors,
        start_new_session=True,
    )


async def ready_address(server: Process, log: IO[bytes]) -> str:
    """Wait for the line that the model server prints when it is ready; return the address in it.

    Raises RunError with the last line of `log`, the server's stderr, if the server ends instead.
    """
    assert server.stdout is not None
    parts = (await server.stdout.readline()).decode().split()
    if not parts:
        log.seek(0)
        reason = log.read().decode(errors="replace").strip().rpartition("\n")[2]
        raise RunError(f"{MODEL} did not start: {reason}")
    return parts[1]


async def until_one_ends(parts: dict[str, Process], arguments: list[str]) -> RunError:
    """Start model server and proxy, and wait until one of them ends; return an error that names it.

    The processes are added to `parts`, under their names, as soon as they are started. Raises
    RunError if the server does not start.
    """
    with tempfile.TemporaryFile() as log:
        program = str(ROOT / "tests" / "tiny_model" / "serve.py")
        parts[MODEL] = await spawn(
            program, "--port", "0", "--reasoning", "none", output=PIPE, errors=log
        )
        address = await ready_address(parts[MODEL], log)
    parts["think-addon"] = await spawn("-m", "converter.command", address, *arguments)
    waiting = {asyncio.create_task(part.wait()): name for name, part in parts.items()}
    ended, others = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for other in others:
        other.cancel()
    first = ended.pop()
    return RunError(
        f"{waiting[first]} has ended with exit code {first.result()}, so everything was stopped"
    )


async def stop(part: Process) -> None:
    """Terminate a program, and kill it if it has not ended after `SECONDS_TO_STOP`."""
    with suppress(ProcessLookupError):
        part.terminate()
    try:
        await asyncio.wait_for(part.wait(), SECONDS_TO_STOP)
    except TimeoutError:
        part.kill()
        await part.wait()


async def run(arguments: list[str]) -> None:
    """Run model server and proxy until a signal. Raises RunError if one of them ends by itself, or
    if the server does not start.
    """
    parts: dict[str, Process] = {}
    work = asyncio.create_task(until_one_ends(parts, arguments))
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        with suppress(asyncio.CancelledError):
            raise await work
    finally:
        await asyncio.gather(*map(stop, parts.values()))


def main() -> None:
    """Run model server and proxy; after an error, print it in one line and exit with status 1."""
    try:
        asyncio.run(run(sys.argv[1:]))
    except RunError as failure:
        sys.exit(f"make run: {failure}.")


if __name__ == "__main__":
    main()
