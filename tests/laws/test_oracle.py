"""The oracle by itself: the reading rules, each with its example."""

import pytest

from converter.core.reading.family_choice import choose
from laws.oracle import read
from laws.oracle_blocks import Block

AUTO = choose(["auto"])


@pytest.mark.parametrize(
    ("rule", "text", "blocks"),
    [
        (1, " a \n", [("text", " a \n")]),
        (2, "<think>\n\n t \n</think>\na", [("thinking", " t "), ("text", "\na")]),
        (3, "<think>\n \n</think>a", [("text", "a")]),
        (4, "a<think>t</think>b", [("text", "a"), ("thinking", "t"), ("text", "b")]),
        (4, "<think>t</think><think>u</think>", [("thinking", "t"), ("thinking", "u")]),
        (
            5,
            "<think>a<think>b</think>c</think>",
            [("thinking", "a<think>b"), ("text", "c</think>")],
        ),
        (5, "[THINK]a</think>b[/THINK]c", [("thinking", "a</think>b"), ("text", "c")]),
        (6, "a<thi", [("text", "a<thi")]),
        (7, "<think>t", [("thinking", "t")]),
        (8, "<THINK>t</THINK>", [("text", "<THINK>t</THINK>")]),
        (10, "`<think>`", [("text", "`<think>`")]),
        (10, "```\n<think>\n```\n", [("text", "```\n<think>\n```\n")]),
        (12, "<thinking thought='t' />a", [("thinking", "t"), ("text", "a")]),
    ],
)
def test_a_rule_is_read(rule: int, text: str, blocks: list[tuple[str, str]]) -> None:
    assert [(block.kind, block.text) for block in read(text, AUTO)] == blocks, f"rule {rule}"


def test_where_a_reply_begins_decides_what_a_lone_closer_is() -> None:
    closed = [Block("thinking", "t"), Block("text", "a")]
    assert read("t</think>a", AUTO) == [Block("text", "t</think>a")]
    assert read("t</think>a", AUTO, "undecided") == closed
    assert read("t</think>a", AUTO, "thinking") == closed
    assert read("<think>t</think>a", AUTO, "thinking") == closed


def test_attributes_are_read_when_they_are_wanted() -> None:
    form = '<thinking thought="t" thought_type="plan" confidence="x"/>'
    assert read(form, AUTO) == [Block("thinking", "t", "plan", 0.5)]
    assert read(form, AUTO, attributes=False) == [Block("text", form)]
