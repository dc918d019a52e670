"""Build wheel and source package, install each as a user does, and request a reply in four
dialects.

usage: python tools/try_installed.py [--dist DIR]       build into DIR, or into a temporary folder

Each package is installed into a virtual environment of its own, and its `think-addon` is started
with a home folder of its own. The proxy's output goes to a file: the log line of a reply must be
there while the proxy still runs. The script needs only pip, and changes nothing outside its
folders.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import urllib.request
import venv
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder of this project."""
SECONDS_TO_START = 120
"""How long the installed proxy may take to start."""
WRITTEN = "<think>\n70 + 14 = 84.\n</think>\n\n84"
"""The text that the server sends as the model's reply, with a thought in tags."""
THOUGHT = "70 + 14 = 84."
"""The thought in `WRITTEN`, which each client must get."""
QUESTION = [{"role": "user", "content": "12 * 7"}]
"""The messages of every request."""
DIALECTS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "OpenAI": ("/v1/chat/completions", {"messages": QUESTION}),
    "Messages": ("/v1/messages", {"messages": QUESTION, "max_tokens": 99}),
    "Responses": ("/v1/responses", {"input": "12 * 7", "reasoning": {"summary": "auto"}}),
    "Ollama": ("/api/chat", {"messages": QUESTION, "stream": False}),
}
"""Name of a dialect -> the path and the fields of its request."""


class Server(BaseHTTPRequestHandler):
    """A chat completions server that sends one reply to each POST: a thought and an answer."""

    def do_GET(self) -> None:
        """Answer with a list of one model."""
        self._write({"object": "list", "data": [{"id": "small", "object": "model"}]})

    def do_POST(self) -> None:
        """Answer a request with a whole chat completion that holds `WRITTEN`."""
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": WRITTEN}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._write(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": "small",
                "choices": [choice],
            }
        )

    def _write(self, value: object) -> None:
        """Send a value as JSON."""
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def build_packages(folder: Path) -> list[Path]:
    """Build the source package, and from it the wheel, into `folder`; return both files.

    The tool that builds them is installed into a virtual environment beside that folder.
    """
    builder = folder.parent / "builder"
    python = make_environment(builder)
    subprocess.run([python, "-m", "pip", "install", "-qq", "build"], check=True)
    subprocess.run(
        [python, "-m", "build", "--outdir", str(folder), str(ROOT)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return sorted(folder.glob("think_addon-*"))


def make_environment(folder: Path) -> str:
    """Make a virtual environment; return the path of its Python."""
    venv.create(folder, with_pip=True)
    return str(folder / "bin" / "python")


def start_proxy(
    program: Path, address: str, home: Path, log: Path
) -> tuple[subprocess.Popen[bytes], str]:
    """Start the installed `think-addon`; return its process, and its address for clients.

    `address`: the model server's; `home`: the folder in which the proxy runs; `log`: the file for
    its output. Raises SystemExit if the proxy does not get ready.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, address, "--dump"],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=home,
            env={**variables, "HOME": str(home)},
        )
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        if "Ctrl-C stops" in (printed := log.read_text()):
            return process, re.findall(r"(?m)^Proxy: +(\S+)", printed)[0]
        time.sleep(0.1)
    process.kill()
    raise SystemExit(f"the proxy did not start:\n{log.read_text()}")


def check_replies(proxy: str) -> None:
    """Send the proxy a request in each dialect.

    Raises SystemExit if a reply lacks the thought, or still has its `<think>` tags.
    """
    for name, (path, fields) in DIALECTS.items():
        body = json.dumps({"model": "small", **fields}).encode()
        request = urllib.request.Request(proxy + path, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            text = reply.read().decode()
        if THOUGHT not in text or "think>" in text:
            raise SystemExit(f"{name}: the thought is not where it belongs: {text}")


def wait_for_log(log: Path, lines: int) -> None:
    """Wait until the log has `lines` lines about replies.

    Raises SystemExit if that takes ten seconds: then the running proxy buffers its output.
    """
    deadline = time.monotonic() + 10
    while log.read_text().count("reply:") < lines:
        if time.monotonic() > deadline:
            raise SystemExit(f"the log lacks a reply:\n{log.read_text()}")
        time.sleep(0.1)


def main() -> None:
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("--dist", type=Path)
    chosen = reader.parse_args()
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Server) as server,
        tempfile.TemporaryDirectory() as temporary,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address, folder = f"http://127.0.0.1:{server.server_port}", Path(temporary)
        for package in build_packages((chosen.dist or folder / "dist").resolve()):
            home = folder / package.suffix.strip(".")
            python = make_environment(home / "venv")
            subprocess.run(
                [python, "-m", "pip", "install", "-qq", str(package)], check=True, cwd=home
            )
            process, proxy = start_proxy(
                Path(python).with_name("think-addon"), address, home, home / "log"
            )
            try:
                check_replies(proxy)
                wait_for_log(home / "log", len(DIALECTS))
            finally:
                process.terminate()
                process.wait()
            print(f"{package.name}: installed, four replies, their log at once")
        server.shutdown()


if __name__ == "__main__":
    main()
