"""Replies that a server's own parser rejects: they are requested once more, and parsed here."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from converter.addon.hooks.refused_request import PARSED_HERE
from converter.addon.servers.unread_replies import COMPLETION_PATH, TEMPLATE_PATH
from tests.conftest import UNASKED
from tests.support.by_path_server import CHAT, ByPathServer, Says, Script
from tests.support.clients import Dialect
from tests.support.frames import DONE, data, text_completion, whole
from tests.support.frames import stream as frames
from tests.support.harness import LlamaServer, Proxy, Variant, start_proxy
from tests.support.scripted_server import ReceivedRequest

pytestmark = pytest.mark.slow

PEG = "The model produced output that does not match the expected peg-native format"
MARKS = {"gpt-oss": "<|channel|>", "Kimi": "<|tool_calls_section_begin|> <|tool_call_begin|>"}
"""Marks by which llama.cpp takes a template for one that it has a reader of its own for."""
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: dict[str, Any] = {
    "openai": {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
    "anthropic": {"name": "get_weather", "input_schema": SCHEMA},
}


def ask(
    port: int, dialect: Dialect, stream: bool, model: str, *, tools: bool = True
) -> httpx.Response:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "What is the weather in Oslo?"}],
        "max_tokens": 200,
        "stream": stream,
    }
    body |= {"tools": [TOOLS[dialect.name]]} if tools else {}
    return httpx.post(f"http://127.0.0.1:{port}{dialect.path}", json=body, timeout=60)


@pytest.fixture(scope="module", params=MARKS)
def misread(request: pytest.FixtureRequest, proxy_folder: Path) -> Iterator[Proxy]:
    """A real llama.cpp that reads its model's replies as another model writes them."""
    name, head = f"misread-{request.param}", f"{{#- {MARKS[request.param]} -#}}\n"
    llama = LlamaServer(Variant("qwen", "auto", head=head), proxy_folder / f"{name}.llama.log")
    with llama, start_proxy([f"reverse:{llama.address}"], [], proxy_folder, name) as proxy:
        yield proxy
        proxy.check(0)


@pytest.mark.parametrize("tools", [True, False], ids=["tools", "no tools"])
def test_a_real_llama_reads_no_reply(
    misread: Proxy, dialect: Dialect, streamed: bool, tools: bool
) -> None:
    mark = misread.mark()
    for _ in range(2):
        model = f"m-{dialect.name}-{streamed}-{tools}"
        reply = ask(misread.ports[0], dialect, streamed, model, tools=tools)
        assert reply.status_code == 200, reply.text
        if tools:
            finish = {"openai": '"tool_calls"', "anthropic": '"tool_use"'}[dialect.name]
            assert reply.text.count(finish) >= 1
            assert '"get_weather"' in reply.text
            assert "<tool_call>" not in reply.text
        else:
            answer = dialect.read(reply.content, streamed)
            assert answer.thinking
            assert answer.text
    assert misread.output[mark:].count(PARSED_HERE) == 1


def unread(message: str, *, stream: bool) -> Says:
    error = {"error": {"code": 500, "message": message, "type": "server_error"}}
    if not stream:
        return Says(error, 500)
    return Says(steps=[b"data: %b\n\n" % json.dumps(error).encode()])


def text(content: str, *, stream: bool) -> Says:
    if not stream:
        return Says(text_completion(content, "stop"))
    pieces = [*map(text_completion, content), text_completion("", "stop")]
    return Says(steps=[*map(data, pieces), DONE])


def chat(content: str, *, stream: bool) -> Says:
    return Says(steps=frames(content)) if stream else Says(whole(content))


PROMPT = "<|im_start|>assistant\n<think>\n"
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
POS = "Failed to parse input at pos 13: <tool_call>"
XML = "XML syntax error on line 5: element <function> closed by </parameter>"


def scripted(server: ByPathServer, folder: Path, name: str) -> Any:
    return start_proxy([f"reverse:{server.address}"], UNASKED, folder, f"unread-{name}")


def test_a_prompt_that_opens_a_thought_is_gone_on_with(
    dialect: Dialect, streamed: bool, proxy_folder: Path
) -> None:
    rows = {
        CHAT: unread(PEG, stream=streamed),
        TEMPLATE_PATH: Says({"prompt": PROMPT}),
        COMPLETION_PATH: text(f"I call.\n</think>\n\n{CALL}", stream=streamed),
    }
    with ByPathServer(rows) as server, scripted(server, proxy_folder, "opened") as proxy:
        for _ in range(2):
            reply = ask(proxy.ports[0], dialect, streamed, "m")
            assert '"get_weather"' in reply.text
            assert "</think>" not in reply.text
        paths = [path for path in server.paths() if path in rows]
        rereading = [TEMPLATE_PATH, COMPLETION_PATH]
        assert paths == [CHAT, *rereading, *rereading]
        for body in server.bodies(COMPLETION_PATH):
            assert (body["prompt"], body["max_tokens"]) == (PROMPT, 200)
            assert body.get("stream", False) is streamed
            assert not body.keys() & {"messages", "tools"}
        proxy.check(0)


@pytest.mark.parametrize("content", [POS, XML])
def test_a_server_that_writes_no_prompt_gets_the_tools_as_text(
    content: str, dialect: Dialect, streamed: bool, proxy_folder: Path
) -> None:
    reply_with_call = chat(f"<think>I call.</think>{CALL}", stream=streamed)

    def reply(request: ReceivedRequest) -> Says:
        return unread(content, stream=streamed) if b'"tools"' in request.body else reply_with_call

    nowhere = Says({"error": "Unexpected endpoint"})
    rows: dict[str, Says | Script] = {CHAT: reply, TEMPLATE_PATH: nowhere}
    with ByPathServer(rows) as server, scripted(server, proxy_folder, "told") as proxy:
        for requests in (2, 3):  # the second turn needs no refusal
            reply_text = ask(proxy.ports[0], dialect, streamed, "m").text
            assert '"get_weather"' in reply_text
            assert "<tool_call>" not in reply_text
            assert "get_weather" in str(server.bodies()[-1]["messages"])
            assert server.paths().count(CHAT) == requests
        proxy.check(0)


@pytest.mark.parametrize("content", [PEG, POS])
def test_an_error_in_mid_stream_is_one_and_the_next_request_goes_around_it(
    content: str, dialect: Dialect, proxy_folder: Path
) -> None:
    error = json.dumps({"error": {"code": 500, "message": content}}).encode()
    sent = [*frames("<think>I call.</think>", "Wait. ")[:-3], b"data: %b\n\n" % error]
    rows = {
        CHAT: Says(steps=sent),
        TEMPLATE_PATH: Says({"prompt": PROMPT}),
        COMPLETION_PATH: text(f"I call.</think>{CALL}", stream=True),
    }
    with ByPathServer(rows) as server, scripted(server, proxy_folder, "broken") as proxy:
        assert content in ask(proxy.ports[0], dialect, stream=True, model="m").text
        assert '"get_weather"' in ask(proxy.ports[0], dialect, stream=True, model="m").text
        assert server.paths()[-2:] == [TEMPLATE_PATH, COMPLETION_PATH]
