"""Whatever a model writes, the page shows it and does nothing else: no script, no markup, no
request, no text turned around; long replies and long lists stay usable.
"""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mitmproxy.io import FlowReader, FlowWriter

from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.clients import Client
from tests.support.frames import END, ROLE, delta, stream, text
from tests.support.hostile_words import ACTING, LINKS, MARKUP, SHOWN
from tests.support.mitmweb import Mitmweb
from tests.support.think_page import REPLY, ThinkPage, dump

pytestmark = pytest.mark.slow

THOUGHTS = 10_000


@pytest.fixture(scope="module")
def server() -> Iterator[ByPathServer]:
    with ByPathServer(owned_by("llamacpp")) as server:
        yield server


@pytest.fixture(scope="module")
def web(server: ByPathServer, proxy_folder: Path) -> Iterator[Mitmweb]:
    with Mitmweb(server.address, proxy_folder) as web:
        yield web
        web.check()


@pytest.fixture
def think(used_page: ThinkPage, web: Mitmweb) -> Iterator[ThinkPage]:
    used_page.leave()  # what it still asks of an exchange that goes would be a complaint
    web.clear()
    used_page.complaints()
    yield used_page
    assert used_page.complaints() == []
    assert {host.partition(":")[0] for host in used_page.hosts()} <= {"127.0.0.1"}


def exchange_showing(shown: str) -> tuple[Says, bytes]:
    """A reply and a request that have the words in every place that the page shows."""
    function = {"name": shown, "arguments": json.dumps({"a": shown})}
    call = {"index": 0, "id": shown, "type": "function", "function": function}
    frames = [ROLE, *text(f"<think>{shown}</think>", shown), delta(tool_calls=[call], x=shown)]
    turns = [
        {"role": "system", "content": shown},
        {"role": "user", "content": shown},
        {"role": "tool", "tool_call_id": shown, "content": shown},
        {"role": "user", "content": [{"type": "text", "text": shown}, {"type": shown}]},
    ]
    body = {"model": shown, "stream": True, "messages": turns, "metadata": {"x": shown}}
    return Says(steps=[*frames, *END]), json.dumps(body).encode()


def shown(think: ThinkPage, web: Mitmweb, server: ByPathServer, attack: str) -> str:
    server.rows[CHAT], body = exchange_showing(attack)
    with Client(web.port) as client:
        client.ask(CHAT, body)
    think.show(web)
    think.pick()
    think.script("for (const each of document.querySelectorAll('details')) each.open = true")
    think.press("[data-tab=wire]")
    think.until(lambda: think.elements(".frames li") > 0, "frames")
    think.press("[data-tab=talk]")
    return think.content(".exchange")


def test_markup_is_text(web: Mitmweb, server: ByPathServer, think: ThinkPage) -> None:
    page = shown(think, web, server, " ".join(MARKUP))
    for markup in MARKUP:
        assert page.count(markup) >= 5, markup
    assert think.script("return window.hit") is None
    for name in (
        "#injected",
        ".exchange script",
        ".exchange iframe",
        ".exchange svg",
        ".exchange style",
    ):
        assert think.elements(name) == 0
    think.screenshot("think-hostile")


def test_only_links_to_the_web_are_links(
    web: Mitmweb, server: ByPathServer, think: ThinkPage
) -> None:
    page = shown(think, web, server, " ".join([*LINKS, "[good](https://example.com/x)"]))
    for link in LINKS:
        assert link in page
    links = think.script("return [...document.querySelectorAll('.md a')].map((a) => a.href)")
    pictures = "return [...document.querySelectorAll('.exchange img')].map((img) => img.src)"
    assert isinstance(links, list)
    assert set(links) == {"https://example.com/x"}
    assert think.script(pictures) == []
    assert "good (example.com)" in page
    shows_destination = (
        "return [...document.querySelectorAll('.md a')].every((a) => a.rel.includes('noopener'))"
    )
    assert think.script(shows_destination)


def test_what_acts_on_a_reader_is_spelled_out(
    web: Mitmweb, server: ByPathServer, think: ThinkPage
) -> None:
    page = shown(think, web, server, ACTING)
    assert page.count(SHOWN) >= 5
    everything = str(think.script("return document.documentElement.textContent"))
    assert not [
        sign for sign in ACTING.replace(" ", "") if not sign.isprintable() and sign in everything
    ]
    think.fill("#words", "gnp.exe")
    think.until(lambda: len(think.rows()) == 1, "the exchange")
    think.fill("#words", "")


@pytest.mark.long
def test_ten_thousand_thoughts_are_shown_some_at_a_time(
    web: Mitmweb, server: ByPathServer, think: ThinkPage
) -> None:
    pieces = [f"<think>t{number}</think>a{number}" for number in range(THOUGHTS)]
    server.rows[CHAT] = Says(steps=[ROLE, *text(*pieces), *END])
    with Client(web.port) as client:
        client.ask(CHAT, json.dumps({"model": "small", "stream": True, "messages": []}).encode())
    think.show(web)
    think.pick()
    think.until(lambda: think.elements(".end dl") == 1, "its end")
    before = think.elements("details.thinking")
    assert before < 1000
    assert "more of 19,500 parts" in think.text(REPLY)
    think.press(".reply button.more")
    think.until(lambda: think.elements("details.thinking") > before, "more of them")


@pytest.mark.long
def test_a_thousand_exchanges_are_listed(
    web: Mitmweb, server: ByPathServer, think: ThinkPage, proxy_folder: Path, tmp_path: Path
) -> None:
    """A thousand exchanges come from a file, the last ten while the page is open."""
    server.rows[CHAT] = Says(steps=stream("<think>a</think>", "b"))
    bodies = [
        json.dumps({"model": f"m{number}", "stream": True, "messages": []}).encode()
        for number in range(5)
    ]
    with Client(web.port) as client:
        for body in bodies:
            client.ask(CHAT, body)
    saved = tmp_path / "saved.mitm"
    with saved.open("wb") as file:
        for flow in 200 * [*FlowReader(io.BytesIO(dump(web))).stream()]:
            FlowWriter(file).add(flow.copy())
    with Mitmweb(server.address, proxy_folder, "-r", str(saved)) as other:
        think.show(other, 1000)
        with Client(other.port) as client:
            for body in 2 * bodies:
                client.ask(CHAT, body)
        think.until(lambda: think.text("#count") == "1,010 exchanges", "all of them")
        assert think.elements("#rows a.row") == 1000
        think.press("#older")
        think.until(lambda: think.elements("#rows a.row") == 1010, "the older ones")
        think.pick(1009)
        think.keys("k")
        think.until(lambda: think.elements(".end dl") == 1, "the next")
        think.leave()
        other.check()
