"""Make the library of recordings anew: real servers, asked through the addon itself.

    python -m tools.capture [NAME ...] [--into FOLDER] [--keep FOLDER]
        [--vllm URL] [--vllm-r1 URL] [--vllm-parsers URL] [--transformers URL]

Run by hand, from the repository root. Without a name it makes all recordings of llama.cpp, whose
servers it starts by itself, and those of the other servers whose addresses it is given; each serves
the model of tests/tiny_model under the name `tiny-think`:

- `--vllm`: vLLM without parsers, with the model's own template (qwen.jinja), `--max-model-len
2048`;
- `--vllm-r1`: the same with `--chat-template r1.jinja`;
- `--vllm-parsers`: the same with `--reasoning-parser qwen3 --enable-auto-tool-choice
--tool-call-parser hermes`;
- `--transformers`: `transformers serve`, started beside a folder `tiny-think`.

Each exchange passes a mitmdump of its own, with the addon, and is written with `-w`; the last flow
is then redacted and put into the library with its goldens. `--keep` has the flows as they were
before that. Another processor may give other words for one seed.
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
from tools.shots import OLLAMA, OTHERS, SHOTS, Shot

FOLDER = Path(__file__).resolve().parents[1] / "recordings"
LLAMAS = {**VARIANTS, **MISREADS}
ENOUGH = 2000
"""Bytes that a client has read of a stream before something breaks it off."""
FAULT = "fault of the addon"
"""By what the addon's log tells of one: a recording is of what it should do."""


def main(arguments: argparse.Namespace) -> None:
    if unknown := set(arguments.names) - {shot.name for shot in SHOTS}:
        raise SystemExit(f"no shot is called {', '.join(sorted(unknown))}")
    wanted = sorted(
        (shot for shot in SHOTS if not arguments.names or shot.name in arguments.names), key=_group
    )
    with tempfile.TemporaryDirectory() as temporary:
        camera = Camera(Path(temporary), arguments.keep or Path(temporary), arguments.into)
        for (server, _), shots in groupby(wanted, key=_group):
            if server in LLAMAS:
                camera.take_from_llama(server, shots)
            elif address := vars(arguments)[server]:
                camera.take(shots, address)


def _group(shot: Shot) -> tuple[str, str]:
    """A server that stops to answer after it has dropped a client."""
    return shot.server, shot.name if shot.ending == "server drops" else ""


@dataclass(frozen=True)
class Camera:
    """Takes the shots. `folder`: for what nobody needs afterwards, `flows`: for the flows as they
    came, `into`: the library.
    """

    folder: Path
    flows: Path
    into: Path

    def take_from_llama(self, variant: str, shots: Iterable[Shot]) -> None:
        with LlamaServer(LLAMAS[variant], self.folder / "llama.log") as server:
            self.take(shots, server.address, server.kill)

    def take(
        self, shots: Iterable[Shot], address: str, drop: Callable[[], None] | None = None
    ) -> None:
        for shot in shots:
            flow = self.flows / f"{shot.name}.mitm"
            flow.unlink(missing_ok=True)  # mitmdump would add to it
            with in_small_pieces(address, shot.pieces) as reached:
                received = self._through_the_addon(shot, reached, flow, drop)
            self._keep(flow)
            print(f"{shot.name}: the client got {received} bytes", flush=True)

    def _keep(self, flow: Path) -> None:
        """Put the last exchange of a flow file into the library, if it comes out again as it did."""
        *_, last = flow_file.read_all(flow)
        clean = redacted(last)
        if clean.replayed().body != clean.got.body:
            raise SystemExit(
                f"{flow.stem} is not kept: its client got something else than this version gives"
            )
        Library(self.into).keep(last, replace=True)

    def _through_the_addon(
        self, shot: Shot, address: str, flow: Path, drop: Callable[[], None] | None
    ) -> int:
        """The received bytes. The flow is written when the proxy has ended."""
        options = [part for option in shot.options for part in ("--set", option)]
        with start_proxy(
            [f"reverse:{address}"], ["-w", str(flow), *options], self.folder, "mitmdump"
        ) as proxy:
            earlier = [replace(shot, body=body) for body in shot.before]
            for each in (*earlier, *[shot] * shot.times):
                received = ask(proxy.ports[0], each, drop)
            if shot.ending:
                proxy.wait_for(r"think: POST \S+: |Client disconnected")  # that it broke off
        if FAULT in proxy.output:
            raise SystemExit(f"{shot.name} is not kept:\n{proxy.output}")
        return len(received)


def ask(port: int, shot: Shot, drop: Callable[[], None] | None) -> bytes:
    """Return the bytes that a client receives, or their beginning if it leaves before the end."""
    if shot.path == OLLAMA and shot.body:
        with ollama.Client(f"http://127.0.0.1:{port}", headers={"connection": "close"}) as client:
            streamed = shot.body.get("stream", True)
            got: Any = client.chat(**{**shot.body, "stream": streamed})
            parts = got if streamed else [got]
            return b"".join(part.model_dump_json().encode() for part in parts)
    connection = HTTPConnection("127.0.0.1", port)
    body = None if shot.body is None else json.dumps(shot.body, ensure_ascii=False).encode()
    connection.request(shot.method, shot.path, body, dict(shot.headers))
    response = connection.getresponse()
    try:
        received = response.read(ENOUGH) if shot.ending else b""
        if shot.ending == "server drops" and drop:
            drop()
        return received if shot.ending == "client leaves" else received + response.read()
    except IncompleteRead as cut:
        return received + cut.partial
    finally:
        response.close()
        connection.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--into", type=Path, default=FOLDER, help="the library")
    parser.add_argument("--keep", type=Path, help="a folder for the flows as they came")
    for server in sorted({shot.server for shot in OTHERS}):
        parser.add_argument(f"--{server}", dest=server, metavar="URL")
    return parser.parse_args()


if __name__ == "__main__":
    main(parse())
