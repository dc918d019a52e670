"""Spans of Markdown code: in each row the parts between « and » are code, and nothing else is."""

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.reading.code_spans import LINE_LIMIT, CodeSpans
from tests.support.strategies import BLANKS, CODE, cut, law

ROWS = {
    "no code at all": "a b\nc",
    "an inline span": "a `«b»` c",
    "a span of two backticks holds one": "a ``«b ` c»`` d",
    "a span over a line's end": "`«a\nb»` c",
    "a span that never closes ends with its paragraph": "`«a\n»\nb",
    "a line of blanks ends a paragraph": "`«a\n  »\nb",
    "two spans": "`«a»` b `«c»` d",
    "an escaped backtick opens nothing": "\\`a",
    "two escaped backticks": "\\`\\`a",
    "an escaped first backtick of two": "\\``«a»` b",
    "an escaped backslash escapes no backtick": "\\\\`«a»` b",
    "a backslash escapes nothing within a span": "`«a\\»` b",
    "a fence": "```«\na\n»```\nb",
    "a fence with a word behind it": "```«python\na\n»```\nb",
    "a fence of tildes": "~~~«\na\n»~~~\nb",
    "a longer fence closes": "```«\na\n»````\nb",
    "a shorter fence does not": "````«\na\n```\nb\n»````\nc",
    "tildes do not close backticks": "```«\n~~~\na\n»```\nb",
    "a fence with words behind it does not close": "```«\na\n``` b\nc\n»```\nd",
    "blanks behind a closing fence": "```«\na\n»```  \r\nb",
    "a blank line does not end a fence": "```«\n\na\n\n»```\nb",
    "a fence that never closes": "```«\na\n\nb»",
    "a fence in a list": "- ```«\n  a\n  »```\nb",
    "a fence in a numbered list": "1. ~~~«\n   a\n   »~~~\nb",
    "a fence in a quotation": "> ```«\n> a\n> »```\nb",
    "a fence ends a span": "`«a\n»```«\nb\n»```\nc",
    "three backticks in mid-line are a span": "a ```«b»``` c",
    "three backticks and more in one line are a span": "```«a»``` b",
    "two tildes are no fence": "~~\na",
    "backticks behind tildes": "~~~ `«\na\n»~~~\nb",
    "blanks that are no margin keep three backticks a span": "\u2028```«\n<a>»``` b",
    "blanks of any kind end a paragraph": "`«a\n\u00a0»\nb",
    "a span opens a line": "``«a»`` b",
}


def places_of(marked: str) -> tuple[str, list[bool]]:
    """The text, and whether each of its characters is code."""
    text, code, inside = "", [], False
    for character in marked:
        if character in "«»":
            inside = character == "«"
        else:
            text += character
            code.append(inside)
    return text, code


def decided(text: str) -> list[int]:
    """The places whose character is no mark and no blank; whether a mark is code may depend on what
    follows it.
    """
    return [offset for offset, character in enumerate(text) if character not in "`~\n\r "]


@pytest.mark.parametrize("marked", ROWS.values(), ids=ROWS.keys())
def test_code_is_where_the_marks_say(marked: str) -> None:
    text, code = places_of(marked)
    for offset in decided(text):
        spans = CodeSpans()
        spans.feed(text[:offset])
        assert spans.in_code() == code[offset], text[:offset]


@pytest.mark.parametrize("marked", ROWS.values(), ids=ROWS.keys())
def test_code_is_there_as_well_when_single_characters_come(marked: str) -> None:
    text, code = places_of(marked)
    spans = CodeSpans()
    places = decided(text)
    for offset, character in enumerate(text):
        assert offset not in places or spans.in_code() == code[offset], text[:offset]
        spans.feed(character)


@law(150)
@given(st.data(), st.lists(st.sampled_from([*CODE, *BLANKS, "a", "x"]), max_size=12).map("".join))
def test_text_cut_anywhere_is_the_same_code(data: st.DataObject, text: str) -> None:
    whole, in_pieces = CodeSpans(), CodeSpans()
    whole.feed(text)
    for piece in data.draw(cut(text)):
        in_pieces.feed(piece)
    assert in_pieces.in_code() == whole.in_code()


@pytest.mark.parametrize(
    ("text", "fenced"),
    [("```\na", True), ("~~~x", True), ("`a", False), ("```\na\n```\n", False), ("a ```b", False)],
)
def test_a_fence_differs_from_a_span(text: str, fenced: bool) -> None:
    spans = CodeSpans()
    spans.feed(text)
    assert spans.in_fence() is fenced


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("`a", True),
        ("`a\n", False),
        ("`a\nb` c", True),
        ("```\na\n", True),
        ("``a\nb ` c` d", False),
    ],
)
def test_a_span_of_a_line_ends_with_its_line(text: str, inside: bool) -> None:
    spans = CodeSpans()
    spans.feed(text)
    assert spans.in_code_of_line() is inside


def test_a_span_of_a_line_ends_with_a_long_line_as_well() -> None:
    spans = CodeSpans()
    spans.feed("a `" + "b" * 2 * LINE_LIMIT)
    assert spans.in_code_of_line()
    spans.feed("b\nc")
    assert not spans.in_code_of_line()


@pytest.mark.parametrize("begun", ["", "`", "```", "```\n", "```\na\n```"])
@pytest.mark.parametrize("lines", ["\n", "a\n", "\n \na", " \\\n\n> "])
def test_lines_without_marks_cost_no_steps_of_their_own(begun: str, lines: str) -> None:
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    spans = CodeSpans()
    spans.feed(begun)
    sys.setprofile(count)
    try:
        spans.feed(lines * 50_000)
        spans.in_code()
    finally:
        sys.setprofile(None)
    assert calls < 30
