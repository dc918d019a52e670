"""mitmweb's page in a real browser: a person reads what the model thinks, while it thinks, and what
the server really sent.

Every test leaves a screenshot in a folder that git ignores.
"""

import json
import threading
from pathlib import Path

import pytest

from tests.conftest import Llama
from tests.support.asked_sum import ANSWER, QUESTION, THOUGHT, ask, question
from tests.support.by_path_server import CHAT, ByPathServer, Says, Step
from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect, Live
from tests.support.frames import END, ROLE, text
from tests.support.mitmweb import Mitmweb, Page

pytestmark = pytest.mark.slow

VIEW = "Thinking"
SERVER_VIEW = "Thinking server"


def test_the_view_is_chosen_by_itself(
    web: Mitmweb, web_server: ByPathServer, page: Page, dialect: Dialect, streamed: bool
) -> None:
    ask(web, web_server, dialect=dialect, streamed=streamed)
    page.open(web.page)
    shown = page.shows(ANSWER)
    assert page.view() == VIEW
    assert shown.index(THOUGHT) < shown.index(ANSWER)
    assert not any(
        mark in shown for mark in ("think>", "data:", "reasoning_content", "signature_delta")
    )
    page.screenshot(f"reply-{dialect.name}-{'streamed' if streamed else 'whole'}")
    page.turn_to("Request")
    assert "user" in page.shows(QUESTION)
    assert page.view() == VIEW


def test_a_stream_is_followed_live(
    web: Mitmweb, web_server: ByPathServer, page: Page, dialect: Dialect
) -> None:
    thinks, answers, ends = (threading.Event() for _ in range(3))
    thought: list[Step] = [
        ROLE,
        *text("<think>First step."),
        thinks,
        *text(" Second step."),
        answers,
    ]
    web_server.rows[CHAT] = Says(steps=[*thought, *text("</think>", ANSWER), ends, *END])
    with Client(web.port) as client:
        live = Live(client.send(dialect.path, question(streamed=True)))
        live.until(b"First step.")
        page.open(web.page)
        assert ANSWER not in page.shows("First step.")
        thinks.set()
        assert ANSWER not in page.shows("Second step.")
        page.screenshot(f"live-{dialect.name}")
        answers.set()
        page.shows(ANSWER)
        assert page.view() == VIEW
        ends.set()
        got = live.rest()
    page.shows("tokens: ")  # what is known at the end only
    assert got.count(b"Second step.") == 1


def test_revert_shows_the_servers_own_request_and_response(
    web: Mitmweb, web_server: ByPathServer, page: Page, dialect: Dialect, streamed: bool
) -> None:
    ask(web, web_server, dialect=dialect, streamed=streamed)
    page.open(web.page)
    _revert_shows_the_server(page)
    page.screenshot(f"reverted-{dialect.name}-{'streamed' if streamed else 'whole'}")


def _revert_shows_the_server(page: Page) -> None:
    page.shows(ANSWER)
    comment, time = page.cell("comment"), page.cell("time")
    page.choose("raw")
    assert "<think>" not in page.content()
    page.revert()
    page.shows("<think>")
    assert (page.cell("comment"), page.cell("time")) == (comment, time)
    page.turn_to("Request")
    page.choose("raw")
    assert QUESTION in page.content()
    assert page.cell("path").endswith(CHAT)


def test_the_second_view_shows_the_servers_request_and_reply(
    web: Mitmweb, web_server: ByPathServer, page: Page
) -> None:
    ask(web, web_server, dialect=ANTHROPIC)
    page.open(web.page, "Request")
    assert "include_usage" not in page.shows(QUESTION)  # it is what the addon asks the server for
    page.choose(SERVER_VIEW)
    assert QUESTION in page.shows("include_usage")
    page.turn_to("Response")
    page.shows(ANSWER)
    page.choose(SERVER_VIEW)
    assert THOUGHT in page.shows(ANSWER)
    page.screenshot("server-view")


FILTERS = {
    "~comment thought": True,
    "~marker black": True,
    "~comment nobody-says-this": False,
    "~marker warning": False,
}


def test_filters_find_what_was_done(web: Mitmweb, web_server: ByPathServer, page: Page) -> None:
    ask(web, web_server)
    page.open(web.page)
    for expression, finds in FILTERS.items():
        page.search(expression)
        page.until(lambda finds=finds: bool(page.rows()) is finds, f"{finds} for {expression}")  # type: ignore[misc]


WEATHER = {
    "name": "get_weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
CONVERSATION: tuple[tuple[Dialect, str, dict[str, object]], ...] = (
    (OPENAI, "9 + 16", {}),
    (ANTHROPIC, "What is the weather in Oslo?", {"tools": [WEATHER]}),
    (ANTHROPIC, "6 * 7", {"system": "think between steps"}),
)
"""The picture shows the last reply: thoughts, and text between them."""


def test_a_real_conversation(llamas: dict[str, Llama], page: Page, proxy_folder: Path) -> None:
    """llama.cpp behind it, both dialects in front: the picture for the README."""
    request = {
        "model": "tiny-think",
        "seed": 1,
        "temperature": 0,
        "max_tokens": 400,
        "stream": True,
    }
    with Mitmweb(llamas["tags"].address, proxy_folder) as web:
        for dialect, content, more in CONVERSATION:
            with Client(web.port) as client:
                body = {**request, "messages": [{"role": "user", "content": content}], **more}
                received = client.ask(dialect.path, json.dumps(body).encode()).body
            assert (b"thinking_delta" if dialect is ANTHROPIC else b"reasoning_content") in received
        page.open(web.page)
        shown = page.shows("stop: end_turn")
        page.screenshot("mitmweb")
        assert shown.index("thinking:") < shown.index("text:")
        assert "thought" in page.cell("comment")
        web.check()
