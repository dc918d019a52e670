"""A server made of recordings answers as the recorded servers did."""

import json
import socket

import pytest

from converter.addon.keep.notes import NotedFacts
from converter.extras.recordings import server as paces
from converter.extras.recordings.library import Library
from converter.extras.recordings.recording import RecordedReply, Recording
from converter.extras.recordings.server import FAST, RecordedServer
from tests.support.clients import Client
from tests.support.made_recordings import (
    CHAT,
    EVENT_STREAM,
    MESSAGES,
    PIECES,
    question,
    recorded,
    recording,
)
from tests.support.recorded import FOLDER

pytestmark = pytest.mark.slow

BODY = b"".join(PIECES)


def ask(
    server: RecordedServer, body: object, path: str = CHAT, method: str = "POST"
) -> tuple[int, bytes]:
    with Client(server.server_port) as client:
        answer = client.ask(
            path, body if isinstance(body, bytes) else json.dumps(body).encode(), method=method
        )
    return answer.status, answer.body


def serving(*recordings: Recording, pace: float = FAST) -> RecordedServer:
    return RecordedServer(recordings, 0, pace)


def test_it_listens_on_loopback_only() -> None:
    with serving() as server:
        assert server.address == f"http://127.0.0.1:{server.server_port}"
        assert server.socket.getsockname()[0] == "127.0.0.1"


def test_a_request_gets_the_reply_that_was_recorded_for_it() -> None:
    with serving(
        recording("hi"), recording("bye", question("Bye"), [b"data: [DONE]\n\n"])
    ) as server:
        assert ask(server, question()) == (200, BODY)
        assert ask(server, question("Bye")) == (200, b"data: [DONE]\n\n")


def test_chunks_come_as_they_were_cut() -> None:
    pieces = [b"data: {", b'"choices"', b": []}\n", b"\n"]
    wire = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    body = json.dumps(question()).encode()
    with (
        serving(recording(pieces=pieces)) as server,
        socket.create_connection(("127.0.0.1", server.server_port)) as client,
    ):
        client.sendall(
            b"POST %s HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (CHAT.encode(), len(body), body)
        )
        got = b""
        while not got.endswith(wire):
            piece = client.recv(65536)
            assert piece, got
            got += piece
    assert b"content-type: text/event-stream" in got


def test_another_request_gets_an_error_that_names_the_recordings() -> None:
    with serving(recording()) as server:
        message = json.loads(ask(server, question("Bye"))[1])["error"]["message"]
    assert "POST /v1/chat/completions; try one that `think-addon record show" in message


def test_a_request_that_was_translated_gets_what_the_client_got() -> None:
    translated_recording = recording(
        request=recorded(question(), MESSAGES),
        client_reply=RecordedReply(200, EVENT_STREAM, b"event: message_stop\n\n"),
    )
    with serving(translated_recording, recording("other", question("Other"))) as server:
        assert ask(server, question(), MESSAGES) == (200, b"event: message_stop\n\n")
        assert ask(server, question("Other"), MESSAGES)[0] == 404


def test_who_goes_on_behind_an_ended_thought_gets_the_second_reply() -> None:
    ended = Library(FOLDER).load("llama-ended-thought-responses-stream")
    first = json.loads(ended.sent_request.body)
    begun = {"role": "assistant", "reasoning_content": "I need 6"}
    with serving(recording("hi"), ended) as server:
        whole = ask(server, first, ended.sent_request.path)
        second = ask(
            server, {**first, "messages": [*first["messages"], begun]}, ended.sent_request.path
        )
    assert whole == (200, ended.body)
    assert second[1] == b"".join(chunk.data for chunk in ended.second_chunks)
    assert b"reasoning_content" not in second[1]
    assert ended.body.endswith(second[1])


def test_the_recording_with_most_equal_fields_answers_and_equals_take_turns() -> None:
    three = [
        recording(name, question(seed=seed), [name.encode()])
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    with serving(*three) as server:
        replies = [ask(server, question(seed=seed))[1] for seed in (1, 1, 1, 2)]
    assert replies == [b"a", b"b", b"a", b"c"]


def test_a_path_that_begins_with_a_name_is_for_that_recording_alone() -> None:
    with serving(recording("a", pieces=[b"a"]), recording("b", pieces=[b"b"])) as server:
        assert [ask(server, question(), f"/b{CHAT}")[1] for _ in range(2)] == [b"b", b"b"]
        assert ask(server, question(), f"/none{CHAT}")[0] == 404


def test_the_list_of_models_tells_what_the_servers_were() -> None:
    llama, other = (
        recording("a", facts=NotedFacts("llama.cpp")),
        recording("b", question(model="big"), facts=NotedFacts("vllm")),
    )
    with serving(llama, other) as server:
        owners = [
            json.loads(ask(server, b"", path, "GET")[1])["data"]
            for path in ("/v1/models", "/a/v1/models", "/b/v1/models")
        ]
    assert [[(model["id"], model["owned_by"]) for model in models] for models in owners] == [
        [("big", "recordings"), ("small", "recordings")],
        [("small", "llamacpp")],
        [("big", "vllm")],
    ]


def test_the_addons_probes_get_the_recorded_answers() -> None:
    opened = recording("opened", facts=NotedFacts(begins="thinking"))
    counted = recording("counted", question("Long"), facts=NotedFacts("vllm", counted=4408))
    with serving(opened, counted) as server:
        [models] = json.loads(ask(server, b"", "/opened/v1/models", "GET")[1])["data"]
        owners = [
            json.loads(ask(server, body, "/tokenize")[1]) for body in (question(), question("Long"))
        ]
        assert ask(server, question("Other"), "/tokenize")[0] == 404
    assert models["owned_by"] == "vllm"  # which the addon asks where a reply begins
    assert owners == [
        {"count": None, "token_strs": ["<think>"]},
        {"count": 4408, "token_strs": ["\n"]},
    ]


@pytest.mark.parametrize("pace", [1.0, 4.0])
def test_each_chunk_waits_for_its_time(pace: float, monkeypatch: pytest.MonkeyPatch) -> None:
    paced = recording()
    now = [100.0]
    monkeypatch.setattr(paces, "monotonic", lambda: now[0])
    monkeypatch.setattr(paces, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    sent = [now[0] - 100.0 for _ in paces.wait_for_chunks(paced.chunks, 100.0, pace)]
    assert sent == pytest.approx([chunk.at_seconds / pace for chunk in paced.chunks])
