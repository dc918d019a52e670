"""A reply that starts inside the thought is read rightly from the first request on, and finding out costs nothing."""

import json
import threading

import pytest

from tests.clients import Client, payloads, read_anthropic_stream, read_openai_stream, read_openai_whole
from tests.conftest import Llama
from tests.end_to_end.by_path_server import CHAT, MESSAGES, SECONDS_TO_WAIT, ByPathServer, Says, owned_by
from tests.end_to_end.prompts import MODEL
from tests.frames import stream, whole
from tests.scripted_server import Asked

pytest_plugins = ["tests.end_to_end.front"]

OPENED, CLOSED = "<|im_start|>assistant\n<think>\n", "<|im_start|>assistant\n"
PROPS = Says({"default_generation_settings": {"params": {"reasoning_format": "none"}}})
INSIDE = Says(steps=stream("hm, ", "so</think>", "Yes"))
ASKED = {"model": "small", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
TEMPLATE = "/apply-template"


def _ask(client: Client, server: ByPathServer, path: str = CHAT, **fields: object) -> bytes:
    return client.ask(server.address + path, json.dumps({**ASKED, "stream": True, **fields}).encode()).body


def _telling(server: ByPathServer, path: str, told: Says, reply: Says = INSIDE) -> None:
    """The server replies only when it has been asked for its prompt, as a real one is by the time its prompt is read."""
    asked = threading.Event()

    def tell(_: Asked) -> Says:
        asked.set()
        return told

    def answer(_: Asked) -> Says:
        assert asked.wait(SECONDS_TO_WAIT)
        return reply

    server.rows |= {path: tell, CHAT: answer}


def _llama(server: ByPathServer, template: Says, reply: Says = INSIDE) -> None:
    server.rows |= {**owned_by("llamacpp"), "/props": PROPS}
    _telling(server, TEMPLATE, template, reply)


def test_the_rendered_prompt_decides_from_the_first_request_on(forward: Client, unknown: ByPathServer) -> None:
    _llama(unknown, Says({"prompt": OPENED}))
    said = read_openai_stream(_ask(forward, unknown))
    assert (said.thinking, said.text) == ("hm, so", "Yes")
    assert read_anthropic_stream(_ask(forward, unknown, MESSAGES)).thinking == "hm, so"


def test_a_vllm_is_asked_for_the_tokens_of_its_prompt(forward: Client, unknown: ByPathServer) -> None:
    tokens = ["<|im_start|>", "assistant", "Ċ", "<think>", "Ċ"]
    unknown.rows |= owned_by("vllm")
    _telling(unknown, "/tokenize", Says({"count": 5, "token_strs": tokens}))
    assert read_openai_stream(_ask(forward, unknown)).thinking == "hm, so"


def test_a_prompt_that_opens_nothing_begins_with_text(forward: Client, unknown: ByPathServer) -> None:
    _llama(unknown, Says({"prompt": CLOSED}), Says(steps=stream("just an answer")))
    assert read_openai_stream(_ask(forward, unknown, model="deepseek-r1")).text == "just an answer"


def test_it_is_asked_once_for_each_model_and_switch(forward: Client, unknown: ByPathServer) -> None:
    _llama(unknown, Says({"prompt": OPENED}))
    for _ in range(3):
        _ask(forward, unknown)
    _ask(forward, unknown, chat_template_kwargs={"enable_thinking": False})
    assert unknown.paths().count(TEMPLATE) == 2


def test_a_server_that_is_slow_to_tell_holds_nothing_up(forward: Client, unknown: ByPathServer) -> None:
    told = threading.Event()
    _llama(unknown, Says(steps=[told, json.dumps({"prompt": OPENED}).encode()]), Says(steps=stream("<think>a</think>", "b")))
    said = read_openai_stream(_ask(forward, unknown))
    told.set()
    assert (said.thinking, said.text) == ("a", "b")


@pytest.mark.parametrize("template", [Says({}, 500), Says(b"<html>"), Says({"prompt": 5})], ids=["an error", "a page", "a number"])
def test_a_failure_to_tell_changes_nothing_but_the_guess(forward: Client, unknown: ByPathServer, template: Says) -> None:
    _llama(unknown, template, Says(steps=stream("<think>a</think>", "b")))
    assert read_openai_stream(_ask(forward, unknown)).thinking == "a"
    unknown.rows[CHAT] = INSIDE
    assert read_openai_stream(_ask(forward, unknown, model="qwq-32b")).thinking == "hm, so"


def test_a_wrong_guess_is_learned_from(forward: Client, unknown: ByPathServer) -> None:
    unknown.rows[CHAT] = INSIDE
    assert read_openai_stream(_ask(forward, unknown)).text == "hm, so</think>Yes"
    assert read_openai_stream(_ask(forward, unknown)).thinking == "hm, so"
    unknown.rows[CHAT] = Says(steps=stream("just an answer"))
    assert read_openai_stream(_ask(forward, unknown)).thinking == "just an answer"
    assert read_openai_stream(_ask(forward, unknown)).text == "just an answer"


def test_a_request_that_begins_the_reply_goes_on_where_it_left(forward: Client, unknown: ByPathServer) -> None:
    unknown.rows[CHAT] = INSIDE
    begun = [*ASKED["messages"], {"role": "assistant", "content": "<think>I see, "}]  # type: ignore[misc]
    assert read_openai_stream(_ask(forward, unknown, messages=begun)).thinking == "hm, so"


def test_a_whole_reply_decides_by_itself(forward: Client, unknown: ByPathServer) -> None:
    unknown.rows[CHAT] = Says(whole("hm, so</think>Yes"))
    said = read_openai_whole(_ask(forward, unknown, stream=False))
    assert (said.thinking, said.text) == ("hm, so", "Yes")


VARIANTS = ["tags", "extracted", "opened by the template", "opened by the template, extracted"]


@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_auto_is_right_on_the_real_llama(
    forward: Client, llamas: dict[str, Llama], variant: str, streamed: bool, thinking: bool
) -> None:
    asked = {"model": MODEL, "messages": [{"role": "user", "content": "12 * 7"}], "seed": 1, "temperature": 0.7, "max_tokens": 200}
    switch = {"stream": streamed, "chat_template_kwargs": {"enable_thinking": thinking}}
    answer = forward.ask(llamas[variant].address + CHAT, json.dumps({**asked, **switch}).encode()).body
    said = read_openai_stream(answer) if streamed else read_openai_whole(answer)
    assert bool(said.thinking) is thinking
    assert said.text.strip()
    assert "think>" not in said.text + said.thinking
    assert payloads(answer) if streamed else answer
