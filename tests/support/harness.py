"""Real processes for the end-to-end tests: llama.cpp's own server, and mitmdump with the addon in
front of a server.

Each writes its output to a file, of which a test reads the part since a mark, and each is stopped
at the end.
"""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Self

from tests.support.forked import Forked

TESTS = Path(__file__).resolve().parents[1]
ADDON = TESTS.parent / "think_addon.py"
MITMDUMP = Path(sys.executable).parent / "mitmdump"
MITMWEB, MITMPROXY = (MITMDUMP.with_name(name) for name in ("mitmweb", "mitmproxy"))
ENTRIES = {program.name for program in (MITMDUMP, MITMWEB, MITMPROXY)}
SECONDS_TO_START = 240  # many times what it takes on a machine with six times as much to do
SECONDS_TO_STOP = 120
FAULTS = re.compile(r"Traceback|Addon error|has crashed|error in script")
TROUBLE = re.compile(r"^(?:\[[^\]]*\])+ (think: .*)$", re.MULTILINE)


def started(
    command: Sequence[str],
    files: tuple[int, int, int],
    environment: Mapping[str, str],
    cwd: Path | None = None,
    copied: bool = True,
) -> Popen[bytes] | Forked:
    """Start a program: mitmproxy with this folder's addon, or with none, is a copy of a process,
    unless it may not be `copied`, because it needs what this thread has.
    """
    ours = str(ADDON) in command or "-s" not in command
    if copied and ours and Path(command[0]).name in ENTRIES:
        return Forked(command, files, environment, cwd)
    stdin, stdout, stderr = files
    return Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, env=environment, cwd=cwd)


class Program:
    """A started process whose output goes to a file; leaving the `with` block stops it."""

    _forgotten = 0

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        errors: Path | None = None,
        cwd: Path | None = None,
        copied: bool = True,
    ) -> None:
        self._log = log
        # The output must be in the file as soon as it is said, or a test that looks for it comes
        # too early.
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with (
            open(os.devnull, "rb") as nothing,
            log.open("wb") as output,
            (errors or log).open("ab") as complaints,
        ):
            files = nothing.fileno(), output.fileno(), (complaints if errors else output).fileno()
            self._process = started(command, files, environment, cwd, copied)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        return self._log.read_text(errors="replace")[self._forgotten :]

    def forget(self) -> None:
        """Forget the output so far, for the next test that shares this program."""
        self._forgotten += len(self.output)

    def wait_for(self, pattern: str, count: int = 1) -> list[str]:
        """Wait until `pattern` matches `count` times in the output; return the matches."""
        deadline = time.monotonic() + SECONDS_TO_START
        while len(matches := re.findall(pattern, self.output)) < count:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"no {pattern!r} from {self._process.args!r}, but:\n{self.output}"
                )
            time.sleep(0.01)  # a process that starts has no other way to tell than its output
        return matches

    @property
    def has_ended(self) -> bool:
        """True if the process is over."""
        return self._process.poll() is not None

    def exit_status(self) -> int:
        """Wait for it to end by itself."""
        return self._process.wait(SECONDS_TO_START)

    def terminate(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """Kill the process, as a crash does."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self.terminate()
        try:
            self._process.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@dataclass(frozen=True)
class Variant:
    """A variant of llama.cpp. `reasoning`: none leaves the tags in the text, auto takes the
    thinking out. `parsing`: it takes out tool calls, which is its default. `embeddings`: it makes
    vectors, and no replies. `context`: the tokens of its window. `head`: Jinja before its template.
    """

    template: str
    reasoning: str
    model: str = "tiny-think"
    parsing: bool = True
    embeddings: bool = False
    context: int = 4096
    head: str = ""


VARIANTS = {
    "tags": Variant("qwen", "none"),
    "extracted": Variant("qwen", "auto"),
    "opened by the template": Variant("r1", "none"),
    "opened by the template, extracted": Variant("r1", "auto"),
    "tags of many tokens": Variant("qwen", "none", "tiny-think-spelled"),
    "calls in the text": Variant("qwen", "none", parsing=False),
}
MISREADS = {"read as gpt-oss": Variant("qwen", "auto", head="{#- <|channel|> -#}\n")}
"""Variants whose own parser rejects each reply, because it takes the template for another model's.
"""


class LlamaServer(Program):
    """llama.cpp's server with the small model."""

    def __init__(self, variant: Variant, log: Path) -> None:
        model = TESTS / "tiny_model"
        options = ["--port", "0", "--reasoning", variant.reasoning, "--template", variant.template]
        command = [
            sys.executable,
            str(model / "serve.py"),
            *options,
            "--model",
            str(model / f"{variant.model}.gguf"),
            "--context",
            str(variant.context),
            *([] if variant.parsing else ["--no-parsing"]),
            *(["--embeddings"] if variant.embeddings else []),
            f"--head={variant.head}",
        ]
        # Apart, because llama.cpp's own lines come in the middle of the one that is waited for.
        super().__init__(command, log, log.with_suffix(".errors"))

    @property
    def address(self) -> str:
        return self.wait_for(r"(?m)^ready (http://\S+)$")[0]


class Proxy(Program):
    """mitmdump with the addon; it listens on one port for each of its modes."""

    def __init__(
        self, modes: Sequence[str], arguments: Sequence[str], folder: Path, log: str
    ) -> None:
        self.ports = free_ports(len(modes))
        settings = ["--set", f"confdir={folder / 'mitmproxy'}"]
        if not any(argument.startswith("flow_detail=") for argument in arguments):
            settings += ["--set", "flow_detail=0"]
        command = [str(MITMDUMP), "-s", str(ADDON), *settings, *arguments]
        for mode, port in zip(modes, self.ports, strict=True):
            command += ["--mode", f"{mode}@127.0.0.1:{port}"]
        super().__init__(command, folder / f"{log}.log")

    def mark(self) -> int:
        """This point of the log, for `troubles` and `check`."""
        return len(self.output)

    def troubles(self, mark: int = 0) -> list[str]:
        """Return the addon's warnings and errors since `mark`."""
        return TROUBLE.findall(self.output[mark:])

    def check(self, mark: int = 0) -> None:
        """No exception has left the addon since `mark`, and mitmproxy is still there."""
        assert self._process.poll() is None, self.output
        assert not FAULTS.search(self.output[mark:]), self.output[mark:]


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@contextmanager
def start_proxy(
    modes: Sequence[str], arguments: Sequence[str], folder: Path, log: str
) -> Iterator[Proxy]:
    """A proxy that listens; from its start to its end no exception may leave the addon."""
    with _listening(modes, arguments, folder, log) as proxy:
        yield proxy
    assert not FAULTS.search(proxy.output), proxy.output


def _listening(modes: Sequence[str], arguments: Sequence[str], folder: Path, log: str) -> Proxy:
    """Somebody else may take a port that was free a moment ago; then others are tried."""
    for attempt in range(5):
        proxy = Proxy(modes, arguments, folder, f"{log}-{attempt}")
        try:
            proxy.wait_for("listening at", len(modes))
        except RuntimeError:
            proxy.stop()
            if "address already in use" not in proxy.output.lower():
                raise
        else:
            return proxy
    raise RuntimeError("five times in a row somebody took a free port")
