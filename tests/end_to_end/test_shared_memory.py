"""Any of several workers answers any turn, also after a restart."""

import json
import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from tests.end_to_end.test_workers import Workers
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.frames import stream, whole
from tests.support.harness import FAULTS
from tests.support.redis_server import RedisServer
from tests.support.scripted_server import Asked

pytestmark = pytest.mark.slow

CLOSING = {"connection": "close"}
"""Each turn comes on a connection of its own, which the kernel gives to any worker."""
TURNS = 12
SAID: Any = [{"role": "user", "content": "more"}]


def counts(asked: Asked) -> Says:
    """A server that says how many turns of the user it was told."""
    body = json.loads(asked.body)
    told = [turn for turn in body["messages"] if turn["role"] == "user"]
    words = f"<think>I count.</think>{len(told)}"
    return Says(steps=stream(words)) if body.get("stream") else Says(whole(words))


@pytest.fixture
def server() -> Iterator[ByPathServer]:
    with ByPathServer({CHAT: counts}) as serving:
        yield serving


@contextmanager
def crew_of(server: ByPathServer, folder: Path) -> Iterator[Workers]:
    with Workers(server.address, folder) as crew:
        crew.wait_for("listening at", 2)
        yield crew
    assert not FAULTS.search(crew.output), crew.output


@pytest.fixture(params=["file", "redis"])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have what is kept be in the usual file, and with a server."""
    if request.param == "file":
        yield
        return
    with RedisServer("--requirepass", "secret") as redis:
        address = redis.address.replace("//", "//:secret@")
        monkeypatch.setenv("THINK_MEMORY", address)
        yield


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def openai_of(crew: Workers) -> openai.OpenAI:
    address = f"http://127.0.0.1:{crew.port}/v1"
    return openai.OpenAI(base_url=address, api_key="mine", default_headers=CLOSING, max_retries=0)


def responds(client: openai.OpenAI, process: set[str], streamed: bool, **fields: Any) -> Any:
    """One turn; the worker that has answered it goes to `process`."""
    raw = client.responses.with_raw_response.create(
        model="small", input="more", stream=streamed, **fields
    )
    process.add(raw.headers["x-process"])
    said: Any = raw.parse()
    return list(said)[-1].response if streamed else said


@pytest.mark.usefixtures("kept")
def test_any_worker_goes_on_from_any_response_also_after_a_restart(
    server: ByPathServer, tmp_path: Path
) -> None:
    previous, answered = openai.omit, set[str]()
    for begin in (1, TURNS + 1):
        with crew_of(server, tmp_path) as crew, openai_of(crew) as client:
            for turn in range(begin, begin + TURNS):
                streamed = bool(random.getrandbits(1))
                said = responds(client, answered, streamed, previous_response_id=previous)
                assert said.output_text == str(turn)
                previous = said.id
    assert len(answered) > 2


@pytest.mark.usefixtures("kept")
def test_any_worker_goes_on_with_a_conversation_and_its_items(
    server: ByPathServer, tmp_path: Path
) -> None:
    answered = set[str]()
    with crew_of(server, tmp_path) as crew, openai_of(crew) as client:
        conversation = client.conversations.create()
        for turn in range(1, TURNS + 1):
            streamed = bool(turn % 2)
            said = responds(client, answered, streamed, conversation=conversation.id)
            assert said.output_text == str(turn)
        items = list(client.conversations.items.list(conversation.id, limit=100))
        assert len([item for item in items if getattr(item, "role", "") == "user"]) == TURNS
    assert len(answered) == 2


@pytest.mark.usefixtures("kept")
def test_any_worker_goes_on_with_a_thread(server: ByPathServer, tmp_path: Path) -> None:
    thread: dict[str, Any] = {"type": "create"}
    with crew_of(server, tmp_path) as crew:
        address = f"http://127.0.0.1:{crew.port}"
        with anthropic.Anthropic(
            base_url=address, api_key="mine", default_headers=CLOSING, max_retries=0
        ) as client:
            for turn in range(1, TURNS + 1):
                with client.beta.messages.stream(
                    model="small",
                    max_tokens=100,
                    messages=[{"role": "user", "content": "more"}],
                    extra_body={"thread": thread},
                    betas=["message-threads-2026-08-12"],
                ) as stream:
                    said = stream.get_final_message()
                assert said.content[-1].text == str(turn)  # type: ignore[union-attr]
                thread = {"type": "continue", "previous_message_id": said.id}


def test_a_killed_worker_takes_nothing_along_that_was_kept(
    server: ByPathServer, tmp_path: Path
) -> None:
    previous, process = openai.omit, set[str]()
    with crew_of(server, tmp_path) as crew, openai_of(crew) as client:
        for turn in range(1, 4):
            process.clear()
            said = responds(client, process, turn % 2 == 0, previous_response_id=previous)
            assert said.output_text == str(turn)
            previous = said.id
            os.kill(int(process.pop()), signal.SIGKILL)
            crew.wait_for("another takes its place", turn)
            crew.wait_for("listening at", 2 + turn)


def test_a_memory_that_is_away_is_told_and_comes_back(
    server: ByPathServer, tmp_path: Path, state: Path
) -> None:
    state.write_text("a file in the place of a folder")
    with crew_of(server, tmp_path) as crew, openai_of(crew) as client:
        said = responds(client, set(), True)
        assert said.output_text == "1"
        with pytest.raises(openai.InternalServerError, match="memory is away") as refused:
            responds(client, set(), True, previous_response_id=said.id)
        assert refused.value.response.headers["retry-after"] == "1"
        assert refused.value.status_code == 503
        state.unlink()
        trying = client.with_options(max_retries=5)
        kept = responds(trying, set(), False)
        while True:  # each worker has to find out by itself, a second after its last failure
            try:
                said = responds(trying, set(), True, previous_response_id=kept.id)
                break
            except openai.BadRequestError:
                kept = responds(trying, set(), False)
        assert said.output_text == "2"


def test_a_server_that_hangs_keeps_nobody_waiting(
    server: ByPathServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RedisServer() as redis:
        monkeypatch.setenv("THINK_MEMORY", redis.address)
        with crew_of(server, tmp_path) as crew, openai_of(crew) as client:
            begun = responds(client, set(), True)
            with redis.paused():
                with pytest.raises(openai.InternalServerError, match="memory is away"):
                    responds(client, set(), True, previous_response_id=begun.id)
                assert responds(client, set(), True).output_text == "1"
                chat = client.chat.completions.create(model="small", messages=SAID)
                assert chat.choices[0].message.content == "1"
            trying = client.with_options(max_retries=5)
            assert responds(trying, set(), True, previous_response_id=begun.id).output_text == "2"
