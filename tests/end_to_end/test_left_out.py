"""What a client may be spared: thinking that it did not ask for, and blank lines around thoughts."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from converter.extras.recordings.library import Library
from laws import laws
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.clients import Client, Dialect
from tests.support.frames import END, ROLE, delta, stream, whole
from tests.support.harness import start_proxy
from tests.support.scripted_server import Asked
from tests.support.strategies import share_of

pytestmark = pytest.mark.slow

LIBRARY = Library(Path(__file__).parents[2] / "recordings")
TAGGED = "Hm.\n<think>\nI add.\n</think>\n\n84"
OPTIONS = ["--set", "think_unasked=hide", "--set", "think_blanks=trim"]
ASKS: dict[str, dict[str, object]] = {
    "openai": {"reasoning_effort": "low"},
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
}
BODY = {"model": "small", "max_tokens": 2048, "messages": [{"role": "user", "content": "12 * 7"}]}


def _chat(asked: Asked) -> Says:
    """Tags in the text, or a field of its own for who says so."""
    body = json.loads(asked.body)
    if "native" in str(body["messages"]):
        said = [delta(reasoning_content="I add."), delta(content="\n\n"), delta(content="84")]
        return Says(steps=[ROLE, *said, *END])
    return Says(steps=stream(*TAGGED)) if body.get("stream") else Says(whole(TAGGED))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("left-out")
    with (
        ByPathServer({**owned_by("vllm"), CHAT: _chat}) as server,
        start_proxy([f"reverse:{server.address}"], OPTIONS, folder, "left-out") as proxy,
    ):
        yield proxy.ports[0]


def _said(port: int, dialect: Dialect, streamed: bool, **more: object) -> tuple[str, str]:
    with Client(port) as client:
        body = json.dumps({**BODY, "stream": streamed, **more}).encode()
        said = dialect.read(client.ask(dialect.path, body).body, streamed)
    return said.thinking, said.text


def test_who_did_not_ask_gets_the_answer_alone(port: int, dialect: Dialect, streamed: bool) -> None:
    assert _said(port, dialect, streamed) == ("", "Hm.84")


def test_who_asks_gets_both_without_blank_lines_between(
    port: int, dialect: Dialect, streamed: bool
) -> None:
    assert _said(port, dialect, streamed, **ASKS[dialect.name]) == ("I add.", "Hm.84")


@pytest.mark.parametrize(
    "options",
    [{"unasked": "hide"}, {"blanks": "trim"}, {"unasked": "hide", "blanks": "trim"}],
    ids=str,
)
@pytest.mark.parametrize(
    "name",
    [
        "llama-tags-stream",
        "llama-tags-whole",
        "llama-steps-anthropic-whole",
        "llama-steps-stream",
        "llama-native-tags-stream",
        "llama-extracted-stream",
        "llama-two-tool-calls-anthropic-stream",
        "llama-thinking-on-anthropic-stream",
        "llama-cut-in-thought-stream",
        "vllm-two-choices-stream",
        "vllm-parsers-reasoning-stream",
    ],
)
def test_every_law_holds_all_the_same(name: str, options: dict[str, str]) -> None:
    recording = LIBRARY.load(name)
    chosen = replace(recording, options={**recording.options, **options})
    assert laws.check(chosen, share_of(2)) == []
