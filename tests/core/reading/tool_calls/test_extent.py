"""Possible ends of a call's text: the same points however it is cut."""

import pytest

from converter.core.reading.tool_calls.extent import EndMarks, Extent
from converter.core.reading.tool_calls.verdict import End

CLOSERS, KEYS = ("</tool_call>",), ("<parameter=", "</parameter>")
JSON = EndMarks(CLOSERS, openers=("<tool_call>",), has_brackets=True, ignored=("</think>",))
TAGS = EndMarks(CLOSERS, ("</function>",), KEYS, ("<function=",))
GEMMA = EndMarks(("<tool_call|>",), has_brackets=True, quote='<|"|>')
HEADER = EndMarks(
    ("<end>",), ends_before=("<stop>",), has_brackets=True, has_header=True, ignored=("```",)
)
CASES = {
    "its closing mark": (JSON, '{"a": 1}\n</tool_call> so', [(End.CLOSER, "</tool_call>")]),
    "a mark in a string": (
        JSON,
        '{"a": "</tool_call>"}</tool_call>',
        [(End.CLOSER, "</tool_call>"), (End.CLOSER, "</tool_call>")],
    ),
    "words behind it": (JSON, '{"a": 1} and so', [(End.BODY, "")]),
    "another object": (JSON, '{"a": 1}, {"b": 2}</tool_call>', [(End.CLOSER, "</tool_call>")]),
    "a thought's closer": (JSON, '{"a": 1}</think></tool_call>', [(End.CLOSER, "</tool_call>")]),
    "an opener on a new line": (JSON, '{"a": 1\n<tool_call>', [(End.OPENER, "")]),
    "an opener in a line": (JSON, '{"a": <tool_call>', []),
    "the body's end": (TAGS, "<function=a></function> so", [(End.BODY, "")]),
    "an end in a value": (
        TAGS,
        "<function=a><parameter=x></function></parameter></function></tool_call>",
        [(End.CLOSER, "</tool_call>")],
    ),
    "a quote of its own": (GEMMA, 'a{b:<|"|>}<|"|>}<tool_call|>', [(End.CLOSER, "<tool_call|>")]),
    "a mark in the header": (HEADER, "a<stop>[1]{}\n```<end>", [(End.CLOSER, "<end>")]),
    "a mark behind the header": (HEADER, 'a{"b": 1<stop>', [(End.OPENER, "")]),
}


def points(marks: EndMarks, text: str, size: int) -> list[tuple[End, str]]:
    extent, points_seen = Extent(marks), []
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    for piece in (*pieces, ""):
        piece_left, last = piece, piece == ""
        while point := extent.feed(piece_left, last):
            piece_left = ""
            points_seen.append((point.reason, text[point.body_end : point.end]))
    return points_seen


@pytest.mark.parametrize(("marks", "text", "wanted"), CASES.values(), ids=CASES)
def test_the_points_are_the_same_however_the_text_is_cut(
    marks: EndMarks, text: str, wanted: list[tuple[End, str]]
) -> None:
    for size in (len(text), 7, 1):
        assert points(marks, text, size) == wanted


def test_a_mark_in_a_string_is_reported_as_such() -> None:
    extent = Extent(JSON)
    point = extent.feed('{"a": "</tool_call>')
    assert point
    assert point.in_string


@pytest.mark.parametrize(
    ("behind", "is_draft"), [("so", True), ('"b": 2', False), ("</tool_call>", False)]
)
def test_a_thoughts_closer_in_an_open_object_tells_of_a_draft(behind: str, is_draft: bool) -> None:
    marks = EndMarks(CLOSERS, has_brackets=True, thought_closers=("</think>",))
    point = Extent(marks).feed(f'{{"a": 1, </think>{behind}', last=True)
    assert (point is not None and point.reason is End.CUT) is is_draft
