"""Make the manual's pictures of the page at /think: `python -m tools.pictures [--into docs]`.

The page is that of a mitmweb with the addon, in front of llama.cpp with the small model of
tests/tiny_model. Chromium shows it.
"""

import argparse
import json
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect
from tests.support.harness import TESTS, VARIANTS, LlamaServer
from tests.support.mitmweb import Mitmweb
from tests.support.think_page import ThinkPage
from tools.recording_plans import OPENAI_TOOL, TOOL

SIZE, LOW, NARROW = (1280, 800), (1280, 560), (400, 760)
BOOK = "Sum up this book." + " And so on." * 2000
"""A user's text of 22,000 characters, as from a person who pastes a book."""
LOOP = "Write a Python loop from 1 to 5."
"""A question whose answer has code."""
REQUESTS: tuple[tuple[Dialect, str, dict[str, object]], ...] = (
    (OPENAI, "6 * 7", {}),
    (ANTHROPIC, BOOK, {}),
    (ANTHROPIC, "What is the weather in Oslo?", {"tools": [TOOL]}),
    (OPENAI, "What is the weather in Oslo and Rome?", {"tools": [OPENAI_TOOL]}),
    (ANTHROPIC, LOOP, {"system": "You are a helpful assistant."}),
)
"""The requests that are sent before the pictures: dialect, user's text, and further fields."""
CLIENTS = {OPENAI: "OpenAI/Python 2.8.0", ANTHROPIC: "claude-cli/2.1.3 (external, cli)"}
"""Dialect -> the user agent of its client."""
LONG_THOUGHT = {"max_tokens": 3500, "ignore_eos": True, "grammar": r'root ::= "<think>\n" [a-z ]+'}
"""Fields of a request to which the model replies with a thought of some seconds, so that one
picture shows a running reply.
"""


def ask(port: int, dialect: Dialect, text: str, **more: object) -> None:
    """Send a request for a streamed reply through mitmweb. `more`: further fields of its body."""
    body: dict[str, object] = {"model": "tiny-think", "seed": 1, "temperature": 0, "stream": True}
    body |= {"max_tokens": 300, "messages": [{"role": "user", "content": text}], **more}
    with Client(port) as client:
        client.ask(dialect.path, json.dumps(body).encode(), {"user-agent": CLIENTS[dialect]})


def make(into: Path) -> None:
    """Write the three pictures into the folder `into`."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LlamaServer(VARIANTS["tags"], Path(folder) / "llama.log") as server,
        Mitmweb(server.address, Path(folder)) as web,
        ThinkPage() as page,
    ):
        for dialect, text, more in REQUESTS:
            ask(web.port, dialect, text, **more)
        page.resize(*SIZE)
        page.show(web, len(REQUESTS))
        endless = threading.Thread(
            target=ask, args=(web.port, OPENAI, "Think."), kwargs=LONG_THOUGHT
        )
        endless.start()
        page.until(lambda: "thinking" in page.rows()[0], "a reply that thinks")
        page.pick(1)
        page.until_shown("for number in range")
        page.save(into / "think.png")
        endless.join()
        page.resize(*LOW)
        page.press("[data-tab=wire]")
        page.until(lambda: page.elements(".frames li") > 0, "frames")
        page.script("document.querySelector('#talk').scrollTop = 240")
        page.save(into / "think-wire.png")
        page.resize(*NARROW)
        page.show(web)
        page.pick(1)
        page.script("document.querySelector('#theme').click()")
        page.script("document.querySelector('#theme').click()")
        page.until_shown("for number in range")
        page.save(into / "think-narrow.png")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the pictures in the folder that `--into` names, by default `docs`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--into", type=Path, default=TESTS.parent / "docs")
    make(parser.parse_args(arguments).into)


if __name__ == "__main__":
    main()
