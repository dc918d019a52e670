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
from tests.support.frames import END, ROLE, delta, stream, whole
from tests.support.harness import start_proxy
from tests.support.native_streams import begin, end, frames, piece, said, start, stop
from tests.support.prompts import MODEL
from tests.support.scripted_server import Asked

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

CLOSED = ["<|im_start|>", "assistant", "Ċ"]
OPENED = [*CLOSED, "<think>", "Ċ"]
INSIDE = Says(steps=stream("hm, ", "so.</think>", "Yes"))
INSIDE_A_MESSAGE = frames(
    [
        start(),
        begin(0, said("")),
        *(piece(0, "text", words) for words in ("hm, ", "so.</think>", "Yes")),
        stop(0),
        *end(),
    ]
)
ASKED = {"model": "small", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
TOKENS = "/tokenize"


def _ask(client: Client, server: ByPathServer, path: str = CHAT, **fields: object) -> bytes:
    return client.ask(
        server.address + path, json.dumps({**ASKED, "stream": True, **fields}).encode()
    ).body


def _telling(server: ByPathServer, path: str, told: Says, reply: Says = INSIDE) -> None:
    """The server replies only when it has been asked for its prompt, as a real one is by the time
    its prompt is read.
    """
    asked = threading.Event()

    def tell(_: Asked) -> Says:
        asked.set()
        return told

    def answer(_: Asked) -> Says:
        assert asked.wait(SECONDS_TO_WAIT)
        return reply

    server.rows |= {path: tell, CHAT: answer}


def _vllm(server: ByPathServer, told: Says, reply: Says = INSIDE) -> None:
    server.rows |= owned_by("vllm")
    _telling(server, TOKENS, told, reply)


def _prompt(tokens: object) -> dict[str, object]:
    return {"count": 5, "token_strs": tokens}


def test_the_rendered_prompt_decides_from_the_first_request_on(
    forward: Client, unknown: ByPathServer
) -> None:
    _vllm(unknown, Says(_prompt(OPENED)))
    said = read_openai_stream(_ask(forward, unknown))
    assert (said.thinking, said.text) == ("hm, so.", "Yes")
    assert read_anthropic_stream(_ask(forward, unknown, MESSAGES)).thinking == "hm, so."


@pytest.mark.parametrize("model", ["small", "deepseek-r1"])
def test_a_llama_says_again_what_its_template_opened_so_its_replies_begin_in_text(
    forward: Client, unknown: ByPathServer, model: str
) -> None:
    """With --reasoning auto, its default, a thought that is closed at once leaves nothing but text;
    that must not be hidden.
    """
    unknown.rows |= {**owned_by("llamacpp"), CHAT: Says(steps=stream("just an answer"))}
    assert read_openai_stream(_ask(forward, unknown, model=model)).text == "just an answer"
    unknown.rows[CHAT] = Says(steps=stream("<think>\nhm", "</think>", "Yes"))
    assert read_openai_stream(_ask(forward, unknown, model=model)).thinking == "hm"


def test_a_llama_that_does_not_say_it_again_is_learned_from(
    forward: Client, unknown: ByPathServer
) -> None:
    unknown.rows |= {**owned_by("llamacpp"), CHAT: INSIDE}
    assert read_openai_stream(_ask(forward, unknown)).text == "hm, so.</think>Yes"
    assert read_openai_stream(_ask(forward, unknown)).thinking == "hm, so."


def test_a_server_that_takes_thinking_out_itself_leaves_text(
    forward: Client, unknown: ByPathServer
) -> None:
    native = [ROLE, delta(reasoning="hm"), delta(content="Yes"), *END]
    _vllm(unknown, Says(_prompt(OPENED)), Says(steps=native))
    assert read_openai_stream(_ask(forward, unknown)).text == "Yes"
    unknown.rows[CHAT] = Says(steps=stream("just an answer"))
    assert read_openai_stream(_ask(forward, unknown)).text == "just an answer"


def test_a_native_stream_whose_opener_is_missing_is_learned_from(
    unknown: ByPathServer, proxy_folder: Path
) -> None:
    unknown.rows[MESSAGES] = Says(steps=INSIDE_A_MESSAGE)
    modes, options = [f"reverse:{unknown.address}"], ["--set", "think_native=messages"]
    asked = json.dumps({**ASKED, "stream": True}).encode()
    with (
        start_proxy(modes, options, proxy_folder, "native-start") as proxy,
        Client(proxy.ports[0]) as client,
    ):
        replies = [read_anthropic_stream(client.ask(MESSAGES, asked).body) for _ in range(2)]
    assert [(one.thinking, one.text) for one in replies] == [
        ("", "hm, so.</think>Yes"),
        ("hm, so.", "Yes"),
    ]


def test_a_prompt_that_opens_nothing_begins_with_text(
    forward: Client, unknown: ByPathServer
) -> None:
    _vllm(unknown, Says(_prompt(CLOSED)), Says(steps=stream("just an answer")))
    assert read_openai_stream(_ask(forward, unknown, model="deepseek-r1")).text == "just an answer"


def test_it_is_asked_once_for_each_model_and_switch(forward: Client, unknown: ByPathServer) -> None:
    _vllm(unknown, Says(_prompt(OPENED)))
    for _ in range(3):
        _ask(forward, unknown)
    _ask(forward, unknown, chat_template_kwargs={"enable_thinking": False})
    assert unknown.paths().count(TOKENS) == 2


def test_a_server_that_is_slow_to_tell_holds_nothing_up(
    forward: Client, unknown: ByPathServer
) -> None:
    told = threading.Event()
    _vllm(
        unknown,
        Says(steps=[told, json.dumps(_prompt(OPENED)).encode()]),
        Says(steps=stream("<think>a</think>", "b")),
    )
    said = read_openai_stream(_ask(forward, unknown))
    told.set()
    assert (said.thinking, said.text) == ("a", "b")


@pytest.mark.parametrize(
    "template",
    [Says({}, 500), Says(b"<html>"), Says(_prompt(5))],
    ids=["an error", "a page", "a number"],
)
def test_a_failure_to_tell_changes_nothing_but_the_guess(
    forward: Client, unknown: ByPathServer, template: Says
) -> None:
    _vllm(unknown, template, Says(steps=stream("<think>a</think>", "b")))
    assert read_openai_stream(_ask(forward, unknown)).thinking == "a"
    unknown.rows[CHAT] = INSIDE
    assert read_openai_stream(_ask(forward, unknown, model="qwq-32b")).thinking == "hm, so."


def test_a_wrong_guess_is_learned_from(forward: Client, unknown: ByPathServer) -> None:
    unknown.rows[CHAT] = INSIDE
    assert read_openai_stream(_ask(forward, unknown)).text == "hm, so.</think>Yes"
    assert read_openai_stream(_ask(forward, unknown)).thinking == "hm, so."
    unknown.rows[CHAT] = Says(steps=stream("just an answer"))
    for _ in range(2):  # what was learnt costs no answer
        assert read_openai_stream(_ask(forward, unknown)).text == "just an answer"


def test_an_answer_that_speaks_of_a_closer_costs_no_answer(
    forward: Client, unknown: ByPathServer
) -> None:
    unknown.rows[CHAT] = Says(steps=stream("It ends with </think>, ", "mostly."))
    assert read_openai_stream(_ask(forward, unknown)).text == "It ends with </think>, mostly."
    unknown.rows[CHAT] = Says(steps=stream("just an answer"))
    for _ in range(2):
        assert read_openai_stream(_ask(forward, unknown)).text == "just an answer"


def test_a_request_that_begins_the_reply_goes_on_where_it_left(
    forward: Client, unknown: ByPathServer
) -> None:
    unknown.rows[CHAT] = INSIDE
    begun = [*ASKED["messages"], {"role": "assistant", "content": "<think>I see, "}]  # type: ignore[misc]
    assert read_openai_stream(_ask(forward, unknown, messages=begun)).thinking == "hm, so."


def test_a_whole_reply_decides_by_itself(forward: Client, unknown: ByPathServer) -> None:
    unknown.rows[CHAT] = Says(whole("hm, so.</think>Yes"))
    said = read_openai_whole(_ask(forward, unknown, stream=False))
    assert (said.thinking, said.text) == ("hm, so.", "Yes")


VARIANTS = ["tags", "extracted", "opened by the template", "opened by the template, extracted"]


@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_auto_is_right_on_the_real_vllm(
    forward: Client, llamas: dict[str, Llama], variant: str, streamed: bool, thinking: bool
) -> None:
    asked = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "12 * 7"}],
        "seed": 1,
        "temperature": 0.7,
        "max_tokens": 200,
    }
    switch = {"stream": streamed, "chat_template_kwargs": {"enable_thinking": thinking}}
    answer = forward.ask(
        llamas[variant].address + CHAT, json.dumps({**asked, **switch}).encode()
    ).body
    said = read_openai_stream(answer) if streamed else read_openai_whole(answer)
    assert bool(said.thinking) is thinking
    assert said.text.strip()
    assert "think>" not in said.text + said.thinking
    assert payloads(answer) if streamed else answer
