"""A transcript in the terminal: whole, and as it grows."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.transcript import terminal
from converter.addon.transcript.accumulator import News
from converter.addon.transcript.reply import ReplyReader
from converter.addon.transcript.terminal import TerminalWriter
from converter.addon.transcript.turns import (
    FailurePart,
    Field,
    Media,
    Part,
    Raw,
    ShownTurn,
    Transcript,
)
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from tests.support.frames import stream
from tests.support.strategies import TEXTS, cut, law

OURS = re.compile("\x1b\\[(?:0|1|2|31|36)m")


def shown(*parts: Part) -> str:
    return TerminalWriter().feed(map(News, parts))


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        (TextBlock("\n\nHi\nthere"), "Hi\nthere"),
        (ThinkingBlock("deep\ndeeper"), "│ deep\n│ deeper"),
        (ThinkingBlock("deep", note="plan"), "│ (plan) deep"),
        (TextBlock("No.", "refusal"), "(refusal) No."),
        (ToolUse("a", "look", '{"at":1}'), '→ look a\n  {\n    "at": 1\n  }\n'),
        (ToolUse("", "look"), "→ look\n"),
        (ToolResult("a", (TextBlock("wet\ncold"),)), "← a\n  wet\n  cold\n"),
        (ToolResult("a", (TextBlock("gone"),), is_error=True), "← failed a\n  gone\n"),
        (Media("image", "image/png", 12_345), "[image image/png 12.3 kB]\n"),
        (Field("x", [1]), "x: [1]\n"),
        (Field("x", ["long"] * 90), "x: [\n" + ",\n".join(['  "long"'] * 90) + "\n]\n"),
        (FailurePart("broken", "api_error"), "error api_error: broken\n"),
        (Raw("data: \x1b]0;x\x07"), "data: ␛]0;x␇\n"),
        (TextBlock("\n"), ""),
    ],
)
def test_each_part_has_its_lines(part: Part, lines: str) -> None:
    assert shown(part) == lines


def test_colours_only_when_requested() -> None:
    transcript = Transcript(
        (ShownTurn("assistant", (ThinkingBlock("deep"), TextBlock("Hi"))),), facts={"model": "m"}
    )
    assert terminal.write(transcript) == "assistant\n│ deep\n\nHi\n\nmodel: m\n"
    assert terminal.write(transcript, colour=True) == (
        "\x1b[1massistant\x1b[0m\n\x1b[2m│ deep\x1b[0m\n\nHi\n\n\x1b[2mmodel: m\x1b[0m\n"
    )


def test_text_comes_as_it_is_fed() -> None:
    writer, reader = TerminalWriter(), ReplyReader()
    pieces = [
        writer.feed(reader.feed(frame))
        for frame in stream("<think>", "\nde", "ep\n", "deeper\n", "</think>", "\n\nHi\n", "!")
    ]
    assert pieces[1:10] == ["", "│ de", "ep", "\n│ deeper", "", "\n\nHi", "\n!", "", ""]
    assert writer.feed(reader.close()) + writer.close() == "\n"


@law(300)
@given(st.text() | TEXTS, st.data())
def test_cut_anywhere_it_shows_the_same(text: str, draw: st.DataObject) -> None:
    pieces = draw.draw(cut(text)) if text else []
    grown = [News(ThinkingBlock(piece), fresh=not number) for number, piece in enumerate(pieces)]
    writer = TerminalWriter()
    assert writer.feed(grown) + writer.close() == terminal.write(
        Transcript((ShownTurn("x", (ThinkingBlock(text),)),))
    ).removeprefix("x\n")


@law(300)
@given(
    st.lists(
        st.text() | st.sampled_from(["\x1b[31m", "\x9b2J", "\u202e", "\r", "\x1b]0;t\x07"]),
        max_size=5,
    ).map("".join)
)
def test_no_escape_sequence_but_ours_reaches_the_terminal(text: str) -> None:
    parts = (
        TextBlock(text),
        ThinkingBlock(text, note=text),
        ToolUse(text, text, text),
        ToolResult(text, (TextBlock(text),), name=text),
        Field(text, text),
    )
    more = (Raw(text), FailurePart(text, text), Media(text, text, address=text, title=text))
    written = terminal.write(
        Transcript((ShownTurn(text, (*parts, *more)),), {text: text}, {text: text}, (text,)),
        colour=True,
    )
    left = OURS.sub("", written).replace("\n", "").replace("\t", "")
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", left)
