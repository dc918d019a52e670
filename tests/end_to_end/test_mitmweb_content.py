"""mitmweb's page shows a model's output as readable text, whatever it looks like, and takes our
commands.
"""

import pytest

from tests.support.asked_sum import ANSWER, ask
from tests.support.by_path_server import ByPathServer
from tests.support.mitmweb import Mitmweb, Page

pytestmark = pytest.mark.slow

OWNED = "document.title='owned'"
HTML = (f'<img src=x onerror="{OWNED}">', f"<script>{OWNED}</script>", "<b>bold</b>")
ELEMENTS = ("img[src=x]", "pre script", "pre b", "td b", ".flow-detail script")
"""The element that this markup would make."""


def test_html_of_the_model_is_text(
    web: Mitmweb, web_server: ByPathServer, page: Page, streamed: bool
) -> None:
    lines = "\n".join(HTML)
    ask(web, web_server, f"<think>t{lines}</think>{lines}", streamed=streamed)
    page.open(web.page)
    shown = page.shows("stop: stop")
    assert [shown.count(line) for line in HTML] == [2, 2, 2]
    _makes_nothing(page)
    page.screenshot("html-is-text")


def _makes_nothing(page: Page) -> None:
    assert [kind for kind in ELEMENTS if page.elements(kind)] == []
    assert page.script("return document.title") != "owned"


def test_a_long_paragraph_needs_no_scrolling_along(
    web: Mitmweb, web_server: ByPathServer, page: Page
) -> None:
    ask(web, web_server, f"<think>{'long thought ' * 50}</think>{'long answer ' * 50}")
    page.open(web.page)
    shown = page.shows("stop: stop")
    scrolled = page.script(
        "const shown = document.querySelector('.contentview pre'); return shown.scrollWidth > shown.clientWidth"
    )
    assert scrolled is False
    assert (
        max(map(len, shown.splitlines())) <= 72
    )  # so many fit beside the list in a window of 1280 pixels
    assert "Show more" not in shown


def test_commands_are_taken_by_the_page(web: Mitmweb, web_server: ByPathServer, page: Page) -> None:
    ask(web, web_server)
    page.open(web.page)
    page.display("Command Bar")
    page.display("Event Log")
    page.command("think.show @focus")
    page.until(lambda: ANSWER in page.log(), "the conversation in the event log")
    page.screenshot("commands")


@pytest.mark.parametrize("command", ["think.show", "think.record"])
def test_the_command_bar_explains_the_commands(
    web: Mitmweb, web_server: ByPathServer, page: Page, command: str
) -> None:
    ask(web, web_server)
    page.open(web.page)
    page.display("Command Bar")
    text = page.help(command)
    page.screenshot(f"help-{command}")
    assert len(text.partition("# ")[2].split()) >= 10
