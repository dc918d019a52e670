"""The server's kind: probed once, by its own reports; without an answer a request goes out all the
same.
"""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.by_path_server import CHAT, FORWARD, MESSAGES, ByPathServer, Says, owned_by
from tests.support.clients import Client, anthropic_error
from tests.support.frames import whole
from tests.support.harness import Proxy

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

GOOD = Says(whole("<think>deep</think>Hello"))
QUESTION = {
    "model": "small",
    "max_tokens": 4096,
    "messages": [{"role": "user", "content": "hi"}],
    "top_k": 5,
}
THINKING = QUESTION | {"thinking": {"type": "enabled", "budget_tokens": 2048}}


def ask(client: Client, server: ByPathServer, key: str = "none") -> dict[str, Any]:
    """Return the request that the server received."""
    server.rows.setdefault(CHAT, GOOD)
    answer = client.ask(
        server.address + MESSAGES, json.dumps(THINKING).encode(), {"x-api-key": key}
    )
    assert answer.status == 200, answer.body
    return server.bodies()[-1]


SERVERS: dict[str, tuple[dict[str, Says], set[str]]] = {
    "vllm": (owned_by("vllm"), {"top_k", "chat_template_kwargs", "reasoning_effort"}),
    "vllm by version": (
        {"/version": Says({"version": "0.32.0"})},
        {"top_k", "chat_template_kwargs", "reasoning_effort"},
    ),
    "sglang": (owned_by("sglang"), {"top_k", "chat_template_kwargs", "reasoning_effort"}),
    "llama.cpp": (
        owned_by("llamacpp"),
        {"top_k", "chat_template_kwargs", "thinking_budget_tokens"},
    ),
    "nim": (
        {"/v1/metadata": Says({"modelInfo": []}), **owned_by("vllm")},
        {"top_k", "nvext", "chat_template_kwargs"},
    ),
    "ollama": ({"/api/version": Says({"version": "0.9"}), **owned_by("library")}, set()),
    "lmstudio": (owned_by("organization_owner"), {"top_k"}),
    "transformers 5.24": (
        {"/v1/models": Says({"data": [{"id": "m", "owned_by": "local", "status": {}}]})},
        {"chat_template_kwargs"},
    ),
    "vllm-mlx": (owned_by("vllm-mlx"), {"top_k", "chat_template_kwargs"}),
    "rapid-mlx": (owned_by("rapid-mlx"), {"top_k", "chat_template_kwargs"}),
    # mlx-lm is Python's own server of HTTP, as the one that answers here
    "mlx-lm": ({"/v1/models": Says({"data": [{"id": "m"}]})}, {"top_k", "chat_template_kwargs"}),
    "fusion-mlx": (
        {"/v1/models": Says({"data": [{"id": "m", "owned_by": "local", "modality": "text"}]})},
        {"top_k", "chat_template_kwargs"},
    ),
    "mlx-vlm": (
        {"/v1/models": Says({"data": [{"id": "m", "object": "model", "loaded": True}]})},
        {"top_k", "enable_thinking"},
    ),
    "dasllama": (owned_by("dasllama"), {"top_k", "chat_template_kwargs"}),
    "ogx": (owned_by("ogx"), {"reasoning_effort"}),
    "xinference": (owned_by("xinference"), set()),
    "generic": ({}, {"reasoning_effort"}),
    "nonsense": (
        {"/v1/models": Says(b"<html>"), "/version": Says([1]), "/api/version": Says("x")},
        {"reasoning_effort"},
    ),
    "one that says yes to all": (
        dict.fromkeys(("/v1/models", "/version", "/api/version", "/v1/metadata"), Says({})),
        {"reasoning_effort"},
    ),
}


@pytest.mark.parametrize(("rows", "fields"), SERVERS.values(), ids=SERVERS.keys())
def test_a_server_gets_what_its_kind_takes(
    forward: Client, unknown: ByPathServer, rows: dict[str, Says], fields: set[str]
) -> None:
    unknown.rows |= rows
    own_fields = {"model", "messages", "max_tokens"}
    sent = set(ask(forward, unknown)) - own_fields
    assert sent >= fields
    assert bool(sent) == bool(fields)


def questions(server: ByPathServer) -> list[str]:
    return [path for path in server.paths() if path != CHAT]


def test_it_is_probed_once_for_many_requests_at_the_same_time(
    front_proxy: Proxy, unknown: ByPathServer
) -> None:
    unknown.rows[CHAT] = GOOD
    begun, let_go = threading.Barrier(9), threading.Event()
    unknown.rows["/v1/metadata"] = Says(steps=[let_go, b"{}"])

    def one(_: int) -> int:
        with Client(front_proxy.ports[FORWARD]) as client:
            client.begin(unknown.address + MESSAGES, json.dumps(THINKING).encode())
            begun.wait(20)
            return client.answer().status

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(one, number) for number in range(8)]
        begun.wait(20)
        let_go.set()
        assert {answer.result() for answer in answers} == {200}
    assert len(questions(unknown)) == len(set(questions(unknown)))


def test_a_server_that_is_not_there_is_an_error_of_the_clients_dialect(front_proxy: Proxy) -> None:
    with ByPathServer() as server:
        address = server.address
    with Client(front_proxy.ports[FORWARD]) as client:
        answer = client.ask(address + MESSAGES, json.dumps(THINKING).encode())
    assert answer.status == 502
    assert anthropic_error(answer.body)
