"""Keep real replies as recordings: llama.cpp's server with the small model, behind a plain mitmdump that writes one flow per file.

Run by hand, from the repository root: `python -m tests.capture [NAME ...]`. Without a name it makes all of them. The addon is not
loaded, so a recording holds what the server itself wrote. Another processor may give other words for one seed.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import groupby
from pathlib import Path

from tests.harness import MITMDUMP, VARIANTS, LlamaServer, Program
from tests.recorded import FOLDER

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
IN_CODE = r"""root ::= "<think>\nWhich tag?\n</think>\n\nIt is `<think>`, so:\n\n```\n<think>never</think>\n```\n\nDone." """
ATTRIBUTES = 'Think with <thinking thought="..." thought_type="reflection" confidence="0.7"/> tags, then answer.'


@dataclass(frozen=True)
class Shot:
    """One recording: which server is asked what. `forms`: whether it is taken streamed, whole, or both."""

    name: str
    question: str
    variant: str = "tags"
    system: str = ""
    forms: tuple[str, ...] = ("stream",)
    extra: dict[str, object] = field(default_factory=dict)

    def body(self, form: str) -> bytes:
        system = [{"role": "system", "content": self.system}] if self.system else []
        messages = [*system, {"role": "user", "content": self.question}]
        streamed = {"stream": True, "stream_options": {"include_usage": True}} if form == "stream" else {}
        sampling = {"seed": 1, "temperature": 0.7, "max_tokens": 200}
        return json.dumps({"model": "tiny-think", "messages": messages, **sampling, **streamed, **self.extra}).encode()


BOTH = ("stream", "whole")
SHOTS = [
    Shot("sum", "12 * 7", forms=BOTH),
    Shot("between-steps", "What day is 3 days after Friday?", system="think between steps", forms=BOTH),
    Shot("attributes", "Which is bigger, an elephant or a mouse?", system=ATTRIBUTES, forms=BOTH),
    Shot("cut-in-thought", "12 * 7", forms=BOTH, extra={"max_tokens": 8}),
    Shot("tool-calls", "What is the weather in Oslo and Rome?", forms=BOTH, extra={"tools": [WEATHER]}),
    Shot("in-code", "Which tag?", forms=BOTH, extra={"grammar": IN_CODE}),
    Shot("thinking-tags", "How many hours are in 3 days?", system="Think in <thinking> tags before you answer."),
    Shot("code-fence", "Write a Python loop from 1 to 5."),
    Shot("chinese", "你好"),
    Shot("emoji", "Good morning! Use an emoji."),
    Shot("empty-thought", "12 * 7 Be quick."),
    Shot("thinking-off", "How do I make tea?", extra={"chat_template_kwargs": {"enable_thinking": False}}),
    Shot("error", "12 * 7", forms=("whole",), extra={"n": 2}),
    Shot("spelled", "12 * 7", "tags of many tokens"),
    Shot("extracted", "12 * 7", "extracted", forms=BOTH),
    Shot("opened-by-template", "12 * 7", "opened by the template"),
    Shot("opened-and-extracted", "12 * 7", "opened by the template, extracted"),
]


def main(names: list[str]) -> None:
    shots = sorted((shot for shot in SHOTS if not names or shot.name in names), key=lambda shot: shot.variant)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for variant, group in groupby(shots, key=lambda shot: shot.variant):
            take_all(variant, group, Path(temporary))


def take_all(variant: str, shots: Iterable[Shot], folder: Path) -> None:
    with LlamaServer(VARIANTS[variant], folder / "llama.log") as server:
        for shot in shots:
            for form in shot.forms:
                kept = FOLDER / f"{shot.name}-{form}.mitm"
                kept.unlink(missing_ok=True)  # mitmdump would add to it
                with recorder(server.address, kept, folder) as port:
                    said = ask(port, shot.body(form))
                print(f"{kept.name}: {len(said)} bytes\n{said[-600:].decode()}\n")


@contextmanager
def recorder(address: str, kept: Path, folder: Path) -> Iterator[int]:
    """A mitmdump without the addon, in front of the server; at its end the flow is written."""
    options = ["--mode", f"reverse:{address}", "--listen-host", "127.0.0.1", "--listen-port", "0"]
    settings = ["--set", f"confdir={folder / 'mitmproxy'}", "--set", "flow_detail=0"]
    with Program([str(MITMDUMP), *options, *settings, "-w", str(kept)], folder / "mitmdump.log") as proxy:
        yield int(proxy.wait_for(r"listening at \S*127\.0\.0\.1:(\d+)")[0])


def ask(port: int, body: bytes) -> bytes:
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    said = connection.getresponse().read()
    connection.close()
    assert not re.search(rb"/home/|/root|/work|/tmp", said), "a path of this machine"
    return said


if __name__ == "__main__":
    main(sys.argv[1:])
