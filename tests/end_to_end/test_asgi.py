"""The official Anthropic SDK asks a Starlette app that answers chat completions."""

import threading
from collections.abc import Iterator

import pytest
import uvicorn
from anthropic import Anthropic, BadRequestError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from docs.asgi import Thinking
from tests.support.frames import stream, whole

pytestmark = pytest.mark.slow

HI = [{"role": "user", "content": "hi"}]


async def _completion(request: Request) -> Response:
    asked = await request.json()
    if asked["model"] == "unknown":
        return JSONResponse({"error": {"message": "no such model"}}, 400)
    if not asked.get("stream"):
        return Response(whole("<think>hm</think>So"), media_type="application/json")
    pieces = iter(stream("<thi", "nk>h", "m</think>", "So"))
    return StreamingResponse(pieces, media_type="text/event-stream")


@pytest.fixture(scope="module")
def client() -> Iterator[Anthropic]:
    routes = [Route("/v1/chat/completions", _completion, methods=["POST"])]
    config = uvicorn.Config(Thinking(Starlette(routes=routes)), port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    with Anthropic(base_url=f"http://127.0.0.1:{port}", api_key="none", max_retries=0) as asking:
        yield asking
    server.should_exit = True
    thread.join()


def test_a_streamed_reply_has_its_thinking_block(client: Anthropic) -> None:
    with client.messages.stream(model="m", max_tokens=99, messages=HI) as reply:  # type: ignore[arg-type]
        kinds = [event.type for event in reply]
        message = reply.get_final_message()
    assert "thinking" in kinds
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert [message.content[0].thinking, message.content[1].text] == ["hm", "So"]  # type: ignore[union-attr]


def test_a_whole_reply_has_its_thinking_block(client: Anthropic) -> None:
    message = client.messages.create(model="m", max_tokens=99, messages=HI)  # type: ignore[arg-type]
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.stop_reason == "end_turn"


def test_an_error_is_one_that_the_client_knows(client: Anthropic) -> None:
    with pytest.raises(BadRequestError, match="no such model"):
        client.messages.create(model="unknown", max_tokens=99, messages=HI)  # type: ignore[arg-type]
