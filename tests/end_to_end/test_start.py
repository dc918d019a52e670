"""A reply that starts inside the thought is read rightly from the first request on, and finding out
costs nothing.
"""

import json
import threading
from pathlib import Path

import pytest

from tests.conftest import Llama
from tests.support.by_path_server import (
    CHAT,
    MESSAGES,
    SECONDS_TO_WAIT,
    ByPathServer,
    Says,
    owned_by,
)
from tests.support.clients import (
    Client,
    payloads,
    read_anthropic_stream,
    read_openai_stream,
    read_openai_whole,
)
from tests.support.frames import stream
from tests.support.harness import start_proxy
from tests.support.native_streams import begin, end, frames, piece, start, stop, text_block
from tests.support.prompts import MODEL
from tests.support.scripted_server import ReceivedRequest

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

CLOSED = ["<|im_start|>", "assistant", "Ċ"]
OPENED = [*CLOSED, "<think>", "Ċ"]
INSIDE = Says(steps=stream("hm, ", "so.</think>", "Yes"))
INSIDE_A_MESSAGE = frames(
    [
        start(),
        begin(0, text_block("")),
        *(piece(0, "text", text) for text in ("hm, ", "so.</think>", "Yes")),
        stop(0),
        *end(),
    ]
)
REQUEST = {"model": "small", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
TOKENS = "/tokenize"


def _ask(client: Client, server: ByPathServer, path: str = CHAT, **fields: object) -> bytes:
    return client.ask(
        server.address + path, json.dumps({**REQUEST, "stream": True, **fields}).encode()
    ).body


def _telling(server: ByPathServer, path: str, reported: Says, reply: Says = INSIDE) -> None:
    """The server replies only after the probe of its prompt, as a real one does, which reads the
    prompt first.
    """
    requested = threading.Event()

    def tell(_: ReceivedRequest) -> Says:
        requested.set()
        return reported

    def answer(_: ReceivedRequest) -> Says:
        assert requested.wait(SECONDS_TO_WAIT)
        return reply

    server.rows |= {path: tell, CHAT: answer}


def _vllm(server: ByPathServer, reported: Says, reply: Says = INSIDE) -> None:
    server.rows |= owned_by("vllm")
    _telling(server, TOKENS, reported, reply)


def _prompt(tokens: object) -> dict[str, object]:
    return {"count": 5, "token_strs": tokens}


def test_the_rendered_prompt_decides_from_the_first_request_on(
    forward: Client, unknown: ByPathServer
) -> None:
    _vllm(unknown, Says(_prompt(OPENED)))
    reply = read_openai_stream(_ask(forward, unknown))
    assert (reply.thinking, reply.text) == ("hm, so.", "Yes")
    assert read_anthropic_stream(_ask(forward, unknown, MESSAGES)).thinking == "hm, so."


def test_a_native_stream_whose_opener_is_missing_is_learned_from(
    unknown: ByPathServer, proxy_folder: Path
) -> None:
    unknown.rows[MESSAGES] = Says(steps=INSIDE_A_MESSAGE)
    modes, options = [f"reverse:{unknown.address}"], ["--set", "think_native=messages"]
    body = json.dumps({**REQUEST, "stream": True}).encode()
    with (
        start_proxy(modes, options, proxy_folder, "native-start") as proxy,
        Client(proxy.ports[0]) as client,
    ):
        replies = [read_anthropic_stream(client.ask(MESSAGES, body).body) for _ in range(2)]
    assert [(one.thinking, one.text) for one in replies] == [
        ("", "hm, so.</think>Yes"),
        ("hm, so.", "Yes"),
    ]


def test_a_wrong_guess_is_learned_from(forward: Client, unknown: ByPathServer) -> None:
    unknown.rows[CHAT] = INSIDE
    assert read_openai_stream(_ask(forward, unknown)).text == "hm, so.</think>Yes"
    assert read_openai_stream(_ask(forward, unknown)).thinking == "hm, so."
    unknown.rows[CHAT] = Says(steps=stream("just an answer"))
    for _ in range(2):  # what was learnt costs no answer
        assert read_openai_stream(_ask(forward, unknown)).text == "just an answer"


VARIANTS = ["tags", "extracted", "opened by the template", "opened by the template, extracted"]


@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_auto_is_right_on_the_real_vllm(
    forward: Client, llamas: dict[str, Llama], variant: str, streamed: bool, thinking: bool
) -> None:
    request = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "12 * 7"}],
        "seed": 1,
        "temperature": 0.7,
        "max_tokens": 200,
    }
    switch = {"stream": streamed, "chat_template_kwargs": {"enable_thinking": thinking}}
    answer = forward.ask(
        llamas[variant].address + CHAT, json.dumps({**request, **switch}).encode()
    ).body
    reply = read_openai_stream(answer) if streamed else read_openai_whole(answer)
    assert bool(reply.thinking) is thinking
    assert reply.text.strip()
    assert "think>" not in reply.text + reply.thinking
    assert payloads(answer) if streamed else answer
