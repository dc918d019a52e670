"""The first reply of a proxy that knows nothing yet, of a real llama.cpp that neither repeats the
template's opener nor takes thoughts out (`--skip-chat-parsing`).
"""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.clients import Client, Dialect, question
from tests.support.harness import TESTS, LlamaServer, Variant, start_proxy

pytestmark = pytest.mark.slow

VARIANTS = {
    "neither": Variant("r1", "none", parsing=False),
    "repeats the opener": Variant("r1", "none"),
    "takes thoughts out": Variant("r1", "auto"),
}


@pytest.fixture(scope="module", params=VARIANTS)
def address(request: pytest.FixtureRequest, proxy_folder: Path) -> Iterator[str]:
    log = proxy_folder / f"llama-first-{request.param.replace(' ', '-')}.log"
    with LlamaServer(VARIANTS[request.param], log) as server:
        yield server.address


def test_the_first_reply_is_read_as_it_was_meant(
    address: str, tmp_path: Path, dialect: Dialect, streamed: bool
) -> None:
    with (
        start_proxy([f"reverse:{address}"], [], tmp_path, "proxy") as proxy,
        Client(proxy.ports[0]) as client,
    ):
        body = question(stream=streamed)
        first, second = (
            dialect.read(client.ask(dialect.path, body).body, streamed) for _ in range(2)
        )
    assert first.thinking.startswith("This is a short question.")
    assert "</think>" not in first.text
    assert first.text.strip() == "pong"
    assert second == first
    assert "misread" not in proxy.output


ASK = """
import json, os, urllib.request
body = {"max_tokens": 100, "messages": [{"role": "user", "content": "12 * 7"}], "model": "tiny-think"}
asked = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body).encode(),
    {"content-type": "application/json"},
)
print(urllib.request.urlopen(asked).read().decode())
"""


@pytest.mark.parametrize("address", ["neither"], indirect=True)
def test_what_one_start_has_learnt_the_next_one_knows(address: str, tmp_path: Path) -> None:
    """A start that ends with its client would begin with an empty memory each time."""
    command = [sys.executable, "-m", "converter.command", "run", "--url", address]
    for _ in range(2):
        done = subprocess.run(
            [*command, "--", sys.executable, "-c", ASK],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PYTHONPATH": str(TESTS.parent),
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        output = json.loads(done.stdout)["choices"][0]["message"]
        assert output["reasoning_content"].startswith("I need 12 times 7")
    kept = tmp_path / ".local" / "state" / "think-addon" / "lessons.sqlite"
    with closing(sqlite3.connect(kept)) as memory:
        (value,) = memory.execute("SELECT value FROM entries").fetchone()
    kinds = {name.partition(" ")[0] for name in json.loads(value)}
    assert {"server", "repeats", "prompt", "begins"} <= kinds
    assert "times" not in value.decode()
