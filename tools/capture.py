"""Make anew the recordings of `recordings/` that have a plan in `recording_plans.py`: real servers
answer requests that pass the addon.

    python -m tools.capture [NAME ...] [--into FOLDER] [--keep FOLDER]
        [--vllm URL] [--vllm-r1 URL] [--vllm-parsers URL] [--transformers URL]

Run it by hand, from the repository root. Each NAME is a plan of `tools/recording_plans.py`; without
a NAME all plans are recorded. The script starts llama.cpp by itself. It skips the plans of any
other server whose address is not an argument. Each server must serve the model of tests/tiny_model
under the name `tiny-think`:

- `--vllm`: vLLM without parsers, with the model's own template (qwen.jinja), `--max-model-len
2048`;
- `--vllm-r1`: the same with `--chat-template r1.jinja`;
- `--vllm-parsers`: the same with `--reasoning-parser qwen3 --enable-auto-tool-choice
--tool-call-parser hermes`;
- `--transformers`: `transformers serve`, started beside a folder `tiny-think`.

For each plan a mitmdump with the addon is started, and writes its flows to a file (`-w`). The last
flow of the file is redacted and becomes the recording, with its goldens. `--keep` names a folder
that keeps the flow files, not redacted. On another processor the model may write another reply,
although the seed is the same.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from http.client import HTTPConnection, IncompleteRead
from itertools import groupby
from pathlib import Path
from typing import Any

import ollama

from converter.extras.recordings import flow_file
from converter.extras.recordings.library import Library
from converter.extras.recordings.redact.redactor import redacted
from tests.support.harness import MISREADS, VARIANTS, LlamaServer, start_proxy
from tests.support.small_pieces import in_small_pieces
from tools.recording_plans import OLLAMA, OTHERS, PLANS, RecordingPlan

FOLDER = Path(__file__).resolve().parents[1] / "recordings"
"""The folder of the project's recordings."""
LLAMAS = {**VARIANTS, **MISREADS}
"""Name of a variant of llama.cpp -> how it is started."""
BYTES_BEFORE_BREAK = 2000
"""How many bytes of a reply the client reads before it leaves, or before the server is killed, if
the plan has such an ending.
"""
FAULT_IN_LOG = "fault of the addon"
"""The words in a log line about a fault of the addon. An exchange with such a line is not kept."""


def main(arguments: argparse.Namespace) -> None:
    """Record the plans whose names are arguments of the command line, by default all plans."""
    if unknown := set(arguments.names) - {plan.name for plan in PLANS}:
        raise SystemExit(f"no plan is called {', '.join(sorted(unknown))}")
    wanted = sorted(
        (plan for plan in PLANS if not arguments.names or plan.name in arguments.names),
        key=_server_key,
    )
    with tempfile.TemporaryDirectory() as temporary:
        capture = Capture(Path(temporary), arguments.keep or Path(temporary), arguments.into)
        for (server, _), plans in groupby(wanted, key=_server_key):
            if server in LLAMAS:
                capture.record_from_llama(server, plans)
            elif address := vars(arguments)[server]:
                capture.record(plans, address)


def _server_key(plan: RecordingPlan) -> tuple[str, str]:
    """Return a key: plans of the same key share one server process.

    A plan that kills its server (`server drops`) shares its process with no other plan.
    """
    return plan.server, plan.name if plan.ending == "server drops" else ""


@dataclass(frozen=True)
class Capture:
    """Sends the requests of plans, and keeps the exchanges as recordings."""

    folder: Path
    """The folder of temporary files, such as logs."""
    flows: Path
    """The folder of mitmdump's flow files, which are not redacted."""
    into: Path
    """The folder of the recordings."""

    def record_from_llama(self, variant: str, plans: Iterable[RecordingPlan]) -> None:
        """Start llama.cpp in this variant, and record the plans."""
        with LlamaServer(LLAMAS[variant], self.folder / "llama.log") as server:
            self.record(plans, server.address, server.kill)

    def record(
        self,
        plans: Iterable[RecordingPlan],
        address: str,
        kill_server: Callable[[], None] | None = None,
    ) -> None:
        """Record each plan from the server at `address`. `kill_server`: a function that kills the
        server; None if the server cannot be killed.
        """
        for plan in plans:
            flow = self.flows / f"{plan.name}.mitm"
            flow.unlink(missing_ok=True)  # because mitmdump appends to a flow file that exists
            with in_small_pieces(address, plan.pieces) as reached:
                received = self._send_requests(plan, reached, flow, kill_server)
            self._keep_last_exchange(flow)
            print(f"{plan.name}: the client got {received} bytes", flush=True)

    def _keep_last_exchange(self, flow: Path) -> None:
        """Keep the last exchange of a flow file as a recording.

        Raises SystemExit if its replay gives other bytes than the client received.
        """
        *_, last = flow_file.read_all(flow)
        clean = redacted(last)
        if clean.replayed().body != clean.client_reply.body:
            raise SystemExit(
                f"{flow.stem} is not kept: its client got something else than this version gives"
            )
        Library(self.into).keep(last, replace=True)

    def _send_requests(
        self, plan: RecordingPlan, address: str, flow: Path, kill_server: Callable[[], None] | None
    ) -> int:
        """Send the plan's requests through mitmdump with the addon; return the last reply's length.

        The flows are written to the file `flow`. `address`: the server's. `kill_server`: a function
        that kills the server; None if it cannot be killed.
        """
        options = [part for option in plan.options for part in ("--set", option)]
        with start_proxy(
            [f"reverse:{address}"], ["-w", str(flow), *options], self.folder, "mitmdump"
        ) as proxy:
            earlier = [replace(plan, body=body) for body in plan.earlier_bodies]
            for each in (*earlier, *[plan] * plan.times):
                received = send_request(proxy.ports[0], each, kill_server)
            if plan.ending:
                # mitmdump must not be stopped before it has logged that the exchange ended
                proxy.wait_for(r"think: POST \S+: |Client disconnected")
        if FAULT_IN_LOG in proxy.output:
            raise SystemExit(f"{plan.name} is not kept:\n{proxy.output}")
        return len(received)


def send_request(port: int, plan: RecordingPlan, kill_server: Callable[[], None] | None) -> bytes:
    """Send a plan's request; return the bytes of the reply that its client gets; for Ollama, the
    JSON of what its SDK returns.

    If the plan's ending is `client leaves`, these are the first bytes only. If the ending is
    `server drops`, `kill_server` is called in the middle of the reply.
    """
    if plan.path == OLLAMA and plan.body:
        with ollama.Client(f"http://127.0.0.1:{port}", headers={"connection": "close"}) as client:
            streamed = plan.body.get("stream", True)
            got: Any = client.chat(**{**plan.body, "stream": streamed})
            parts = got if streamed else [got]
            return b"".join(part.model_dump_json().encode() for part in parts)
    connection = HTTPConnection("127.0.0.1", port)
    body = None if plan.body is None else json.dumps(plan.body, ensure_ascii=False).encode()
    connection.request(plan.method, plan.path, body, dict(plan.headers))
    response = connection.getresponse()
    try:
        received = response.read(BYTES_BEFORE_BREAK) if plan.ending else b""
        if plan.ending == "server drops" and kill_server:
            kill_server()
        return received if plan.ending == "client leaves" else received + response.read()
    except IncompleteRead as cut:
        return received + cut.partial
    finally:
        response.close()
        connection.close()


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--into", type=Path, default=FOLDER, help="the library")
    parser.add_argument("--keep", type=Path, help="a folder for the flows as they came")
    for server in sorted({plan.server for plan in OTHERS}):
        parser.add_argument(f"--{server}", dest=server, metavar="URL")
    return parser.parse_args()


if __name__ == "__main__":
    main(parse())
