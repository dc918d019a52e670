"""The options of the running proxy: what each does, that a change holds for the next reply, and
that bad values are refused.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from tests.support.clients import (
    ANTHROPIC,
    OPENAI,
    Answer,
    Client,
    Dialect,
    Live,
    payloads,
    question,
)
from tests.support.frames import END, ROLE, delta, stream, text, whole
from tests.support.harness import Proxy, start_proxy
from tests.support.scripted_server import JSON, Reply, ScriptedServer

pytestmark = pytest.mark.slow

GOOD = Reply(stream("<think>deep</think>Hello"))
GOOD_BODY = b"".join(stream("<think>deep</think>Hello"))
DEFAULTS = {
    "think_tags": ["auto"],
    "think_start": "auto",
    "think_attributes": True,
    "think_fields": ["reasoning_content"],
    "think_signature": "think-addon",
    "think_flows": "",
}
REVERSE, REGULAR, UPSTREAM = range(3)


class Bench:
    """A client of the proxy whose options may change, and the server behind it."""

    def __init__(self, client: Client, server: ScriptedServer) -> None:
        self.client = client
        self.server = server

    def set(self, **options: object) -> Answer:
        """Set options as mitmweb's editor does."""
        return self.client.ask("/set-options", json.dumps(options).encode())

    def ask(self, dialect: Dialect, content: str, streamed: bool, **fields: object) -> Answer:
        """Return the client's reply when the server sends `content`, with `fields` before it."""
        frames = [ROLE, *([delta(**fields)] if fields else []), *text(*content), *END]
        self.server.answer(Reply(frames) if streamed else Reply([whole(content, **fields)], JSON))
        return self.client.ask(dialect.path, question(stream=streamed))

    def read(self, dialect: Dialect, content: str, streamed: bool) -> tuple[str, str]:
        """Thinking and text as the client reads them."""
        reply = dialect.read(self.ask(dialect, content, streamed).body, streamed)
        return reply.thinking, reply.text

    def fields(self, content: str, streamed: bool, **fields: object) -> dict[str, str]:
        """Return the texts that an OpenAI client gets, by the field's name."""
        body = self.ask(OPENAI, content, streamed, **fields).body
        texts: dict[str, str] = {}
        for value in payloads(body) if streamed else [json.loads(body)]:
            for choice in value["choices"]:
                for name, piece in choice["delta" if streamed else "message"].items():
                    texts[name] = texts.get(name, "") + (piece or "")
        return texts


@pytest.fixture
def bench(changing_proxy: Proxy, server: ScriptedServer) -> Iterator[Bench]:
    """Afterwards the defaults come back."""
    mark = changing_proxy.mark()
    with Client(changing_proxy.ports[REVERSE]) as client:
        yield Bench(client, server)
    with Client(changing_proxy.ports[REVERSE]) as client:
        assert Bench(client, server).set(**DEFAULTS).status == 200
    changing_proxy.check(mark)


@pytest.mark.parametrize(
    ("expression", "acted_on"),
    [
        ("~d 127.0.0.1", True),
        ("!~d 127.0.0.1", False),
        ("~u v1", True),
        ("~u v2", False),
        ("~hq x-own & ~m POST", True),
    ],
)
def test_think_flows_says_what_to_act_on(
    bench: Bench, changing_proxy: Proxy, expression: str, acted_on: bool
) -> None:
    assert bench.set(think_flows=expression).status == 200
    bench.server.answer(GOOD)
    for port, base in (
        (changing_proxy.ports[REVERSE], ""),
        (changing_proxy.ports[REGULAR], bench.server.address),
    ):
        for dialect in (OPENAI, ANTHROPIC):
            with Client(port) as client:
                body = client.ask(base + dialect.path, question(stream=True), {"x-own": "1"}).body
            assert (body == GOOD_BODY) is not acted_on
            assert (bench.server.requests[-1].target == dialect.path) is (
                dialect is OPENAI or not acted_on
            )


def test_think_flows_may_name_the_clouds_own_hosts(bench: Bench, changing_proxy: Proxy) -> None:
    assert bench.set(think_flows="~d anthropic").status == 200
    bench.server.answer(GOOD)
    with Client(changing_proxy.ports[UPSTREAM]) as client:
        body = client.ask("http://api.anthropic.com/v1/messages", question(stream=True)).body
    assert ANTHROPIC.read_stream(body).thinking == "deep"


def test_a_change_holds_for_the_next_reply_and_not_for_the_one_that_runs(
    bench: Bench, changing_proxy: Proxy
) -> None:
    go_on = Event()
    bench.server.answer(Reply([ROLE, *text("<think>deep"), go_on, *text("</think>Hello"), *END]))
    with Client(changing_proxy.ports[REVERSE]) as client:
        live = Live(client.send(OPENAI.path, question(stream=True)))
        live.until(b"deep")
        assert bench.set(think_tags=[]).status == 200
        go_on.set()
        assert OPENAI.read_stream(live.rest()).text == "Hello"
    assert bench.read(OPENAI, "<think>deep</think>Hello", streamed=True) == (
        "",
        "<think>deep</think>Hello",
    )


TAGS_ALLOWED = ["auto", "thinking", "OPEN CLOSE"]
BAD = [
    ("think_tags", ["nonsense"], TAGS_ALLOWED),
    ("think_tags", ["<a> <b> <c>"], TAGS_ALLOWED),
    ("think_tags", ["think", "THINK"], TAGS_ALLOWED),
    ("think_start", "maybe", ["auto", "text", "thinking"]),
    ("think_fields", ["content"], ["reasoning_content", "reasoning"]),
    ("think_fields", [], ["reasoning_content", "reasoning"]),
    ("think_flows", "~zz", ["filter"]),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD)
def test_a_bad_value_is_refused_and_the_old_one_stays(
    bench: Bench, name: str, value: object, allowed: list[str]
) -> None:
    refusal = bench.set(**{name: value})
    assert refusal.status == 400
    assert [word for word in [name, *allowed] if word not in refusal.body.decode()] == []
    assert bench.read(OPENAI, "<think>deep</think>Hello", streamed=True) == ("deep", "Hello")


@pytest.fixture(scope="module")
def refused(proxy_folder: Path) -> Iterator[dict[str, Proxy]]:
    """Started all together, because most of the time goes into loading mitmproxy."""
    settings = ["think_tags=nonsense", "think_flows=~zz", "think_attributes=perhaps"]
    with ExitStack() as stack:
        yield {
            setting: stack.enter_context(
                Proxy(["regular"], ["--set", setting], proxy_folder, f"refused-{number}")
            )
            for number, setting in enumerate(settings)
        }


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        ("think_tags=nonsense", TAGS_ALLOWED),
        ("think_flows=~zz", ["filter"]),
        ("think_attributes=perhaps", ["true", "false"]),
    ],
)
def test_a_proxy_with_a_bad_value_does_not_start(
    refused: dict[str, Proxy], setting: str, allowed: list[str]
) -> None:
    proxy = refused[setting]
    assert proxy.exit_status() != 0
    assert [
        word for word in [setting.partition("=")[0], *allowed] if word not in proxy.output
    ] == []


def test_options_may_be_set_at_start(
    scripted_server: ScriptedServer, server: ScriptedServer, proxy_folder: Path
) -> None:
    settings = [
        "think_tags=reasoning",
        "think_tags=[a] [/a]",
        "think_fields=reasoning",
        "think_start=text",
        "think_attributes=false",
    ]
    arguments = [part for setting in settings for part in ("--set", setting)]
    with (
        start_proxy(
            [f"reverse:{scripted_server.address}"], arguments, proxy_folder, "set"
        ) as proxy,
        Client(proxy.ports[0]) as client,
    ):
        texts = Bench(client, server).fields(
            "<reasoning>one</reasoning>[a]two[/a]Hello", streamed=True
        )
    assert (texts["reasoning"], texts["content"]) == ("one\n\ntwo", "Hello")
