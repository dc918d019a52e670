"""The marks of a call with keyed values, and what is known of each."""

from converter.core.reading.tool_calls.keyed_marks import Half, Kind, Marks
from converter.core.reading.tool_calls.span import Span
from converter.core.reading.tool_calls.verdict import End
from tests.support.verdicts import ROWS


def marks(form: str, text: str, end: End = End.STOP) -> Marks:
    return Marks(Span(ROWS[form], text, end, {}, is_last=True))


def kinds(form: str, text: str) -> list[Kind]:
    return [mark.kind for mark in marks(form, text).all]


def test_each_form_has_its_marks() -> None:
    tags = "<function=f><parameter=a>1</parameter></function></tool_call><tool_call><parameter>"
    assert kinds("qwen3-coder", tags) == [
        Kind.HEAD,
        Kind.KEY,
        Kind.VALUE_END,
        Kind.BODY_END,
        Kind.CALL_END,
        Kind.OPENER,
        Kind.INNER_TAG,
    ]
    pairs = "<arg_key>a</arg_key>\n<arg_value>1</arg_value></tool_call><arg_key>"
    assert kinds("glm", pairs) == [Kind.KEY, Kind.VALUE_END, Kind.CALL_END, Kind.KEY_BEGUN]
    elements = '#<invoke name="f">#<a>1#</a>#</invoke>#'.replace("#", "]<]minimax[>[")
    assert kinds("minimax-m3", elements) == [
        Kind.HEAD,
        Kind.KEY,
        Kind.VALUE_END,
        Kind.BODY_END,
        Kind.KEY_BEGUN,
    ]


def test_the_text_of_a_mark() -> None:
    read = marks("kimi-k3", '<|open|>call tool="f"<|sep|><|open|>argument key="a > b"<|sep|>').all
    assert [mark.tag for mark in read] == ['tool="f"', 'key="a > b"']
    (key, other) = marks(
        "glm", "<arg_key>a</arg_key></arg_key>x<arg_key>b</arg_key><arg_value>"
    ).all
    assert (key.has_value_mark, other.has_value_mark) == (False, True)


def test_what_stands_behind_an_offset() -> None:
    text = "<function=f> \n</think><parameter=a> x </parameter>"
    parsed = marks("qwen3-coder", text)
    assert parsed.kind_behind(12, 1) is Kind.KEY
    assert parsed.kind_behind(parsed.all[1].end, 2) is Kind.TEXT
    assert parsed.kind_behind(len(text), 3) is Kind.END
    assert parsed.index(parsed.all[2].begin) == 2


def test_half_a_mark() -> None:
    halves = {"</": Half.CLOSING, "<": Half.EITHER, "<par": Half.OPENING, "<b": Half.NONE}
    for rest, wanted in halves.items():
        parsed = marks("qwen3-coder", f"<function=f>{rest}")
        assert parsed.half_mark(12, 1) is wanted
        assert marks("qwen3-coder", f"<function=f>{rest}", End.CLOSER).half_mark(12, 1) is Half.NONE
