"""The command that asks for a recording gets it, from a real server of recordings."""

import shlex
import urllib.request
from pathlib import Path

import pytest

from converter.extras.recordings import server as request
from converter.extras.recordings.library import Library
from converter.extras.recordings.server import FAST, SERVED_AT, RecordedServer, curl_command

LIBRARY = Library(Path(__file__).parents[3] / "recordings")


@pytest.mark.parametrize(
    "name", ["llama-tags-stream", "llama-tags-anthropic-stream", "vllm-tags-whole"]
)
def test_the_command_gets_what_the_client_got(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = LIBRARY.load(name)
    with RecordedServer([recording], 0, FAST) as server:
        monkeypatch.setattr(request, "SERVED_AT", server.address)
        curl, _, address, _, header, _, body = shlex.split(curl_command(recording))
        posted = urllib.request.Request(address, body.encode(), dict([header.split(": ", 1)]))
        with urllib.request.urlopen(posted) as reply:
            got = reply.read()
    assert curl == "curl"
    assert got in (recording.client_reply.body, b"".join(chunk.data for chunk in recording.chunks))


def test_a_request_without_a_body_is_an_address() -> None:
    recording = LIBRARY.load("llama-models-whole")
    assert (
        curl_command(recording)
        == f"curl -sN {SERVED_AT}/llama-models-whole{recording.request.path}"
    )
