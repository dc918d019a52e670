"""The official SDKs, through a real mitmdump, against llama.cpp's own server in each way it sends
thinking.
"""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.request import urlopen

import anthropic
import openai
import pytest

from tests.conftest import Llama
from tests.support.clients import Client, Dialect, question
from tests.support.harness import SECONDS_TO_START, VARIANTS
from tests.support.prompts import CUT, PROMPTS, STOP_REASONS, Prompt, ask_directly
from tests.support.sdks import (
    GREEDY,
    SAMPLING,
    anthropic_client,
    ask_anthropic,
    ask_openai,
    openai_client,
    stream_anthropic,
    stream_openai,
)

pytestmark = pytest.mark.slow

TAGGED = ["tags", "opened by the template", "tags of many tokens"]
REQUESTS = 100
REFUSAL = "exceeds the available context size"
EXPECTED = (
    REFUSAL,
    "the reply holds a thought and no answer",  # as the tiny model says it now and then
    "the server sent the answer as thinking",  # llama.cpp leaves another family's closer there
)
FOR_BOTH = [prompt for prompt in PROMPTS if not prompt.extra]


@pytest.fixture(params=[name for name, variant in VARIANTS.items() if variant.parsing])
def llama(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Iterator[Llama]:
    """Each variant; the addon has nothing to complain of but what is expected here."""
    chosen = llamas[request.param]
    mark = chosen.proxy.mark()
    yield chosen
    chosen.proxy.check(mark)
    troubles = chosen.proxy.troubles(mark)
    assert [line for line in troubles if not any(text in line for text in EXPECTED)] == []


@pytest.fixture(scope="session")
def openai_clients(llamas: dict[str, Llama]) -> Iterator[dict[str, openai.OpenAI]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(openai_client(llama.port)) for name, llama in llamas.items()
        }


@pytest.fixture(scope="session")
def anthropic_clients(llamas: dict[str, Llama]) -> Iterator[dict[str, anthropic.Anthropic]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(anthropic_client(llama.port))
            for name, llama in llamas.items()
        }


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_an_openai_client_sees_all_the_server_says_with_thinking_apart(
    llama: Llama, openai_clients: dict[str, openai.OpenAI], prompt: Prompt
) -> None:
    wanted = ask_directly(llama.address, prompt.body(**SAMPLING))
    for seen in (
        ask_openai(openai_clients[llama.name], prompt),
        stream_openai(openai_clients[llama.name], prompt),
    ):
        assert (seen.thinking, seen.text) == (wanted.thinking, wanted.text)
        assert (seen.finish, seen.tokens) == (wanted.finish, wanted.tokens)


@pytest.mark.parametrize("prompt", FOR_BOTH, ids=lambda prompt: prompt.name)
def test_an_anthropic_client_sees_the_same_in_blocks_in_order(
    llama: Llama, anthropic_clients: dict[str, anthropic.Anthropic], prompt: Prompt
) -> None:
    wanted = ask_directly(llama.address, prompt.body(**GREEDY))
    for seen in (
        ask_anthropic(anthropic_clients[llama.name], prompt),
        stream_anthropic(anthropic_clients[llama.name], prompt),
    ):
        assert seen.parts == wanted.blocks
        assert (seen.finish, seen.tokens) == (STOP_REASONS[wanted.finish], wanted.tokens)


def test_a_thought_that_the_limit_cuts_off_is_thinking(
    llama: Llama, openai_clients: dict[str, openai.OpenAI]
) -> None:
    seen = stream_openai(openai_clients[llama.name], CUT)
    assert seen.thinking.startswith("I need")
    assert (seen.text, seen.finish) == ("", "length")


@pytest.mark.parametrize("llama", ["tags", "extracted"], indirect=True)
def test_a_hundred_streamed_requests_succeed_on_one_connection(
    llama: Llama, dialect: Dialect
) -> None:
    """llama.cpp closes its connection after each streamed reply without saying so; our client,
    which never connects anew, must not notice.
    """
    body = json.dumps(CUT.body(stream=True, max_tokens=4, **GREEDY)).encode()
    with Client(llama.port) as client:
        answers = [client.ask(dialect.path, body) for _ in range(REQUESTS)]
    assert {answer.status for answer in answers} == {200}
    reply = [dialect.read_stream(answer.body) for answer in answers]
    assert all(one == reply[0] for one in reply)
    assert reply[0].thinking.startswith("I")


ENDLESS = 3500
"""Tokens that a model without an end would write: seconds of work."""


def _decoded(llama: Llama) -> int | None:
    """The tokens of the reply that llama.cpp is at; None: it is at none."""
    with urlopen(f"{llama.address}/slots", timeout=SECONDS_TO_START) as reply:
        slots = json.load(reply)
    return max(
        (slot["next_token"][0]["n_decoded"] for slot in slots if slot["is_processing"]),
        default=None,
    )


def test_the_server_stops_generating_when_the_client_leaves(
    llamas: dict[str, Llama], dialect: Dialect
) -> None:
    llama = llamas[TAGGED[0]]
    body = question(stream=True, max_tokens=ENDLESS, ignore_eos=True)
    with Client(llama.port) as client:
        client.send(dialect.path, body).read(200)
        assert _decoded(llama) is not None
    last = 0
    deadline = time.monotonic() + SECONDS_TO_START
    while (decoded := _decoded(llama)) is not None and time.monotonic() < deadline:
        last = decoded
        time.sleep(0.02)
    assert decoded is None, "it still generates"
    assert last < ENDLESS / 2, "it came to its own end"
