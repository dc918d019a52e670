"""Thoughts that are ended for real, on llama.cpp and on servers that fail in between: the client
gets one reply.
"""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Event

import pytest

from converter.core.model.events import BYTES_PER_TOKEN
from tests.conftest import Llama
from tests.support.clients import (
    ANTHROPIC,
    OPENAI,
    SECONDS,
    Client,
    Dialect,
    Live,
    View,
    payloads,
    question,
)
from tests.support.frames import DONE, ROLE, USAGE, delta, finish, stream, text
from tests.support.frames import stream as frames
from tests.support.harness import Proxy, start_proxy
from tests.support.scripted_server import JSON, Drop, Framing, Reply, ScriptedServer

pytestmark = pytest.mark.slow

ENOUGH = "12 times 7 is 84."
SETTINGS = {"budget": "enforce", "budget_tokens": "10", "enough": ENOUGH}
VARIANTS = ["tags", "extracted", "opened by the template", "opened by the template, extracted"]
FIELDS = {
    "model": "tiny-think",
    "messages": [{"role": "user", "content": "12 * 7"}],
    "temperature": 0,
    "cache_prompt": True,  # the tests' llama.cpp forgets its prompts else
}
LENGTH = {OPENAI.name: "length", ANTHROPIC.name: "max_tokens"}


def _options(**more: str) -> list[str]:
    return [
        part
        for name, value in (SETTINGS | more).items()
        for part in ("--set", f"think_{name}={value}")
    ]


@pytest.fixture(scope="module")
def ending(llamas: dict[str, Llama], proxy_folder: Path) -> Iterator[dict[str, int]]:
    """The ports of a proxy that ends thoughts, in front of each llama.cpp."""
    modes = [f"reverse:{llamas[name].address}" for name in VARIANTS]
    with start_proxy(modes, _options(), proxy_folder, "ending") as proxy:
        yield dict(zip(VARIANTS, proxy.ports, strict=True))


@pytest.fixture(scope="module")
def scripted(scripted_server: ScriptedServer, proxy_folder: Path) -> Iterator[Proxy]:
    """A proxy for a scripted server."""
    modes = [f"reverse:{scripted_server.address}"]
    options = _options(start="text", server="sglang")
    with start_proxy(modes, options, proxy_folder, "ending-scripted") as proxy:
        yield proxy


@pytest.fixture
def ended(scripted: Proxy) -> Iterator[Client]:
    with Client(scripted.ports[0]) as client:
        yield client


@pytest.fixture(scope="module")
def stopping(scripted_server: ScriptedServer, proxy_folder: Path) -> Iterator[Client]:
    """A client of a proxy that ends no thoughts."""
    modes = [f"reverse:{scripted_server.address}"]
    options = ["--set", "think_server=vllm"]
    started = start_proxy(modes, options, proxy_folder, "stopping")
    with started as proxy, Client(proxy.ports[0]) as client:
        yield client


def _slots(address: str) -> list[bool]:
    connection = HTTPConnection(address.removeprefix("http://"), timeout=SECONDS)
    connection.request("GET", "/slots")
    slots = json.loads(connection.getresponse().read())
    connection.close()
    return [slot["is_processing"] for slot in slots]


def _ends_behind(letters: int, reply: View) -> None:
    """The content of the small model's thought and answer is not judged, only their presence."""
    thought, _, enough = reply.thinking.rpartition("\n\n")
    assert (len(thought), enough) == (letters, ENOUGH)
    assert reply.text


STREAMED = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@STREAMED
@pytest.mark.parametrize("name", VARIANTS)
def test_the_thought_ends_and_the_answer_comes(
    ending: dict[str, int], llamas: dict[str, Llama], dialect: Dialect, name: str, stream: bool
) -> None:
    with Client(ending[name]) as client:
        answer = client.ask(dialect.path, question(stream=stream, **FIELDS))
    reply = dialect.read(answer.body, stream)
    _ends_behind(40, reply)
    assert reply.stop == dialect.finished
    assert _slots(llamas[name].address) == [False]


BUDGETS: dict[str, dict[str, object]] = {
    OPENAI.name: {"thinking_budget_tokens": 6},
    ANTHROPIC.name: {"thinking": {"type": "enabled", "budget_tokens": 6}},
}


@STREAMED
@pytest.mark.parametrize("name", VARIANTS)
def test_the_clients_budget_is_spent_here_and_not_sent_to_the_server(
    ending: dict[str, int], dialect: Dialect, name: str, stream: bool
) -> None:
    """llama.cpp would end the thought behind its own sixth token, without the sentence."""
    with Client(ending[name]) as client:
        body = question(stream=stream, **FIELDS | BUDGETS[dialect.name])
        reply = dialect.read(client.ask(dialect.path, body).body, stream)
    _ends_behind(24, reply)


@pytest.mark.parametrize("name", VARIANTS)
def test_it_is_one_reply_and_the_server_counts_all_of_it(ending: dict[str, int], name: str) -> None:
    body = question(stream=True, **FIELDS, stream_options={"include_usage": True})
    with Client(ending[name]) as client:
        frames = payloads(client.ask(OPENAI.path, body).body)
    usage = next(frame["usage"] for frame in frames if frame.get("usage"))
    count = sum(bool(frame["choices"]) for frame in frames)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["completion_tokens"] >= count - 3  # some tokens came behind the thought's end
    assert len({frame["id"] for frame in frames}) == 1
    assert sum(choice["finish_reason"] is not None for f in frames for choice in f["choices"]) == 1


LONG = "I need to think about all of this for a long time"
GOES_ON = Reply([ROLE, *text("The", " answer"), finish(), USAGE, DONE])


def _frames(*pieces: str) -> list[bytes]:
    return [ROLE, *text("<think>", *pieces)]


def test_the_client_reads_on_while_the_second_reply_comes(
    ended: Client, server: ScriptedServer, dialect: Dialect
) -> None:
    never, go_on = Event(), Event()
    second = Reply([ROLE, *text("The"), go_on, *text(" answer"), finish(), USAGE, DONE])
    server.answer(Reply([*_frames(LONG), never, *text("never")], then=second))
    live = Live(ended.send(dialect.path, question(stream=True)))
    live.until(b"The")
    go_on.set()
    reply = dialect.read_stream(live.rest())
    assert reply.thinking.endswith(ENOUGH)
    assert (reply.text, reply.stop) == ("The answer", dialect.finished)
    assert len(server.requests) == 2


def test_the_same_request_goes_out_with_the_turn_begun(
    ended: Client, server: ScriptedServer
) -> None:
    server.answer(Reply([*_frames(LONG), *text("more")], then=GOES_ON))
    ended.ask(OPENAI.path, question(stream=True, seed=7))
    first, second = [json.loads(sent.body) for sent in server.requests]
    *before, last = second.pop("messages")
    assert before == first.pop("messages")
    tokens = len(f"<think>{LONG}") // BYTES_PER_TOKEN  # two frames of many tokens
    assert first.pop("max_tokens") - second.pop("max_tokens") == tokens
    assert second == first | {"continue_final_message": True}
    assert last["content"] == f"<think>\n{LONG[:40]}\n\n{ENOUGH}\n</think>\n\n"
    assert [sent.target for sent in server.requests] == ["/v1/chat/completions"] * 2


FAILURES = {
    "the server is gone": Reply([ROLE, *text("The"), Drop()]),
    "it answers with an error": Reply([b'{"error": {"message": "loading"}}'], JSON, 503),
    "it is asked too often": Reply([b'{"error": {"message": "slow down"}}'], JSON, 429),
    "it wants another key": Reply([b'{"error": {"message": "no key"}}'], JSON, 401),
}


@pytest.mark.parametrize("second", FAILURES.values(), ids=FAILURES)
def test_a_failure_in_between_is_an_error_that_names_it(
    ended: Client, server: ScriptedServer, dialect: Dialect, second: Reply
) -> None:
    server.answer(Reply([*_frames(LONG), *text("more")], then=second))
    frames = payloads(ended.ask(dialect.path, question(stream=True)).body)
    error = next(payload["error"]["message"] for payload in frames if "error" in payload)
    assert error.startswith("a thought was ended; the request to go on with the reply failed: ")
    assert not any(choice.get("finish_reason") for p in frames for choice in p.get("choices", ()))


@pytest.mark.parametrize("second", FAILURES.values(), ids=FAILURES)
def test_who_wants_one_body_gets_the_error_as_a_status(
    ended: Client, server: ScriptedServer, dialect: Dialect, second: Reply
) -> None:
    server.answer(Reply([*_frames(LONG), *text("more")], then=second))
    answer = ended.ask(dialect.path, question(stream=False))
    error = json.loads(answer.body)["error"]["message"]
    assert answer.status == 502
    assert error.startswith("a thought was ended; the request to go on with the reply failed: ")


CUT = {
    "it refuses a turn that has begun": Reply(
        [b'{"error": {"message": "no prefill"}}'], JSON, 400, Framing.LENGTH
    ),
    "it thinks on": Reply([*_frames(LONG), *text("more"), *stream("never")[1:]]),
}


@STREAMED
@pytest.mark.parametrize("second", CUT.values(), ids=CUT)
def test_where_a_server_cannot_go_on_the_reply_is_cut(
    ended: Client,
    scripted: Proxy,
    server: ScriptedServer,
    dialect: Dialect,
    second: Reply,
    stream: bool,
) -> None:
    mark = scripted.mark()
    server.answer(Reply([*_frames(LONG), *text("more")], then=second))
    reply = dialect.read(ended.ask(dialect.path, question(stream=stream)).body, stream)
    assert (reply.text, reply.stop) == ("", LENGTH[dialect.name])
    assert len(server.requests) == 2
    assert scripted.troubles(mark) != []


def test_a_client_that_leaves_meanwhile_takes_the_server_along(
    ended: Client, scripted: Proxy, server: ScriptedServer
) -> None:
    mark, never = scripted.mark(), Event()
    server.answer(Reply([*_frames(LONG), *text("x")], then=Reply([ROLE, *text("The"), never])))
    live = Live(ended.send(OPENAI.path, question(stream=True)))
    live.until(b"The")
    ended.close()
    scripted.check(mark)


@pytest.fixture(scope="module")
def asking(scripted_server: ScriptedServer, proxy_folder: Path) -> Iterator[Proxy]:
    options = ["--set", "think_unanswered=ask", "--set", "think_server=llama.cpp"]
    modes = [f"reverse:{scripted_server.address}"]
    with start_proxy(modes, options, proxy_folder, "asking") as proxy:
        yield proxy


@STREAMED
@pytest.mark.parametrize("second", ["It is 84.", "<think>Well.</think>"])
def test_a_thought_alone_is_gone_on_with_once(
    asking: Proxy, server: ScriptedServer, dialect: Dialect, stream: bool, second: str
) -> None:
    """Whatever comes then is the reply's end."""
    server.answer(Reply(frames("<think>I add.</think>\n\n"), then=Reply(frames(second))))
    asking.forget()
    with Client(asking.ports[0]) as client:
        answer = client.ask(dialect.path, question(stream=stream))
    reply = dialect.read(answer.body, stream)
    assert reply.thinking.startswith("I add.")
    assert reply.text.strip() == ("" if "think" in second else second)
    assert reply.stop == dialect.finished
    sent = [sent for sent in server.requests if sent.target == OPENAI.path]
    first, again = (json.loads(each.body) for each in sent)
    assert again["messages"][:-1] == first["messages"]
    closed = {"reasoning_content": "I add.", "content": [{"type": "text", "text": ""}]}
    assert again["messages"][-1] == {"role": "assistant", **closed}
    assert len(asking.wait_for("asked to continue it")) == 1  # behind the client's last byte


@STREAMED
def test_a_stop_string_acts_on_the_answer_and_leaves_the_server(
    stopping: Client, server: ScriptedServer, dialect: Dialect, stream: bool
) -> None:
    """The server never ends its reply; the string in the thought is none."""
    never = Event()
    thought = delta(reasoning_content="I restate Q: two?")
    server.answer(Reply([ROLE, thought, *text("Four. ", "Q", ": next"), never, *text("never")]))
    request = {"stop": ["Q:"]} if dialect is OPENAI else {"stop_sequences": ["Q:"]}
    answer = stopping.ask(dialect.path, question(stream=stream, model="Qwen3.6-27B", **request))
    reply = dialect.read(answer.body, stream)
    assert (reply.thinking, reply.text.strip()) == ("I restate Q: two?", "Four.")
    chats = [each for each in server.requests if each.target.endswith("/chat/completions")]
    sent = json.loads(chats[-1].body)
    assert sent["stream"] is True
    assert sent.keys().isdisjoint(request)
    assert b'"Q:"' in answer.body
