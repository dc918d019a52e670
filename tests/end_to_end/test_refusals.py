"""Requests that a real llama.cpp refuses, and accepts when sent again: schemas, pictures."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import ollama
import pytest

from tests.conftest import Llama
from tests.support.frames import stream as frames
from tests.support.frames import whole
from tests.support.harness import Proxy, start_proxy
from tests.support.scripted_server import JSON, Reply, ScriptedServer
from tests.support.sdks import anthropic_client, openai_client
from tests.support.weather_tool import DOT

pytestmark = pytest.mark.slow

SCHEMAS: dict[str, dict[str, Any]] = {
    "failed to parse grammar": {"type": "string", "pattern": "^a{99999}$"},
    "Invalid pattern": {"type": "string", "pattern": "^(ab$"},
    "unrecognized type": {"type": "date"},
    "schema must be an object": {"type": "array", "items": True},
    "cannot resolve": {"$ref": "#/$defs/none"},
}
"""By the words of llama.cpp's refusal. It took `\\d` itself, `\\S` and patterns without anchors."""
AGAIN = "was asked again without"
QUESTION = "What is the weather in Oslo?"
ABOUT = "The weather of a city"
CLOSED = {"connection": "close"}


def schema(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"city": value}, "required": ["city"]}


def _request(value: dict[str, Any], name: str) -> dict[str, Any]:
    function = {"name": name, "description": ABOUT, "parameters": schema(value)}
    return {
        "model": "m",
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "function": function}],
        "max_tokens": 8,
    }


def chat(port: int, value: dict[str, Any], name: str) -> str:
    with openai_client(port) as client:
        reply = client.chat.completions.create(**_request(value, name))
    return str(reply.choices[0].finish_reason)


def streamed(port: int, value: dict[str, Any], name: str) -> str:
    with openai_client(port) as client:
        reply = client.chat.completions.create(**_request(value, name), stream=True)
        return str([chunk.choices[0].finish_reason for chunk in reply if chunk.choices][-1])


def messages(port: int, value: dict[str, Any], name: str) -> str:
    with anthropic_client(port) as client:
        reply = client.messages.create(
            model="m",
            messages=[{"role": "user", "content": QUESTION}],
            tools=[{"name": name, "description": ABOUT, "input_schema": schema(value)}],
            max_tokens=8,
        )
    return str(reply.stop_reason)


def responses(port: int, value: dict[str, Any], name: str) -> str:
    tool: Any = {"type": "function", "name": name, "parameters": schema(value), "strict": False}
    with openai_client(port) as client:
        reply = client.responses.create(
            model="m", input=QUESTION, tools=[tool], max_output_tokens=16, store=False
        )
    return str(reply.status)


def ollamas(port: int, value: dict[str, Any], name: str) -> str:
    """By hand: the package drops words of a schema that it does not know."""
    body = {**_request(value, name), "stream": False, "options": {"num_predict": 8}}
    reply = httpx.post(f"http://127.0.0.1:{port}/api/chat", json=body, timeout=60)
    assert "done_reason" in reply.json(), reply.text
    return str(reply.json()["done_reason"])


@pytest.mark.parametrize("ask", [chat, streamed, messages, responses, ollamas])
@pytest.mark.parametrize("named", SCHEMAS)
def test_a_schema_that_the_grammar_refuses(ask: Any, named: str, llamas: dict[str, Llama]) -> None:
    llama = llamas["tags"]
    mark = llama.proxy.mark()
    for _ in range(2):
        assert ask(llama.port, SCHEMAS[named], f"weather_{ask.__name__}_{len(named)}")
    logged = llama.proxy.output[mark:]
    assert logged.count(AGAIN) == 1
    assert named in logged


@pytest.mark.parametrize("kind", ["chat", "messages", "responses", "ollama"])
def test_a_picture_for_a_model_that_cannot_see(kind: str, llamas: dict[str, Llama]) -> None:
    port, data = llamas["tags"].port, DOT
    url = f"data:image/png;base64,{data}"
    if kind == "messages":
        source = {"type": "base64", "media_type": "image/png", "data": data}
        content: Any = [{"type": "text", "text": QUESTION}, {"type": "image", "source": source}]
        with anthropic_client(port) as client:
            turn: Any = {"role": "user", "content": content}
            assert client.messages.create(model="m", messages=[turn], max_tokens=8).content
    elif kind == "ollama":
        pictured: Any = {"role": "user", "content": QUESTION, "images": [data]}
        with ollama.Client(f"http://127.0.0.1:{port}", headers=CLOSED) as own:
            assert own.chat("m", messages=[pictured], options={"num_predict": 8}).done
    else:
        with openai_client(port) as client:
            if kind == "chat":
                part: Any = {"type": "image_url", "image_url": {"url": url}}
                messages: Any = [
                    {"role": "user", "content": [{"type": "text", "text": QUESTION}, part]}
                ]
                reply = client.chat.completions.create(model="m", messages=messages, max_tokens=8)
                assert reply.choices
            else:
                item: Any = {"type": "input_image", "image_url": url, "detail": "auto"}
                items: Any = [{"role": "user", "content": [item]}]
                response = client.responses.create(
                    model="m", input=items, max_output_tokens=16, store=False
                )
                assert response.status != "failed"


REFUSED_BY = {
    "vLLM": "The provided JSON schema contains features not supported by xgrammar.",
    "guidance": "Grammar error: Unknown format: uri",
    "LM Studio": "Failed to initialize samplers: failed to parse grammar",
}
TOOL = _request({"type": "string", "pattern": r"\d", "format": "uri"}, "log")


LM_STUDIO = (
    'Engine protocol predict request returned 400: {"error":{"code":400,'
    f'"message":"{REFUSED_BY["LM Studio"]}","type":"invalid_request_error"}}}}',
    "Model does not support images. Please use a model that does.",
)


def refusal(message: str, status: int, then: Reply) -> Reply:
    body = json.dumps({"error": {"message": message, "code": status}}).encode()
    return Reply([body[:9], body[9:]], JSON, status, then=then)


DATE = {"type": "object", "properties": {"day": {"type": "string", "pattern": r"^\d+$"}}}
LINK = f"data:image/png;base64,{DOT}"
SOURCE = {"type": "base64", "media_type": "image/png", "data": DOT}
PICTURED: dict[str, Any] = {
    "chat/completions": {
        "tools": [{"type": "function", "function": {"name": "log", "parameters": DATE}}],
        "messages": [
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": LINK}}]}
        ],
    },
    "messages": {
        "max_tokens": 99,
        "tools": [{"name": "log", "input_schema": DATE}],
        "messages": [{"role": "user", "content": [{"type": "image", "source": SOURCE}]}],
    },
    "responses": {
        "tools": [{"type": "function", "name": "log", "parameters": DATE, "strict": False}],
        "input": [{"role": "user", "content": [{"type": "input_image", "image_url": LINK}]}],
    },
}
for body in PICTURED.values():
    body |= {"model": "m", "stream": True}


def good(stream: bool) -> Reply:
    if stream:
        return Reply(frames("<think>I add.</think>It is 5."))
    return Reply([whole("<think>I add.</think>It is 5.")], JSON)


def in_stream(message: str, then: Reply) -> Reply:
    """LM Studio's streams: status 200, and nothing but an error."""
    error = json.dumps({"error": {"message": message}, "message": message})
    return Reply([f"event: error\ndata: {error}\n\n".encode()], then=then)


@pytest.mark.parametrize("path", ["chat/completions", "messages", "responses"])
def test_a_stream_that_is_nothing_but_a_refusal(
    path: str, server: ScriptedServer, proxy_folder: Path
) -> None:
    schema_and_picture = in_stream(LM_STUDIO[0], in_stream(LM_STUDIO[1], good(stream=True)))
    server.answer(schema_and_picture)
    options = ["--set", "think_server=lmstudio"]
    with start_proxy([f"reverse:{server.address}"], options, proxy_folder, "streams") as studio:
        for number in (3, 4):
            url = f"http://127.0.0.1:{studio.ports[0]}/v1/{path}"
            reply = httpx.post(url, json=PICTURED[path], timeout=60)
            assert "It is 5." in reply.text.replace('"}}]}', "")
            assert "I add." in reply.text
            assert "error" not in reply.text.replace('"error":null', "")
            assert len(server.requests) == number
        assert studio.output.count(AGAIN) == 2
        studio.check(0)


TOO_LONG = (
    "This model's maximum context length is 4096 tokens. However, you requested 6211 tokens "
    "(6011 in the messages, 200 in the completion)."
)
"""The error of llama-cpp-python 0.3.36 to a whole request; a request for a stream gets no byte."""
REASONS = {
    "chat/completions": "context length is 4096",
    "messages": "prompt is too long: 6011 tokens > 4096 maximum",
    "responses": "context_length_exceeded",
}


@pytest.mark.parametrize("path", REASONS)
def test_a_stream_without_a_byte_is_requested_again_for_its_reason(
    path: str, proxy: Proxy, server: ScriptedServer
) -> None:
    server.answer(Reply([], then=refusal(TOO_LONG, 400, good(stream=False))))
    reply = httpx.post(
        f"http://127.0.0.1:{proxy.ports[0]}/v1/{path}", json=PICTURED[path], timeout=60
    )
    assert REASONS[path] in reply.text
    sent = json.loads(server.requests[-1].body)
    assert (sent["max_tokens"], sent["stream"], len(server.requests)) == (1, False, 2)
    assert "stream_options" not in sent


@pytest.mark.parametrize("then", [good(stream=False), good(stream=True), Reply([])])
def test_a_stream_without_a_byte_and_a_reason_is_cut_short(
    then: Reply, proxy: Proxy, server: ScriptedServer
) -> None:
    server.answer(Reply([], then=then))
    reply = _post(proxy.ports[0], {**TOOL, "stream": True})
    assert "the server's reply was empty" in reply.text
    assert "It is 5." not in reply.text


def test_a_stream_that_was_begun_early_goes_on(server: ScriptedServer, proxy_folder: Path) -> None:
    options = ["--set", "think_server=generic", "--set", "think_ping=1,early"]
    hold = threading.Event()
    server.answer(replace(refusal(REFUSED_BY["vLLM"], 400, good(stream=True)), before=hold))
    with start_proxy([f"reverse:{server.address}"], options, proxy_folder, "refused") as early:
        url = f"http://127.0.0.1:{early.ports[0]}/v1/chat/completions"
        with httpx.stream("POST", url, json={**TOOL, "stream": True}, timeout=60) as reply:
            hold.set()  # the client has its head, the proxy has none
            received = "".join(reply.iter_text())
    assert reply.status_code == 200
    assert "I add." in received
    assert "data: [DONE]" in received
    assert '"error"' not in received


def test_a_user_may_want_the_error(server: ScriptedServer, proxy_folder: Path) -> None:
    options = ["--set", "think_server=generic", "--set", "think_pictures=refuse"]
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DOT}"}}
    request = {"model": "m", "messages": [{"role": "user", "content": [image]}]}
    server.answer(refusal("m is not a multimodal model", 400, good(stream=False)))
    with start_proxy([f"reverse:{server.address}"], options, proxy_folder, "refuse") as strict:
        assert _post(strict.ports[0], request).status_code == 400
    assert len(server.requests) == 1


def _post(port: int, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=body, timeout=60)
