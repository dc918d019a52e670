"""A transcript as HTML: every part, and nothing of it is markup."""

from html.parser import HTMLParser

import pytest

from converter.addon.transcript import shown
from converter.addon.transcript.turns import FailurePart, Field, Media, Part, Raw, ShownTurn
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from converter.extras.page.session import part_as_html, turn_as_html

HOSTILE = "</pre><script>alert(1)</script>\u202e\x1b[2J\"'>"
PARTS = (
    ThinkingBlock(HOSTILE, note=HOSTILE),
    TextBlock(HOSTILE, HOSTILE),
    ToolUse(HOSTILE, HOSTILE, HOSTILE),
    ToolResult(HOSTILE, (TextBlock(HOSTILE),), is_error=True, name=HOSTILE),
    Media("image", HOSTILE, 3, HOSTILE, HOSTILE, "AAAA"),
    Media("image", "image/png", 3, data=HOSTILE),
    Field(HOSTILE, HOSTILE),
    FailurePart(HOSTILE, HOSTILE),
    Raw(HOSTILE),
)


class Read(HTMLParser):
    """The elements of a text, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += attrs
        if tag not in ("img", "meta", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_no_part_is_markup(part: Part) -> None:
    read = Read(turn_as_html(shown.turn(ShownTurn(HOSTILE, (part,)))))
    assert read.open == []
    assert "script" not in read.seen
    assert not any(name.startswith("on") for name, _ in read.attributes)
    joined = "".join(read.texts)
    assert "alert(1)" in joined
    assert not {"\u202e", "\x1b"} & set(joined)


def test_each_part_has_an_element_of_its_kind() -> None:
    parts = (
        ThinkingBlock("\nhm\n"),
        ToolUse("c1", "look", '{"at":1}'),
        ToolResult("c1", (TextBlock("found"),), name="look"),
        ToolResult("", (TextBlock("gone"),), is_error=True),
        TextBlock("Yes"),
    )
    written = turn_as_html(shown.turn(ShownTurn("assistant", parts)))
    assert '<details class="part thinking" open><summary>Thinking' in written
    assert "<p>hm</p>" in written
    assert "→ look<small>c1" in written
    assert "← look" in written
    assert "← failed result" in written
    assert written.startswith('<section class="turn assistant"><h3>assistant</h3>')


def test_a_picture_that_came_along_is_shown() -> None:
    written = part_as_html(shown.part(Media("image", "image/png", 3, data="AAAA")))
    assert '<img alt="" src="data:image/png;base64,AAAA">' in written


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_prompt_is_folded_and_says_its_length(role: str) -> None:
    written = turn_as_html(shown.turn(ShownTurn(role, (TextBlock("Be brief."), TextBlock("<b>")))))
    assert written.startswith('<details class="part fold"><summary>')
    assert f"{role} prompt<small>12 characters</small>" in written
    assert "&lt;b&gt;" in written
