"""The page at /think in a real browser: a person watches a model think, reads requests and replies,
and keeps a misread reply. Every test leaves a screenshot in a folder that git ignores.
"""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from selenium.webdriver.common.keys import Keys

from converter.extras.recordings.library import Library
from tests.conftest import Llama
from tests.support import frames
from tests.support.asked_sum import ANSWER, QUESTION, THOUGHT, ask
from tests.support.by_path_server import CHAT, ByPathServer, Says, Step
from tests.support.clients import ANTHROPIC, Client, Dialect, Live
from tests.support.frames import DONE, END, ROLE, delta, finish, stream, text
from tests.support.mitmweb import Mitmweb
from tests.support.think_page import CHOSEN, REPLY, ThinkPage, address, dump, flows
from tests.support.think_page import ask as page

pytestmark = pytest.mark.slow

PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
CODE = "Here:\n\n```python\nprint(1)\n```\n\nand `this`."
CALL = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
}
HEAD = "#rows button.row"
BELOW = "at.scrollHeight - at.scrollTop - at.clientHeight"
CHANGED_EDGES = """[...document.querySelectorAll("#differs del, #differs ins")]
    .slice(0, 2).map((each) => each.getBoundingClientRect().{})"""
EDGES = """
const [heads, cells] = ["th", "tbody tr:first-child td"].map((name) =>
  [...document.querySelectorAll(".context " + name)].map((each, at) => {
    const words = document.createRange();
    words.selectNodeContents(each);
    return words.getBoundingClientRect()[at < 2 ? "left" : "right"];
  }));
return heads.map((head, at) => [head, cells[at]]);
"""
NAMELESS = """
return [...document.querySelectorAll('button, a, input, select, textarea, [tabindex="0"]')]
  .filter((each) => each.offsetParent && !(each.textContent.trim() || each.ariaLabel ||
          (each.labels && each.labels.length)))
  .map((each) => each.outerHTML)
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("page") / "kept")


@pytest.fixture(scope="module")
def used_web(web_server: ByPathServer, kept: Library, proxy_folder: Path) -> Iterator[Mitmweb]:
    record = ["--set", f"think_record={kept.folder}"]
    with Mitmweb(web_server.address, proxy_folder, *record) as web:
        yield web
        web.check()


def test_a_stream_is_watched(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage, dialect: Dialect
) -> None:
    begins, thinks, answers, ends = (threading.Event() for _ in range(4))
    steps: list[Step] = [begins, ROLE, *text("<think>First step."), thinks, *text(" Second step.")]
    web_server.rows[CHAT] = Says(steps=[*steps, answers, *text("</think>", ANSWER), ends, *END])
    think.show(web, 0)
    body = {"model": "small", "max_tokens": 9, "stream": True}
    body["messages"] = [{"role": "user", "content": QUESTION}]
    with Client(web.port) as client:
        client.begin(dialect.path, json.dumps(body).encode(), {"user-agent": "claude-cli/2.1 (x)"})
        think.until(lambda: "waiting" in "".join(think.rows()), "a row that waits")
        assert "claude-cli/2.1" in think.rows()[0]
        think.press("#rows a")
        think.until_shown(QUESTION)
        begins.set()
        think.until_shown("First step.", REPLY)
        think.until(lambda: "thinking" in think.rows()[0], "a row that thinks")
        assert think.script("return document.querySelector('[data-do=keep]').disabled")
        thinks.set()
        think.until_shown("First step. Second step.", "details.thinking")
        think.screenshot(f"think-live-{dialect.name}")
        answers.set()
        think.until_shown(ANSWER, REPLY)
        think.until(lambda: "answering" in think.rows()[0], "a row that answers")
        ends.set()
        client.answer()
    think.until_shown("7 in, 5 out")
    think.until(lambda: "done" in think.rows()[0], "a row that is done")
    reply = think.text(REPLY)
    assert reply.count("First step.") == reply.count(ANSWER) == 1
    assert "Requests\n1" in think.until_shown("none failed", "#numbers")


def test_a_reply_that_runs_opens_at_its_end_and_is_followed(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    goes_on, ends = threading.Event(), threading.Event()
    long = ["<think>", *["light " * 500] * 12]
    steps: list[Step] = [ROLE, *text(*long), goes_on, *text("dark " * 2000), ends]
    web_server.rows[CHAT] = Says(steps=[*steps, *text("</think>", ANSWER), *END])
    think.show(web, 0)
    body = {"model": "small", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}

    def at_its_end() -> bool:
        talk = "const at = document.getElementById('talk');"
        return bool(think.script(f"{talk} return at.scrollTop > 999 && {BELOW} < 120"))

    with Client(web.port) as client:
        client.begin(CHAT, json.dumps(body).encode())
        think.until(lambda: "thinking" in "".join(think.rows()), "a row that thinks")
        think.press("#rows a")
        think.until(at_its_end, "the end of what has come")
        goes_on.set()
        think.until(lambda: "dark" in think.content("details.thinking"), "more")
        think.until(at_its_end, "the end of what came later")
        ends.set()
        client.answer()


@pytest.mark.long
def test_llama_cpp_is_seen_to_think(
    llamas: dict[str, Llama], think: ThinkPage, proxy_folder: Path
) -> None:
    """The real server thinks until its limit ends it: what is shown of it grows."""
    grammar = r'root ::= "<think>\n" [a-z ]+'
    request = {"model": "tiny-think", "max_tokens": 9000, "stream": True, "grammar": grammar}
    body = {
        **request,
        "ignore_eos": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "Think for long."}],
    }
    with Mitmweb(llamas["tags"].address, proxy_folder) as web, Client(web.port) as client:
        think.show(web, 0)
        live = Live(client.send(CHAT, json.dumps(body).encode()))
        think.until(lambda: len(think.rows()) == 1, "the exchange")
        think.press("#rows a")
        lengths = list[int]()

        def ended() -> bool:
            lengths.append(len(think.text("details.thinking")))
            return "length" in think.text(".end")

        think.until(ended, "the end")
        live.rest()
        steps = sorted({length for length in lengths if length})
        assert len(steps) > 1, steps
        assert "thinking" in think.text(".legend")
        sizes = json.loads(page(web, f"/exchanges/{flows(web)[0]}/context").body)
        counted = sum(tokens for _, _, tokens in sizes["parts"])
        assert sizes["note"] == f"{counted:,} tokens: each part counted by the server."
        assert f"{counted:,} → " in think.text(".legend")
        think.leave()
        web.check()


def test_a_conversation_with_tools_and_a_picture(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    web_server.rows[CHAT] = Says(
        steps=[
            ROLE,
            *text(f"<think>{THOUGHT}</think>"),
            delta(tool_calls=[CALL]),
            finish("tool_calls"),
            DONE,
        ]
    )
    picture = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": PICTURE}},
    ]
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "An earlier one"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "7 degrees"},
        {"role": "user", "content": picture},
    ]
    with Client(web.port) as client:
        client.ask(CHAT, json.dumps({"model": "small", "stream": True, "messages": turns}).encode())
    think.show(web)
    think.pick()
    think.until_shown("get_weather", ".reply .call")
    assert '"city": "Oslo"' in think.text(".reply .call")
    assert think.script("return document.querySelector('.asked img').naturalWidth") == 1
    assert "Be brief." not in think.text(".asked")
    for fold in (1, 2, 3):
        think.press(f".asked .folds > details:nth-of-type({fold}) > summary")
    for passage in ("stream true", "Be brief.", "An earlier one", "7 degrees"):
        think.until_shown(passage, ".asked")
    think.screenshot("think-tools")


def test_the_frames_of_both_sides_stand_side_by_side(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    goes = threading.Event()
    web_server.rows[CHAT] = Says(steps=[*stream("<think>deep</think>", ANSWER)[:2], goes, *END])
    with Client(web.port) as client:
        live = Live(client.send(ANTHROPIC.path, _request()))
        think.show(web)
        think.pick()
        think.press("[data-tab=wire]")
        think.until_shown("<think>deep</think>", ".frames")
        assert "thinking_delta" in think.text(".frames")
        before = think.elements(".frames li")
        goes.set()
        live.rest()
    think.until(lambda: think.elements(".frames li") > before, "more frames")
    think.until_shown("message_stop", ".frames li:last-child .went")
    think.screenshot("think-wire")
    think.press("[data-tab=talk]")
    think.until_shown("deep", REPLY)


def test_the_parts_of_a_request_are_shown_by_size(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    many = {**frames.TOKENS, "prompt_tokens": 700}
    counted = frames.data({**frames.HEAD, "choices": [], "usage": many})
    pieces = text("<think>deep</think>", ANSWER)
    web_server.rows[CHAT] = Says(steps=[ROLE, *pieces, finish(), counted, DONE])
    tools = [{"type": "function", "function": {"name": name}} for name in ("<b>t0</b>", "t1")]
    turns = [{"role": "system", "content": "x" * 900}, {"role": "user", "content": QUESTION}]
    body = {"model": "small", "stream": True, "tools": tools, "messages": turns}
    with Client(web.port) as client:
        client.ask(CHAT, json.dumps(body).encode())
    think.show(web)
    think.pick()
    think.keys("c")
    think.until_shown("<b>t0</b> (never called)", ".context")
    assert "Tools that were never called: " in think.text(".context .note")
    assert think.text(".context tbody tr:first-child td") == "system"
    assert think.text(".context tbody tr:first-child td:last-child").endswith("%")
    [*left, right, other] = cast(list[list[float]], think.script(EDGES))
    assert {head - cell for head, cell in left} == {0.0}, "heads stand over their columns"
    assert {head - cell for head, cell in (right, other)} == {0.0}, "numbers stand to the right"
    think.press(".context th:nth-child(3) button")
    assert think.attribute(".context th:nth-child(3)", "aria-sort") == "ascending"
    assert think.text(".context tbody tr:last-child td") == "system"
    _is_legible(think, "think-context")
    think.keys("c")
    think.until_shown("deep", REPLY)


def test_a_session_with_a_sub_agent_is_one_row_that_unfolds(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    cached = {**frames.TOKENS, "prompt_tokens_details": {"cached_tokens": 2}}
    counted = frames.data({**frames.HEAD, "choices": [], "usage": cached})
    steps = [*text("<think>deep</think>", ANSWER), finish(), counted, DONE]
    web_server.rows[CHAT] = Says(steps=steps)
    hostile = "Mend <img src=x onerror=alert(1)> \u202eit"
    function = {"name": "task", "arguments": json.dumps({"prompt": "Look for the fault"})}
    main: list[dict[str, object]] = [{"role": "user", "content": hostile}]
    goes_on = [*main, {"role": "assistant", "tool_calls": [{**CALL, "function": function}]}]
    sub = [{"role": "user", "content": "Look for the fault"}]
    with Client(web.port) as client:
        for messages in (main, sub, [*goes_on, {"role": "tool", "content": "here"}]):
            body = {"model": "small", "stream": True, "messages": messages}
            client.ask(CHAT, json.dumps(body).encode())
    think.show(web, 0)
    think.until_shown("3 turns · 1 sub-agent", HEAD)
    assert "Mend <img src=x onerror=alert(1)> \\u202eit" in think.text(HEAD)
    assert "context 7 · wrote 15 in all" in think.text(HEAD)
    assert (think.attribute(HEAD, "aria-expanded"), think.rows()) == ("false", [])
    think.keys("j" + Keys.ENTER)
    think.until(lambda: len(think.rows()) == 3, "the session's exchanges")
    assert think.attribute(HEAD, "aria-expanded") == "true"
    assert think.elements("#rows a.sub") == 1
    think.press("#rows a.row")
    think.until_shown("deep", REPLY)
    _is_legible(think, "think-session")
    _is_read_whole(web, think)
    think.show(web, 0)
    think.until_shown("3 turns · 1 sub-agent", HEAD)
    think.press(HEAD)
    think.until(lambda: len(think.rows()) == 3, "the session unfolded")
    _is_shown(think)
    think.press(HEAD)
    think.until(lambda: think.rows() == [], "the session folded")


def test_a_broken_prompt_has_its_mark_and_shows_what_broke_it(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    web_server.rows[CHAT] = Says(steps=[*stream("<think>deep</think>", ANSWER), *END])
    turns: list[dict[str, str]] = [
        {"role": "user", "content": "How late?"},
        {"role": "assistant", "content": ANSWER},
        {"role": "user", "content": "And now?"},
    ]
    with Client(web.port) as client:
        for length, hour in ((1, "13:05"), (3, "13:06")):
            messages = [{"role": "system", "content": f"It is {hour}."}, *turns[:length]]
            body = {"model": "small", "stream": True, "messages": messages}
            client.ask(CHAT, json.dumps(body).encode())
    think.show(web, 0)
    think.until_shown("2 turns", HEAD)
    think.press(HEAD)
    think.until_shown("cache broken · ", "#rows a.row .tokens")
    think.pick(0)
    think.until_shown("broken at message 0 (system), character 10: the date or the time", ".how")
    assert think.text("[data-do=session]") == "What broke the cache"
    _open_session(web, think, "[data-do=session]")
    think.until_shown("-It is 13:05.\n+It is 13:06.", "#differs")
    edges = [think.script("return " + CHANGED_EDGES.format(side)) for side in ("top", "left")]
    [[top, other_top], [left, other_left]] = cast(list[list[float]], edges)
    assert top == other_top, "the two texts stand side by side"
    assert left < other_left


def _is_legible(think: ThinkPage, name: str) -> None:
    """All has a name, stands out light and dark, and fits."""
    assert think.script(NAMELESS) == []
    for theme in ("light", "dark"):
        think.press("#theme")
        assert think.text("#theme") == f"Theme: {theme}"
        assert think.script(CONTRAST) == []
        think.screenshot(f"{name}-{theme}")
    think.press("#theme")
    _fits_a_narrow_screen(think)


def _fits_a_narrow_screen(think: ThinkPage) -> None:
    think.resize(400, 800)
    try:
        assert think.script("return document.documentElement.scrollWidth") == 400
    finally:
        think.unsize()


def _is_shown(think: ThinkPage) -> None:
    """The session in the page: how its context grew, its turns, and what its tools cost."""
    shown = think.until_shown("Tokens, about", ".overview")
    assert "2 turns · 1 sub-agent" in shown
    assert "Context of the newest turn: 7 tokens; the most was 7." in shown
    assert think.elements(".graph a") == 2
    assert think.elements(".turns a.row") == 3
    assert think.text(".turns li:last-child .model") == "← a tool: here"
    assert think.script(NAMELESS) == []
    assert think.script(CONTRAST) == []


def _open_session(web: Mitmweb, think: ThinkPage, link: str) -> None:
    link = think.attribute(link, "href")
    base, _, query = web.page.partition("?")
    path = link.partition("think/")[2]
    think.open_address(f"{base}think/{path}{'&' if '?' in path else '?'}{query}")


def _is_read_whole(web: Mitmweb, think: ThinkPage) -> None:
    """The session as a page of its own, reached by its link: its tree, and what differs."""
    think.press(HEAD)
    think.press(HEAD)
    think.until_shown("Turns", ".overview")
    _open_session(web, think, "[data-do=whole]")
    think.until_shown("Sub-agent · Look for the fault", "details.branch")
    assert "<img src=x onerror=alert(1)>" in think.text("h1")
    assert think.elements("main img, main script") == 0
    assert think.elements("main > article") == 2
    assert think.elements("details.branch article") == 1
    assert think.script(NAMELESS) == []
    assert think.script(CONTRAST) == []
    think.screenshot("think-session-whole")
    _fits_a_narrow_screen(think)
    think.script("document.querySelector('[name=to]').selectedIndex = 2")
    think.press("form button")
    think.until_shown("message 2 (tool)", "#differs")
    assert think.script(CONTRAST) == []


def _request() -> bytes:
    turns = [{"role": "user", "content": QUESTION}]
    return json.dumps(
        {"model": "small", "max_tokens": 9, "stream": True, "messages": turns}
    ).encode()


def test_a_bad_reply_becomes_a_test(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage, kept: Library
) -> None:
    ask(web, web_server, f"({THOUGHT}) {ANSWER}")
    think.show(web)
    think.pick()
    think.press("[data-do=keep]")
    think.until(lambda: think.elements("#keep[open]") == 1, "the form")
    think.fill("#keep [name=name]", "misread")
    think.fill("#keep [name=why]", "its thoughts stand in parentheses")
    think.fill("#keep [name=thinking]", THOUGHT)
    think.fill("#keep [name=text]", ANSWER)
    think.screenshot("think-keep")
    think.press("#keep .buttons .main")
    path = str(kept.path("misread").absolute())
    think.until_shown(f"kept {path}\nnext: think-addon record check misread", "#keep [role=alert]")
    think.press("#keep [data-close]")
    unmet = kept.expectation_difference(kept.load("misread"))
    assert "because its thoughts stand in parentheses" in unmet
    assert f"-{THOUGHT}" in unmet
    think.press("[data-do=keep]")
    think.fill("#keep [name=name]", "misread")
    think.press("#keep .buttons .main")
    think.until_shown("press Keep again", "#keep .problem")
    think.press("#keep .buttons .main")
    think.until_shown("is there already", "#keep .problem")
    think.press("#keep [data-close]")
    [refused] = think.complaints()  # a browser tells of every request that is refused
    assert "400 (Bad Request)" in refused["message"]


def test_an_exchange_is_requested_again_and_stands_beside_the_first(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    ask(web, web_server)
    think.show(web)
    think.pick()
    long = [f"Line {number}.\n\n" for number in range(200)]
    web_server.rows[CHAT] = Says(
        steps=stream("<think>Once more.</think>", "Another answer.", *long)
    )
    think.press("[data-do=again]")
    think.until(lambda: think.elements(".exchange") == 2, "two exchanges")
    think.until_shown("Another answer.", ".exchange + .exchange .reply")
    assert ANSWER in think.text(REPLY)
    think.until(lambda: think.elements(CHOSEN) == 2, "two chosen rows")
    think.until_shown("Line 199.", ".exchange + .exchange .reply")
    assert think.script("return document.getElementById('talk').scrollTop") == 0
    think.screenshot("think-again")
    assert len(flows(web)) == 2


def test_it_is_copied_and_opened_elsewhere(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    ask(web, web_server)
    think.show(web)
    think.pick()
    think.press("[data-do=curl]")
    think.until_shown("as curl", "#toast")
    assert f"http://127.0.0.1:{web.port}{CHAT}" in think.copied()
    think.press("[data-do=text]")
    think.until_shown("as text", "#toast")
    assert THOUGHT in think.copied()
    think.press("[data-do=mitmweb]")
    think.until(lambda: "#/flows/" in str(think.script("return location.href")), "mitmweb")
    assert ANSWER in think.shows(ANSWER)


def test_exchanges_are_searched_and_filtered(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    ask(web, web_server)
    web_server.rows[CHAT] = Says({"error": {"message": "no"}}, 404)
    with Client(web.port) as client:
        client.ask(CHAT, _request())
    think.show(web, 2)
    think.fill("#words", "SEVENTY fourteen")
    think.until(lambda: len(think.rows()) == 1, "one row")
    assert think.text("#count") == "1 of 2 exchanges"
    think.fill("#words", "")
    think.until(lambda: len(think.rows()) == 2, "both rows")
    think.select("#state", "broken")
    think.until(lambda: "404" in "".join(think.rows()[-1:]) and len(think.rows()) == 1, "one row")
    think.select("#state", "")
    think.until(lambda: len(think.rows()) == 2, "both rows")
    web.clear()
    think.until_shown("No exchanges yet", "#count")


def test_it_is_used_by_keys(web: Mitmweb, web_server: ByPathServer, think: ThinkPage) -> None:
    ask(web, web_server, "<think>The older one.</think>Yes.")
    ask(web, web_server, "<think>The newer one.</think>Yes.")
    think.show(web, 2)
    for key, age in (("", "newer"), ("j", "older"), ("j", "older"), ("k", "newer")):
        think.keys(key)
        think.until_shown(f"The {age} one.", REPLY)
    think.keys("t")
    think.until(lambda: think.attribute("details.thinking", "open") == "None", "a folded thought")
    think.keys("t")
    think.keys("w")
    think.until(lambda: think.elements(".frames li") > 0, "frames")
    think.keys("?")
    think.until(lambda: think.elements("#keys[open]") == 1, "the keys")
    think.keys(Keys.ESCAPE)
    think.until(lambda: think.elements("#keys[open]") == 0, "no keys")
    think.keys("/")
    think.keys("abc")
    assert think.script("return document.querySelector('#words').value") == "abc"
    think.fill("#words", "")
    think.keys(Keys.ESCAPE)
    think.keys(Keys.ESCAPE)
    think.until_shown("Nothing chosen", "#nothing")


def test_it_fits_a_narrow_screen(web: Mitmweb, web_server: ByPathServer, think: ThinkPage) -> None:
    ask(
        web,
        web_server,
        f"<think>{THOUGHT}</think>{CODE}\n\n| a | b |\n|---|---|\n| {'x' * 300} | 2 |",
    )
    think.resize(400, 800)
    try:
        think.show(web)
        assert think.script("return document.documentElement.scrollWidth") == 400
        think.screenshot("think-narrow-list")
        think.pick()
        assert not think.script("return document.querySelector('#list').offsetParent")
        assert think.script("return document.documentElement.scrollWidth") == 400
        think.screenshot("think-narrow")
        think.press(".back")
        think.until(
            lambda: bool(think.script("return !!document.querySelector('#list').offsetParent")),
            "the list",
        )
    finally:
        think.unsize()


def test_everything_that_can_be_used_has_a_name(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    ask(web, web_server, f"<think>{THOUGHT}</think>{CODE}")
    think.show(web)
    think.pick()
    assert think.script(NAMELESS) == []
    roles = "return [...document.querySelectorAll('main, header, nav, [role=search], h1, h2, h3')].length"
    assert int(str(think.script(roles))) >= 6
    for theme in ("light", "dark"):
        think.press("#theme")
        assert think.text("#theme") == f"Theme: {theme}"
        assert think.script(CONTRAST) == []
        think.screenshot(f"think-{theme}")
    think.press("#theme")


CONTRAST = """
const light = (colour) => { const [r, g, b] = colour.map((each) => each / 255)
  .map((each) => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const read = (css) => css.match(/[\\d.]+/g).map(Number);
const behind = (each) => { for (; each; each = each.parentElement) {
  const found = read(getComputedStyle(each).backgroundColor); if (found[3] !== 0) return found.slice(0, 3); }
  return [255, 255, 255]; };
return [...document.querySelectorAll('body *')].filter((each) => each.offsetParent && !each.disabled &&
    [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim())).map((each) => {
  const ink = light(read(getComputedStyle(each).color).slice(0, 3)), paper = light(behind(each));
  return [(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05), each.tagName + '.' + each.className];
}).filter(([ratio]) => ratio < 4.5);
"""
"""Texts whose ink stands out from its paper less than people need (WCAG's AA)."""


def test_a_saved_file_is_shown_as_well(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage, proxy_folder: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.mitm"
    ask(web, web_server)
    saved.write_bytes(dump(web))
    with Mitmweb(web_server.address, proxy_folder, "-r", str(saved)) as other:
        think.show(other)
        think.pick()
        think.until_shown(THOUGHT, "details.thinking")
        think.until_shown("Requests\n1", "#numbers")
        think.leave()
        other.check()


def test_exchanges_outlive_mitmweb_until_they_are_deleted(
    web_server: ByPathServer, think: ThinkPage, proxy_folder: Path, tmp_path: Path
) -> None:
    keeps = ["--set", f"think_page={tmp_path / 'kept.sqlite'}"]
    with Mitmweb(web_server.address, proxy_folder, *keeps) as web:
        ask(web, web_server)
        ask(web, web_server, "<think>Another thought.</think>Yes.")
        web.check()
    with Mitmweb(web_server.address, proxy_folder, *keeps) as web:
        think.show(web, 2)
        think.fill("#words", "SEVENTY fourteen")
        think.until(lambda: len(think.rows()) == 1, "the one that is looked for")
        think.pick()
        think.until_shown(THOUGHT, "details.thinking")
        think.press("[data-do=forget]")
        think.until_shown("Delete: sure?", "[data-do=forget]")
        think.press("[data-do=forget]")
        think.until(lambda: think.rows() == [], "nothing that is looked for")
        think.leave()
        web.check()
    with Mitmweb(web_server.address, proxy_folder, *keeps) as web:
        think.show(web)
        think.until_shown("Another thought.", REPLY)
        assert len(think.rows()) == 1
        think.leave()
        web.check()


def test_a_login_is_required(web: Mitmweb, web_server: ByPathServer) -> None:
    ask(web, web_server)
    with ThinkPage() as stranger:
        stranger.script(f"location.href = {address(web, token=False)!r}")
        stranger.until(lambda: stranger.elements("input[name=token]") == 1, "the form")
        stranger.fill("input[name=token]", "wrong")
        stranger.keys(Keys.ENTER)
        stranger.until(lambda: "Invalid" in stranger.text("body"), "a refusal")
        stranger.fill("input[name=token]", web.page.partition("token=")[2])
        stranger.keys(Keys.ENTER)
        stranger.until(lambda: len(stranger.rows()) == 1, "the page")
        assert "token" not in str(stranger.script("return location.href"))


def test_the_list_comes_back_when_mitmweb_does(
    web: Mitmweb, web_server: ByPathServer, think: ThinkPage
) -> None:
    ask(web, web_server)
    think.show(web)
    think.pick()
    think.script("return import('./think/connection.js').then((one) => one.socket.close())")
    think.until_shown("not connected", "#line")
    think.until_shown("live", "#line")
    think.until(lambda: len(think.rows()) == 1, "the row")
    think.until_shown(ANSWER, REPLY)
