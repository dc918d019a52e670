"""Turns and fields that a server refuses: they are sent again in an order that it takes, and so the
next time.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.frames import stream as frames
from tests.support.frames import whole
from tests.support.harness import LlamaServer, Proxy, Variant, start_proxy
from tests.support.scripted_server import JSON, Reply, ScriptedServer

pytestmark = pytest.mark.slow

AGAIN = "was asked again without"
STRICT = """
{%- for turn in messages %}
{%- if turn.role == 'system' and not loop.first %}
{{- raise_exception('System message must be at the beginning.') }}
{%- endif %}
{%- endfor %}
"""
"""The refusal of Qwen3.5's template."""
ASK = {"role": "user", "content": "What is 12 plus 30?"}
BEGUN = {"role": "assistant", "content": "The answer"}
SYSTEMS = [{"role": "system", "content": message} for message in ("Be kind.", "Be brief.")]
PATHS = {
    "chat": "v1/chat/completions",
    "messages": "v1/messages",
    "responses": "v1/responses",
    "ollama": "api/chat",
}


def ask(port: int, kind: str, turns: list[dict[str, Any]], stream: bool, **more: Any) -> str:
    """Return all that a client gets."""
    turns_name = "input" if kind == "responses" else "messages"
    limit = "max_output_tokens" if kind == "responses" else "max_tokens"
    body = {"model": "m", turns_name: turns, limit: 60, "stream": stream, **more}
    body |= {"store": False} if kind == "responses" else {}
    reply = httpx.post(f"http://127.0.0.1:{port}/{PATHS[kind]}", json=body, timeout=60)
    assert reply.status_code == 200, reply.text
    assert '"error":{' not in reply.text
    return reply.text


@pytest.fixture(scope="module")
def strict(proxy_folder: Path) -> Iterator[Proxy]:
    """A real llama.cpp whose template wants its system turn at the head."""
    llama = LlamaServer(Variant("qwen", "none", head=STRICT), proxy_folder / "strict-llama.log")
    with llama, start_proxy([f"reverse:{llama.address}"], [], proxy_folder, "strict") as proxy:
        yield proxy
        proxy.check(0)


@pytest.mark.parametrize("stream", [True, False])
def test_a_real_llama_refuses_a_second_system_turn(strict: Proxy, stream: bool) -> None:
    """Of a chat client: for others the turns are written so that it never comes to that."""
    mark, port = strict.mark(), strict.ports[0]
    model = {"model": f"m{stream}"}
    for turns in ([*SYSTEMS, ASK], [SYSTEMS[0], ASK, BEGUN, SYSTEMS[1]]):
        assert ask(port, "chat", [*turns, ASK], stream, **model)
    assert ask(port, "messages", [ASK, BEGUN, SYSTEMS[1], ASK], stream, **model)
    assert strict.output[mark:].count(AGAIN) == 1


PREFILL = "Assistant response prefill is incompatible with enable_thinking."
FIELD = "Unknown parameter: 'metadata'."
KEYS = "Unexpected keys in the request: {'metadata'}"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("kind", "message", "status"),
    [
        ("chat", PREFILL, 400),
        ("messages", PREFILL, 400),
        ("responses", PREFILL, 500),
        ("ollama", PREFILL, 400),
        ("chat", FIELD, 400),
        ("chat", KEYS, 422),
    ],
)
def test_a_server_gets_another_request(
    kind: str, message: str, status: int, stream: bool, proxy: Proxy, server: ScriptedServer
) -> None:
    """A client of another dialect has no fields that a server may not know: they are not sent."""
    good = Reply(frames("Hello")) if stream else Reply([whole("Hello")], JSON)
    error = json.dumps({"error": {"message": message, "code": status}}).encode()
    server.answer(Reply([error], JSON, status, then=good))
    more = {} if message == PREFILL else {"metadata": {"user_id": "u"}}
    mark, model = proxy.mark(), f"{kind}{len(message)}{stream}"
    for _ in range(2):
        reply = ask(proxy.ports[0], kind, [ASK, BEGUN], stream, model=model, **more)
        assert "Hello" in reply
    sent = [json.loads(each.body) for each in server.requests]
    assert len(sent) == 3
    for body in sent[1:]:
        assert "metadata" not in body
        assert ("chat_template_kwargs" in body) == (message == PREFILL)
    assert proxy.output[mark:].count(AGAIN) == 1
