"""mitmproxy's own replays work on recordings, with the addon and without it, and nothing is
rewritten a second time.
"""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

from converter.extras.recordings import flow_file
from converter.extras.recordings.recording import RecordedReply, Recording
from converter.extras.recordings.server import FAST, RecordedServer
from tests.support.clients import Client, read_anthropic_stream
from tests.support.harness import ADDON, MITMDUMP, Program, start_proxy
from tests.support.made_recordings import EVENT_STREAM, MESSAGES, question, recorded, recording

pytestmark = pytest.mark.slow

WITH_AND_WITHOUT = pytest.mark.parametrize(
    "addon", [["-s", str(ADDON)], []], ids=["addon", "plain"]
)
THOUGHT = ("thinking", "a b"), ("text", "c")


def translated() -> Recording:
    """An Anthropic client's exchange with a server of chat completions, as the addon had it."""
    kept = recording(request=recorded(question(), MESSAGES))
    awaited = kept.awaited()
    rewriter = awaited.rewriter(kept.server_form)
    got = b"".join(
        [
            *(piece for chunk in kept.chunks for piece in rewriter.feed(chunk.data)),
            *rewriter.close(),
        ]
    )
    sent = recorded(awaited.request.body, awaited.request.exchange.path)
    reply = RecordedReply(200, EVENT_STREAM, got)
    return replace(kept, name="translated", sent_request=sent, client_reply=reply)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "translated.mitm"
    path.write_bytes(flow_file.dumps(translated()))
    return path


def flows_of(path: Path) -> list[HTTPFlow]:
    with path.open("rb") as file:
        return [flow for flow in FlowReader(file).stream() if isinstance(flow, HTTPFlow)]


def run_to_its_end(arguments: Sequence[str], folder: Path) -> str:
    """A mitmdump that listens nowhere and stops when all is replayed or read."""
    command = [str(MITMDUMP), "-n", "--set", f"confdir={folder / 'mitmproxy'}", *arguments]
    with Program(command, folder / "mitmdump.log") as program:
        status = program.exit_status()
        assert status == 0, program.output
        return program.output


def client_replayed(recorded: Recording, arguments: list[str], folder: Path) -> HTTPFlow:
    """The flow after mitmproxy has sent its request again, to a server made of the recording."""
    kept, seen = folder / "recorded.mitm", folder / "seen.mitm"
    kept.write_bytes(flow_file.dumps(recorded))
    before = kept.read_bytes()
    with RecordedServer([recorded], 0, FAST) as server:
        here = f"|//127.0.0.1:8000/|//127.0.0.1:{server.server_port}/"
        output = run_to_its_end(
            [*arguments, "--client-replay", str(kept), "--map-remote", here, "-w", str(seen)],
            folder,
        )
    [flow] = flows_of(seen)
    assert flow.response, output
    assert kept.read_bytes() == before
    return flow


@pytest.mark.parametrize("recorded", [recording(), translated()], ids=["openai", "anthropic"])
def test_client_replay_through_the_addon_is_a_new_exchange_rewritten_once(
    recorded: Recording, tmp_path: Path
) -> None:
    options = ["--set", "think_server=generic", "--set", "think_usage=off"]
    flow = client_replayed(recorded, ["-s", str(ADDON), *options], tmp_path)
    sent, got = flow.request.get_content(), flow.response and flow.response.content
    again = flow_file.from_flow(flow, "again")
    assert (flow.request.path, json.loads(sent or b"")) == (
        recorded.request.path,
        json.loads(recorded.request.body),
    )
    assert got == recorded.replayed().body
    assert (again.body, json.loads(again.sent_request.body)) == (
        recorded.body,
        json.loads(recorded.sent_request.body),
    )
    assert flow.comment.startswith("1 thought, 3 chars")
    flow.revert()
    assert flow.response
    assert flow.response.content == recorded.body


@WITH_AND_WITHOUT
def test_server_replay_gives_the_client_what_the_client_got(
    addon: list[str], kept: Path, tmp_path: Path
) -> None:
    before = kept.read_bytes()
    arguments = [
        "--server-replay",
        str(kept),
        "--set",
        "server_replay_reuse=true",
        "--set",
        "connection_strategy=lazy",
    ]
    body = translated().request.body
    with _proxy(addon, arguments, tmp_path) as port, Client(port) as client:
        answers = [client.ask(MESSAGES, body) for _ in range(2)]
    assert [answer.body for answer in answers] == [translated().client_reply.body] * 2
    assert read_anthropic_stream(answers[0].body).blocks == THOUGHT
    assert kept.read_bytes() == before


@WITH_AND_WITHOUT
def test_reading_a_recording_changes_neither_the_flow_nor_the_file(
    addon: list[str], kept: Path, tmp_path: Path
) -> None:
    before, seen = kept.read_bytes(), tmp_path / "seen.mitm"
    run_to_its_end([*addon, "-r", str(kept), "-w", str(seen)], tmp_path)
    assert [flow.get_state() for flow in flows_of(seen)] == [
        flow.get_state() for flow in flows_of(kept)
    ]
    assert kept.read_bytes() == before


class _proxy:  # noqa: N801 (used as a function)
    """A proxy in front of where recordings say that their server was, or of `address`; the port is
    its value.
    """

    def __init__(
        self,
        addon: list[str],
        arguments: list[str],
        folder: Path,
        address: str = "http://127.0.0.1:8000",
    ) -> None:
        self._running = (
            start_proxy([f"reverse:{address}"], arguments, folder, "replay") if addon else None
        )
        settings = [
            "--set",
            f"confdir={folder / 'mitmproxy'}",
            "--mode",
            f"reverse:{address}@127.0.0.1:0",
            *arguments,
        ]
        self._plain = (
            None
            if addon
            else Program([sys.executable, "-u", str(MITMDUMP), *settings], folder / "plain.log")
        )

    def __enter__(self) -> int:
        if self._running:
            return self._running.__enter__().ports[0]
        assert self._plain
        return int(self._plain.wait_for(r"listening at \S*127\.0\.0\.1:(\d+)")[0])

    def __exit__(self, *_: object) -> None:
        with suppress(AttributeError):
            self._plain.stop()  # type: ignore[union-attr]
        if self._running:
            self._running.__exit__(None, None, None)
