"""A Messages request that breaks the format is refused with the place, as the API does, and nothing
goes to the server.
"""

import json
from typing import Any

import anthropic
import pytest

from tests.support.by_path_server import MESSAGES, ByPathServer
from tests.support.clients import Client, anthropic_error

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

HI: dict[str, Any] = {"role": "user", "content": "hi"}


def block(**fields: object) -> dict[str, Any]:
    """A request of one block."""
    return {"messages": [{"role": "user", "content": [fields]}]}


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no role": ({"messages": [{"content": "hi"}]}, "messages.0.role"),
    "no base64": (
        block(type="image", source={"type": "base64", "media_type": "image/png", "data": ""}),
        "messages.0.content.0.source.data",
    ),
    "a tool without a name": ({"messages": [HI], "tools": [{"input_schema": {}}]}, "tools.0.name"),
}


@pytest.mark.parametrize(("fields", "path"), BROKEN.values(), ids=BROKEN.keys())
def test_it_is_refused_with_the_path_and_goes_nowhere(
    front: Client, model: ByPathServer, fields: dict[str, Any], path: str, streamed: bool
) -> None:
    body = {"model": "small", "max_tokens": 9, "stream": streamed} | fields
    answer = front.ask(MESSAGES, json.dumps(body).encode())
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (
        400,
        "invalid_request_error",
    )
    assert anthropic_error(answer.body).startswith(f"{path}: ")
    assert model.requests == []


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"hi"', b"\xff\xfe", b"[" * 100_000],
    ids=lambda body: repr(body[:9]),
)
def test_a_body_that_is_no_object_is_refused(
    front: Client, model: ByPathServer, body: bytes
) -> None:
    answer = front.ask(f"{MESSAGES}?beta=true", body)
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (
        400,
        "invalid_request_error",
    )
    assert anthropic_error(answer.body)
    assert model.requests == []


def test_the_sdk_raises_a_bad_request(model: ByPathServer, sdk: anthropic.Anthropic) -> None:
    part = {"type": "tool_result", "tool_use_id": None, "content": "sunny"}
    wrong: Any = [HI, {"role": "user", "content": [part]}]
    with pytest.raises(
        anthropic.BadRequestError, match=r"messages\.1\.content\.0\.tool_use_id: Field required"
    ):
        sdk.messages.create(model="small", max_tokens=9, messages=wrong)
    assert model.requests == []


def test_the_connection_is_good_after_a_refusal(front: Client, model: ByPathServer) -> None:
    for _ in range(3):
        assert front.ask(MESSAGES, b"{").status == 400
    assert model.requests == []
