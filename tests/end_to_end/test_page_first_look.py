"""The page at /think in its first ten seconds: what to copy, the newest exchange at once, and its
thought in sight; and what a misread reply offers.
"""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.asked_sum import ANSWER, QUESTION, THOUGHT, ask
from tests.support.by_path_server import CHAT, ByPathServer, Says, Step, owned_by
from tests.support.clients import ANTHROPIC, Client
from tests.support.frames import END, ROLE, stream, text
from tests.support.mitmweb import SIZE, Mitmweb
from tests.support.think_page import REPLY, ThinkPage

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def used_web(web_server: ByPathServer, proxy_folder: Path) -> Iterator[Mitmweb]:
    web_server.rows |= owned_by("llamacpp")
    record = ["--set", f"think_record={proxy_folder / 'first-look'}"]
    with Mitmweb(web_server.address, proxy_folder, *record) as web:
        yield web
        web.check()


def test_an_empty_page_says_where_to_connect_and_what_to_copy(
    web: Mitmweb, think: ThinkPage
) -> None:
    think.show(web, 0)
    shown = think.until_shown(f"http://127.0.0.1:{web.port}", "#first")
    for line in ("think-addon claude", "curl -sN", "ANTHROPIC_BASE_URL=", "OPENAI_BASE_URL="):
        assert line in shown
    think.press("#first .code:nth-of-type(2) .copy")
    assert think.copied().startswith(f"curl -sN http://127.0.0.1:{web.port}{CHAT} ")
    think.screenshot("think-empty")


def test_the_newest_exchange_is_open_until_somebody_chooses(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    think.show(web, 0)
    goes_on = threading.Event()
    steps: list[Step] = [ROLE, *text("<think>First step."), goes_on, *text("</think>", ANSWER)]
    web_server.rows[CHAT] = Says(steps=[*steps, *END])
    request = {
        "model": "small",
        "stream": True,
        "messages": [{"role": "user", "content": QUESTION}],
    }
    with Client(web.port) as client:
        client.begin(CHAT, json.dumps(request).encode())
        think.until_shown("First step.", REPLY)
        assert think.text(".exchange h2") == QUESTION
        assert "small" in think.text(".exchange .about")
        goes_on.set()
        client.answer()
    think.until_shown(ANSWER, REPLY)
    ask(web, web_server, "<think>The second.</think>Yes.")
    think.until_shown("The second.", REPLY)
    think.pick(1)
    think.until_shown("First step.", REPLY)
    ask(web, web_server, "<think>The third.</think>Yes.")
    think.until(lambda: len(think.rows()) == 3, "the third row")
    assert "First step." in think.text(REPLY)


def test_a_misread_reply_offers_the_options_that_read_it(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    ask(web, web_server, f"<mythink>{THOUGHT}</mythink>{ANSWER}")
    think.show(web)
    think.until_shown("It was misread.", ".remedy")
    line = "--set think_tags=auto --set 'think_tags=<mythink> </mythink>'"
    assert think.text(".remedy code") == line
    think.press(".remedy .copy")
    assert think.copied() == line
    think.press("[data-do=keep]")
    think.until(lambda: think.elements("#keep[open]") == 1, "the form")
    fields = "return ['thinking', 'text'].map((name) => document.querySelector(`#keep [name=${name}]`).value)"
    assert think.script(fields) == [THOUGHT, ANSWER]
    think.screenshot("think-misread")
    think.fill("#keep [name=name]", "mythink")
    think.press("#keep .buttons .main")
    think.until_shown("kept ", "#keep [role=alert]")
    think.press("#keep [data-close]")
    think.press("[data-do=apply]")
    think.until_shown("set until the proxy ends", "#toast")
    ask(web, web_server, f"<mythink>{THOUGHT}</mythink>{ANSWER}")
    think.until(lambda: len(think.rows()) == 2, "the second row")
    think.until_shown(THOUGHT, "details.thinking")
    assert think.elements(".remedy:not([hidden])") == 0


LINES = "a long line\n" * 99
BOTTOM = "return document.querySelector('.reply details.thinking').getBoundingClientRect().bottom"


def _chat(at: int) -> list[object]:
    call = {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    turn = {"role": "assistant", "reasoning_content": THOUGHT, "tool_calls": [call]}
    return [turn, {"role": "tool", "tool_call_id": f"c{at}", "content": LINES}]


def _messages(at: int) -> list[object]:
    thought = {"type": "thinking", "thinking": THOUGHT, "signature": "think-addon"}
    call = {"type": "tool_use", "id": f"c{at}", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"c{at}", "content": LINES}
    reminder = {"type": "text", "text": "<system-reminder>\nBe brief.\n</system-reminder>"}
    turn = {"role": "assistant", "content": [thought, call]}
    return [turn, {"role": "user", "content": [result, reminder]}]


def _responses(at: int) -> list[object]:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": THOUGHT}]}
    call = {"type": "function_call", "call_id": f"c{at}", "name": "look", "arguments": "{}"}
    return [thought, call, {"type": "function_call_output", "call_id": f"c{at}", "output": LINES}]


@pytest.mark.parametrize(
    ("path", "field", "step"),
    [
        (CHAT, "messages", _chat),
        (ANTHROPIC.path, "messages", _messages),
        ("/v1/responses", "input", _responses),
    ],
)
def test_a_tool_loop_shows_what_was_read_and_thought_without_scrolling(
    web: Mitmweb,
    web_server: ByPathServer,
    think: ThinkPage,
    path: str,
    field: str,
    step: Callable[[int], list[object]],
) -> None:
    web_server.rows[CHAT] = Says(steps=[*stream(f"<think>{THOUGHT}</think>", ANSWER), *END])
    steps = [each for at in range(3) for each in step(at)]
    turns = [{"role": "user", "content": QUESTION}, *steps]
    with Client(web.port) as client:
        body = {"model": "small", "stream": True, "max_tokens": 99, field: turns}
        client.ask(path, json.dumps(body).encode())
    think.show(web)
    think.until_shown(THOUGHT, ".reply details.thinking")
    assert float(str(think.script(BOTTOM))) < SIZE[1]
    assert think.text(".exchange h2").startswith("← look: a long line")
    assert "Read 7 " in think.until_shown("most: results of tools, about ", ".read")
    assert "this thought 4 times" in think.text(".exchange > .how")
    assert "earlier step" in think.text(".asked")
    assert "a long line · 1,188 characters" in think.text(".asked .result")
    think.press(".asked .result summary")
    think.until_shown("a long line\na long line", ".asked .result")
