"""Errors reach an Anthropic client in its own dialect, with a fitting type and status, in the
server's words.
"""

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from laws.strict_reader import read_strictly
from tests.support.by_path_server import CHAT, MESSAGES, ByPathServer, Says
from tests.support.clients import Client, anthropic_error, question
from tests.support.error_words import ERROR, OVERFLOWS, SHAPES
from tests.support.frames import DONE, ROLE, data, text
from tests.support.harness import TESTS, Program, start_proxy
from tests.support.sdks import anthropic_client

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

REQUEST: dict[str, Any] = {
    "model": "small",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "hi"}],
}


@pytest.mark.parametrize("says", SHAPES.values(), ids=SHAPES.keys())
def test_the_message_of_every_server_arrives(
    front: Client, model: ByPathServer, says: Says, streamed: bool
) -> None:
    model.rows[CHAT] = says
    answer = front.ask(MESSAGES, question(streamed))
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (404, "not_found_error")
    assert ERROR in anthropic_error(answer.body)
    assert answer.headers["content-type"].startswith("application/json")


type Row = tuple[int, int, str, type[anthropic.APIStatusError]]
STATUSES: list[Row] = [
    (400, 400, "invalid_request_error", anthropic.BadRequestError),
    (401, 401, "authentication_error", anthropic.AuthenticationError),
    (403, 403, "permission_error", anthropic.PermissionDeniedError),
    (404, 404, "not_found_error", anthropic.NotFoundError),
    (413, 413, "request_too_large", anthropic.APIStatusError),
    (422, 422, "invalid_request_error", anthropic.UnprocessableEntityError),
    (429, 429, "rate_limit_error", anthropic.RateLimitError),
    (500, 500, "api_error", anthropic.InternalServerError),
    (502, 502, "api_error", anthropic.InternalServerError),
    (503, 529, "overloaded_error", anthropic.APIStatusError),
    (504, 504, "timeout_error", anthropic.APIStatusError),
]


@pytest.mark.parametrize("row", STATUSES, ids=lambda row: row[0])
def test_the_sdk_raises_what_it_has_for_the_status(
    model: ByPathServer, sdk: anthropic.Anthropic, row: Row
) -> None:
    status, seen, kind, error = row
    model.rows[CHAT] = Says({"error": {"message": ERROR, "type": "own", "code": status}}, status)
    with pytest.raises(error, match="does not exist") as raised:
        sdk.messages.create(**REQUEST)
    body = raised.value.body
    assert isinstance(body, dict)
    assert (raised.value.status_code, body["error"]["type"]) == (seen, kind)
    with pytest.raises(error), sdk.messages.stream(**REQUEST) as stream:
        stream.get_final_message()


# Context overflow, in the words on which Claude Code compacts the conversation.
@pytest.mark.parametrize(("message", "numbers"), OVERFLOWS.values(), ids=OVERFLOWS.keys())
def test_a_prompt_too_long_has_the_apis_message(
    model: ByPathServer, sdk: anthropic.Anthropic, message: str, numbers: str
) -> None:
    model.rows[CHAT] = Says(
        {"error": {"message": message, "type": "BadRequestError", "code": 400}}, 400
    )
    with pytest.raises(
        anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > \d+ maximum"
    ) as raised:
        sdk.messages.create(**REQUEST)
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["error"]["type"] == "invalid_request_error"
    assert numbers in str(raised.value)


def test_when_to_come_again_is_passed_on(model: ByPathServer, sdk: anthropic.Anthropic) -> None:
    model.rows[CHAT] = Says(
        {"error": "busy"}, 429, {"content-type": "application/json", "retry-after": "7"}
    )
    with pytest.raises(anthropic.RateLimitError) as raised:
        sdk.messages.create(**REQUEST)
    assert raised.value.response.headers["retry-after"] == "7"


def test_a_prompt_too_long_within_a_stream_has_the_same_message(
    front: Client, model: ByPathServer
) -> None:
    message = OVERFLOWS["llama.cpp"][0]
    model.rows[CHAT] = Says(steps=[data({"error": {"message": message, "code": 400}})])
    reader = read_strictly(front.ask(MESSAGES, question(stream=True)).body)
    error = {
        "type": "invalid_request_error",
        "message": "prompt is too long: 5000 tokens > 4096 maximum",
    }
    assert reader.error["error"] == error


@pytest.fixture(scope="module")
def narrow(proxy_folder: Path) -> Iterator[anthropic.Anthropic]:
    """A llama.cpp with room for few tokens, behind the addon."""
    command = [
        sys.executable,
        str(TESTS / "tiny_model" / "serve.py"),
        "--port",
        "0",
        "--context",
        "256",
    ]
    with Program(command, proxy_folder / "narrow.log", proxy_folder / "narrow.errors") as server:
        address = server.wait_for(r"(?m)^ready (http://\S+)$")[0]
        with (
            start_proxy([f"reverse:{address}"], [], proxy_folder, "narrow") as proxy,
            anthropic_client(proxy.ports[0]) as client,
        ):
            yield client


def test_llamas_own_overflow_is_a_prompt_too_long(
    narrow: anthropic.Anthropic, streamed: bool
) -> None:
    turns = [{"role": "user", "content": "word " * 2000}]
    request: Any = {"model": "small", "max_tokens": 9, "messages": turns}
    with pytest.raises(
        anthropic.BadRequestError, match=r"prompt is too long: \d{4,} tokens > 256 maximum"
    ):
        narrow.messages.stream(**request).__enter__() if streamed else narrow.messages.create(
            **request
        )


# Within a stream.


def test_an_error_in_mid_stream_is_raised_behind_the_content_before_it(
    model: ByPathServer, sdk: anthropic.Anthropic
) -> None:
    broken = data(
        {"error": {"message": "CUDA out of memory", "type": "InternalServerError", "code": 500}}
    )
    model.rows[CHAT] = Says(steps=[ROLE, *text("<think>deep</think>", "Hel"), broken, DONE])
    seen = []
    with (
        pytest.raises(anthropic.APIStatusError, match="CUDA out of memory"),
        sdk.messages.stream(**REQUEST) as stream,
    ):
        seen = [event.text for event in stream if event.type == "text"]
    assert seen == []
    assert stream.current_message_snapshot.content[-1].to_dict()["text"] == "Hel"


def test_the_sdk_raises_on_a_stream_cut_short(
    model: ByPathServer, sdk: anthropic.Anthropic
) -> None:
    model.rows[CHAT] = Says(steps=[ROLE, *text("Hel")])
    with (
        pytest.raises(anthropic.APIStatusError, match="cut short"),
        sdk.messages.stream(**REQUEST) as stream,
    ):
        stream.get_final_message()


@pytest.mark.parametrize("headers", [{}, {"anthropic-version": "2023-06-01"}])
def test_a_list_of_models_of_a_server_that_is_down_is_an_error_in_json(
    proxy_folder: Path, headers: dict[str, str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    with (
        start_proxy([f"reverse:{address}"], [], proxy_folder, "nobody") as proxy,
        Client(proxy.ports[0]) as client,
    ):
        answer = client.ask("/v1/models", b"", headers, "GET")
    body = json.loads(answer.body)
    assert (answer.status, "type" in body) == (502, bool(headers))
    assert address.removeprefix("http://") in body["error"]["message"]
