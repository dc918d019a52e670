"""Ollama's clients through the addon: the `ollama` package, LangChain's ChatOllama and `llm` on the
small model, what Home Assistant and Copilot send, and a server that is an Ollama itself.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ollama
import pytest
from langchain_ollama import ChatOllama

from tests.conftest import Llama
from tests.support.by_path_server import ByPathServer, Says, owned_by
from tests.support.clients import Client
from tests.support.harness import LlamaServer, Proxy, Variant, start_proxy
from tests.support.scripted_server import ReceivedRequest
from tools.recording_plans import OPENAI_TOOL

pytestmark = pytest.mark.slow

MODEL, CHAT = "tiny-think", "/api/chat"
GREEDY: dict[str, Any] = {"temperature": 0, "seed": 1, "num_predict": 300}
SUM = [{"role": "user", "content": "12 * 7"}]
WEATHER = [{"role": "user", "content": "What is the weather in Oslo?"}]
LINES = {"content-type": "application/x-ndjson"}
CLOSED = {"connection": "close"}
"""The package leaves connections of streams open that the proxy would keep."""


@pytest.fixture(params=["tags", "extracted"])
def address(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Iterator[str]:
    chosen = llamas[request.param]
    mark = chosen.proxy.mark()
    yield f"http://127.0.0.1:{chosen.port}"
    chosen.proxy.check(mark)


@pytest.fixture
def client(address: str) -> Iterator[ollama.Client]:
    with ollama.Client(address, headers=CLOSED) as ours:
        yield ours


def test_a_stream_thinks_and_answers_as_it_comes(client: ollama.Client) -> None:
    parts = list(client.chat(MODEL, SUM, stream=True, think=True, options=GREEDY))
    assert len(parts) > 5, "it is live"
    thinking = "".join(part.message.thinking or "" for part in parts)
    assert "12" in thinking
    assert any(part.message.content for part in parts)
    assert "<think>" not in thinking
    last = parts[-1]
    assert (last.done, last.done_reason) == (True, "stop")
    assert last.prompt_eval_count
    assert last.eval_count
    assert last.eval_duration


def test_a_tool_is_called_and_its_result_answered(client: ollama.Client) -> None:
    messages: list[Any] = list(WEATHER)
    reply = client.chat(MODEL, messages, tools=[OPENAI_TOOL], options=GREEDY)
    assert reply.message.tool_calls
    [call] = reply.message.tool_calls
    assert (call.function.name, call.function.arguments) == ("get_weather", {"city": "Oslo"})
    result = {"role": "tool", "content": "sunny, 21 degrees", "tool_name": "get_weather"}
    answer = client.chat(
        MODEL, [*messages, reply.message, result], tools=[OPENAI_TOOL], options=GREEDY
    )
    assert answer.message.content
    assert not answer.message.tool_calls


def test_what_cannot_be_had_is_an_error_of_the_package(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="not found"):
        client.show("other")
    with pytest.raises(ollama.ResponseError, match="managed at the server"):
        client.pull("other")
    with pytest.raises(ollama.ResponseError, match="embeddings"):
        client.embed(MODEL, "a")
    with pytest.raises(ollama.ResponseError, match="messages"):
        client.chat(MODEL, [{"role": "judge", "content": "x"}])


def test_langchain_has_reasoning_and_calls(address: str) -> None:
    model = ChatOllama(
        model=MODEL, base_url=address, temperature=0, num_predict=300, reasoning=True
    )
    pieces = list(model.stream("12 * 7"))
    assert "12" in "".join(str(p.additional_kwargs.get("reasoning_content", "")) for p in pieces)
    assert any(piece.content for piece in pieces)
    called: Any = model.bind_tools([OPENAI_TOOL]).invoke("What is the weather in Oslo?")
    assert [(call["name"], call["args"]) for call in called.tool_calls] == [
        ("get_weather", {"city": "Oslo"})
    ]
    inner: Any = model._client
    inner.close()  # nobody else does


COPILOT = {
    "model": MODEL,
    "messages": [{"role": "system", "content": "You are an expert programmer."}, *WEATHER],
    "tools": [OPENAI_TOOL],
    "temperature": 0,
    "top_p": 1,
    "n": 1,
    "stream": True,
    "stream_options": {"include_usage": True},
}
"""As VS Code asks a model of its Ollama provider: at the address's chat completions."""


def test_copilot_finds_the_model_and_chats(address: str) -> None:
    """The client reads a model's window and abilities from `/api/show`, and fails on null."""
    with Client(int(address.rpartition(":")[2])) as plain:
        version = plain.ask("/api/version", b"", method="GET")
        listed = plain.ask("/api/tags", b"", method="GET")
        [entry] = json.loads(listed.body)["models"]
        shown = plain.ask("/api/show", json.dumps({"model": entry["model"]}).encode())
        for answer in (version, listed, shown):
            assert answer.status == 200
            assert b"null" not in answer.body
        numbers = json.loads(version.body)["version"].split(".")
        assert [int(number) for number in numbers] >= [0, 6, 4], "it refuses an older one"
        about = json.loads(shown.body)
        info = about["model_info"]
        assert info["general.basename"] == MODEL
        assert info[f"{info['general.architecture']}.context_length"] == 4096
        assert "tools" in about["capabilities"]
        key = {"authorization": "Bearer ", "content-type": "application/json"}
        reply = plain.ask("/v1/chat/completions", json.dumps(COPILOT).encode(), key)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert b'"reasoning_content":' in reply.body
    assert b'"get_weather"' in reply.body
    assert b"<think>" not in reply.body
    assert reply.body.endswith(b"data: [DONE]\n\n")


def line(**message: object) -> bytes:
    turn = {"role": "assistant", "content": "", **message}
    head = {"model": MODEL, "created_at": "2026-08-01T00:00:00.123456789Z"}
    return json.dumps({**head, "message": turn, "done": False}).encode() + b"\n"


END = {**json.loads(line()), "done": True, "done_reason": "stop", "load_duration": 7}
COUNTED = json.dumps({**END, "prompt_eval_count": 3, "eval_count": 5}).encode() + b"\n"
TAGGED = [line(content="<thi"), line(content="nk>\nhm</think>\n\n"), line(content="So"), COUNTED]


@pytest.fixture(scope="module")
def real() -> Iterator[ByPathServer]:
    """A server that says of itself that it is an Ollama."""
    rows = {"/api/version": Says({"version": "0.12.6"}), **owned_by("library")}
    with ByPathServer(rows) as server:
        yield server


@pytest.fixture(scope="module")
def home(real: ByPathServer, proxy_folder: Path) -> Iterator[Proxy]:
    with start_proxy([f"reverse:{real.address}"], [], proxy_folder, "ollama") as proxy:
        yield proxy


def test_the_request_reaches_ollama_and_the_reply_is_mended(
    real: ByPathServer, home: Proxy
) -> None:
    real.rows[CHAT] = Says(steps=TAGGED, headers=LINES)
    client = ollama.Client(f"http://127.0.0.1:{home.ports[0]}", headers=CLOSED)
    options = {"num_ctx": 16384}
    parts = list(client.chat(MODEL, SUM, stream=True, think=True, keep_alive="1h", options=options))
    [body] = real.bodies(CHAT)
    assert (body["options"], body["keep_alive"]) == (options, "1h")
    assert "think" not in body, "it is on where a model can, and refused where it cannot"
    assert "".join(part.message.thinking or "" for part in parts) == "hm"
    assert "".join(part.message.content or "" for part in parts).strip() == "So"
    assert (parts[-1].eval_count, parts[-1].load_duration) == (5, 7)


def unable(request: ReceivedRequest) -> Says:
    """Answer as for a model of which Ollama does not know that it thinks, though it does."""
    if json.loads(request.body).get("think"):
        return Says({"error": f'"{MODEL}" does not support thinking'}, 400)
    generated = {**json.loads(COUNTED), "response": "<think>hm</think>So"}
    return Says(steps=TAGGED, headers=LINES) if request.target == CHAT else Says(generated)


def test_an_ollama_that_does_not_know_of_thinking_has_its_tags_read(
    real: ByPathServer, home: Proxy
) -> None:
    real.rows[CHAT] = real.rows["/api/generate"] = unable
    with ollama.Client(f"http://127.0.0.1:{home.ports[0]}", headers=CLOSED) as client:
        parts = list(client.chat(MODEL, SUM, stream=True, think=True))
        assert "".join(part.message.thinking or "" for part in parts) == "hm"
        reply = client.generate(MODEL, "12 * 7", think=True)
        assert (reply.thinking, reply.response) == ("hm", "So")
        with pytest.raises(ollama.ResponseError, match="does not support thinking") as refused:
            client.chat(MODEL, SUM, think="high")  # a level, which models that take one need
    assert refused.value.status_code == 400


def test_calls_in_an_ollamas_text_are_calls(real: ByPathServer, home: Proxy) -> None:
    text = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
    whole = {**json.loads(COUNTED), "message": {"role": "assistant", "content": text}}
    real.rows[CHAT] = Says(whole)
    with ollama.Client(f"http://127.0.0.1:{home.ports[0]}", headers=CLOSED) as client:
        reply = client.chat(MODEL, WEATHER, tools=[OPENAI_TOOL])
    assert reply.message.tool_calls
    assert reply.message.tool_calls[0].function.arguments == {"city": "Oslo"}
    assert not reply.message.content
    assert (reply.eval_count, reply.load_duration) == (5, 7)


def test_a_good_reply_of_an_ollama_passes_byte_for_byte(real: ByPathServer, home: Proxy) -> None:
    sent = [line(thinking="hm"), line(thinking="."), line(content="So"), line(content="."), COUNTED]
    real.rows[CHAT] = Says(steps=sent, headers=LINES)
    with Client(home.ports[0]) as plain:
        answer = plain.ask(CHAT, json.dumps({"model": MODEL, "messages": SUM}).encode())
        assert answer.body == b"".join(sent)
        real.rows["/api/pull"] = Says({"status": "success"})
        assert b"success" in plain.ask("/api/pull", b"{}").body


@pytest.fixture(scope="module")
def vectors(proxy_folder: Path) -> Iterator[tuple[str, Proxy]]:
    """A llama.cpp that makes vectors, and the proxy in front of it."""
    variant = Variant("qwen", "none", embeddings=True)
    with (
        LlamaServer(variant, proxy_folder / "llama-vectors.log") as server,
        start_proxy([f"reverse:{server.address}"], [], proxy_folder, "vectors") as proxy,
    ):
        yield server.address, proxy


def test_texts_become_the_servers_vectors(vectors: tuple[str, Proxy]) -> None:
    address, proxy = vectors
    body = json.dumps({"model": MODEL, "input": ["12 * 7", "a"]}).encode()
    with Client(int(address.rpartition(":")[2])) as plain:
        own = plain.ask("/v1/embeddings", body)
    rows = [row["embedding"] for row in json.loads(own.body)["data"]]
    with ollama.Client(f"http://127.0.0.1:{proxy.ports[0]}", headers=CLOSED) as client:
        reply = client.embed(MODEL, ["12 * 7", "a"])
        assert [list(row) for row in reply.embeddings] == rows
        assert reply.prompt_eval_count
        assert reply.total_duration
        assert list(client.embed(MODEL, "a").embeddings[0]) == pytest.approx(rows[1])
        assert list(client.embeddings(MODEL, "a").embedding) == pytest.approx(rows[1])
    with Client(proxy.ports[0]) as plain:
        refused = plain.ask("/api/embed", b'{"model": "tiny-think"}')
    assert (refused.status, list(json.loads(refused.body))) == (400, ["error"])
    proxy.check()
