"""A transcript as Markdown: what it says, and that nothing in it is interpreted or breaks out of
its place.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.transcript import markdown
from converter.transcript.turns import (
    Failure,
    Field,
    Media,
    Part,
    Raw,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)
from tests.support.strategies import law

OURS = re.compile(r"</?(?:details|summary|code)>")
_FENCE = re.compile(r"(`{3,})[^`]*")


def shown(*parts: Part) -> str:
    return markdown.write(Transcript((Turn("assistant", parts),))).removeprefix("## assistant\n\n")


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        (Text("\n\nHi **there**\n"), "Hi **there**\n"),
        (
            Thinking("deep"),
            "<details>\n<summary>Thinking (4 characters)</summary>\n\ndeep\n\n</details>\n",
        ),
        (
            Thinking("deep", "plan_a"),
            "<details>\n<summary>Thinking (plan\\_a)</summary>\n\ndeep\n\n</details>\n",
        ),
        (Text("a <b> & c"), "a &lt;b> &amp; c\n"),
        (Text("see `x <b>` and `y`"), "see <code>x &lt;b></code> and `y`\n"),
        (Text("see `a\n`<b>`"), "see `a\n<code>&lt;b></code>\n"),
        (Text("```html\n<b>\n```\nend"), "```html\n<b>\n```\nend\n"),
        (Text("````\n```\n<b>\n````\nend"), "````\n```\n<b>\n````\nend\n"),
        (Text("~~~\n<b>"), "```\n<b>\n```\n"),
        (Text("![cat](https://h/c.png)"), "!\\[cat](https://h/c.png)\n"),
        (
            ToolCall("look", "a", '{"at":"<b>"}'),
            '**Tool call** look (a)\n\n```json\n{\n  "at": "<b>"\n}\n```\n',
        ),
        (ToolResult("```\nwet", "a"), "**Tool result** (a)\n\n````\n```\nwet\n````\n"),
        (ToolResult("gone", error=True), "**Tool failed**\n\n```\ngone\n```\n"),
        (Media("image", "image/png", 3), "\\[image image/png 3 B\\]\n"),
        (Field("x", [1]), "**x** \\[1\\]\n"),
        (Field("x", "two\nlines"), "**x**\n\n```\ntwo\nlines\n```\n"),
        (Failure("broken <b>", "api_error"), "**Error** api\\_error\n\n```\nbroken <b>\n```\n"),
        (Raw("\x1b"), "```\n␛\n```\n"),
        (Text("No.", "refusal"), "**refusal**\n\nNo.\n"),
    ],
)
def test_each_part_has_its_lines(part: Part, lines: str) -> None:
    assert shown(part) == lines


def test_settings_and_facts_are_lists() -> None:
    transcript = Transcript(
        (Turn("user", (Text("Hi"),), 1),), {"model": "m"}, {"finish": "tool_calls"}, ("rest",)
    )
    assert markdown.write(transcript, {"thinking_time": 2.0}) == (
        "- model: m\n\n## user 2\n\nHi\n\n## unread\n\n```\nrest\n```\n\n---\n\n- stop: tool\\_calls\n- thinking time: 2.0 s\n"
    )


def _outside_fences(document: str) -> list[str]:
    """The lines that stand in no fenced block, read as CommonMark does: a block ends with a fence
    as long as its own.
    """
    out, fence = [], ""
    for line in document.split("\n"):
        found = _FENCE.fullmatch(line.strip(" ")) if len(line) - len(line.lstrip(" ")) < 4 else None
        if not fence and found:
            fence = found[1]
        elif fence and found and line.strip(" `") == "" and len(found[1]) >= len(fence):
            fence = ""
        elif not fence:
            out.append(line)
    assert not fence, "a fence is left open"
    return out


_HTML = ["<script>", "</details>", "<!--", "-->", "<b>", "&lt;", "</summary>", "<code>"]
_MARKS = [
    "```",
    "````",
    "~~~",
    "```html\n",
    "\n",
    "\n\n",
    "`",
    "``",
    "    ",
    "   ",
    "- ",
    "> ",
    "![",
    "](x)",
    "x",
    "\\",
    "\t",
]
_HOSTILE = st.lists(st.sampled_from([*_HTML, *_MARKS]), max_size=14).map("".join)


@law(500)
@given(_HOSTILE, _HOSTILE)
def test_html_is_never_interpreted_and_blocks_stay_whole(said: str, name: str) -> None:
    parts = (
        Thinking(said, name),
        Text(said),
        ToolCall(name, name, said),
        ToolResult(said, name, name),
        Field(name, said),
    )
    more = (Media(name, name), Failure(said, name), Raw(said))
    document = markdown.write(
        Transcript((Turn(name, (*parts, *more)),), {name: said}, {name: said}, (said,))
    )
    outside = "\n".join(_outside_fences(document))
    assert "<" not in OURS.sub("", outside)
    assert "![" not in outside
    assert [
        outside.count(mark) for mark in ("<details>", "</details>", "<summary>", "</summary>")
    ] == [1, 1, 1, 1]
    assert len(re.findall(r"^</details>$", outside, re.MULTILINE)) == 1
