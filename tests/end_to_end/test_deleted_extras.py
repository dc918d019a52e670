"""Each extra can be deleted: the rest starts, and thinking arrives in every dialect.

The tests run in a copy of the tree, without one package at a time, and without all.
"""

import json
import os
import shutil
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.frames import stream, whole
from tests.support.harness import FAULTS, MITMDUMP, TESTS, Program
from tests.support.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

ROOT = TESTS.parent
EXTRAS = sorted(
    each.name
    for each in (ROOT / "converter" / "extras").iterdir()
    if (each / "__init__.py").exists()
)
HI: list[object] = [{"role": "user", "content": "Hi"}]
REQUESTS: dict[str, dict[str, object]] = {
    "/v1/chat/completions": {"messages": HI},
    "/v1/messages": {"messages": HI, "max_tokens": 9},
    "/v1/responses": {"input": "Hi"},
    "/api/chat": {"messages": HI},
}
THOUGHT, ANSWER = "deep-thought", "an-answer"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def copied(folder: Path, without: list[str]) -> Path:
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "converter", folder / "converter", ignore=leave)
    shutil.copy(ROOT / "think_addon.py", folder)
    for name in without:
        shutil.rmtree(folder / "converter" / "extras" / name)
    return folder / "think_addon.py"


def answer(port: str, path: str, streams: bool) -> str:
    body: dict[str, Any] = {"model": "small", "stream": streams, **REQUESTS[path]}
    url = f"http://127.0.0.1:{port}{path}"
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return str(reply.read().decode())


def arrives(text: str) -> bool:
    """Return True if thought and answer are there, and not as one text with its tags."""
    return THOUGHT in text and ANSWER in text and "<think>" not in text


@pytest.mark.parametrize(
    "without",
    [EXTRAS, *(pytest.param([name], marks=pytest.mark.nightly) for name in EXTRAS)],
    ids=", ".join,
)
def test_thinking_arrives_without_an_extra(
    server: ScriptedServer, tmp_path: Path, without: list[str]
) -> None:
    addon = copied(tmp_path, without)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [
        *("env", f"PYTHONPATH={path}", sys.executable, str(MITMDUMP), "-s", str(addon)),
        *("--mode", f"reverse:{server.address}@127.0.0.1:0", "--set", f"confdir={tmp_path / 'm'}"),
        *("--set", "think_server=generic", "--set", "think_memory=memory:"),
    ]
    with Program(command, tmp_path / "log", copied=False) as proxy:
        [port] = proxy.wait_for(r"listening at 127\.0\.0\.1:(\d+)")
        for each in REQUESTS:
            server.answer(Reply(stream(f"<think>{THOUGHT}</think>", ANSWER)))
            assert arrives(answer(port, each, streams=True)), each
            server.answer(
                Reply(
                    [whole(f"<think>{THOUGHT}</think>{ANSWER}")],
                    {"content-type": "application/json"},
                )
            )
            assert arrives(answer(port, each, streams=False)), each
        assert not FAULTS.search(proxy.output), proxy.output
