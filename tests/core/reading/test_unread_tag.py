"""A tag at the head that looks like thinking and is of no family: noted, never changed."""

import pytest

from converter.core.model.events import Event, Finish, Text, Thinking
from converter.core.reading.engine.stage import ReadingStage
from converter.core.reading.family_choice import choose
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Reading
from converter.core.reading.unread_tag import Pair, tag_at_beginning

AUTO = Reading(choose(["auto"]))


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("<mythink>I add", ("<mythink>", "</mythink>")),
        ("\n <THINK>I add", ("<THINK>", "</THINK>")),
        ("[my_thoughts] I add", ("[my_thoughts]", "[/my_thoughts]")),
        ("<|begin_of_reasoning|>x", ("<|begin_of_reasoning|>", "<|end_of_reasoning|>")),
        ("<|START_REFLECTION|>x", ("<|START_REFLECTION|>", "<|END_REFLECTION|>")),
        ("<scratchpad>x", ("<scratchpad>", "</scratchpad>")),
        ("<cot>x", ("<cot>", "</cot>")),
        ("<reason>x", ("<reason>", "</reason>")),
        ("<div>why</div> 84", None),
        ("<answer>84</answer> yes", None),
        ("<analysis>a</analysis>\n<summary>b</summary>", None),
        ("<reasons><reason>a</reason></reasons>", None),
        ("<!DOCTYPE html><p>think</p>", None),
        ("<mythink is a tag", None),
        ("<think about it> he said", None),
        ("<mythink] x", None),
        ("84 <mythink>x</mythink>", None),
        ("`<mythink>` is a tag", None),
        ("< mythink>", None),
        ("", None),
    ],
)
def test_a_tag_at_the_head_that_speaks_of_thinking_is_noticed(text: str, pair: Pair | None) -> None:
    assert tag_at_beginning(text) == pair


def unread(*events: Event, reading: Reading = AUTO) -> Pair | None:
    findings = Findings()
    stage = ReadingStage(reading, 0, findings, "call_")
    emitted = [*(emitted for event in events for emitted in stage.feed(event)), *stage.close()]
    texts = [event.text for event in emitted if isinstance(event, Text)]
    assert "".join(texts) == "".join(event.text for event in events if isinstance(event, Text))
    return None if findings.has_thinking else findings.unread_tag


PAIR = ("<mythink>", "</mythink>")
WHY = "I add seven twelves, which is a long thought that needs many words to say."


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("<mythink>why</mythink>84", PAIR),
        (f"<mythink>{WHY}</mythink>\n\n84", PAIR),
        ("<mythink>why", PAIR),
        (f"<mythink>{WHY}", PAIR),
        (f"<mythink>{WHY}</mythink>\n", None),
        ("<mythink>84</mythink>", None),
        (WHY, None),
        (f"{WHY} <mythink>84</mythink> yes", None),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_it_is_reported_unless_all_of_the_text_stands_in_it(
    text: str, pair: Pair | None, size: int
) -> None:
    pieces = [Text(text[at : at + size]) for at in range(0, len(text), size)]
    assert unread(*pieces, Finish("stop")) == pair
    assert unread(*pieces) == pair


def test_nothing_is_reported_of_a_reply_with_a_thought() -> None:
    assert unread(Thinking("a"), Text("<mythink>b</mythink>c"), Finish("stop")) is None
    assert unread(Text("<mythink>b"), Thinking("a"), Text("c"), Finish("stop")) is None


def test_a_refusal_is_no_text() -> None:
    assert unread(Text("<mythink>b</mythink>c", refusal=True), Finish("stop")) is None


def test_nothing_is_reported_of_a_tag_that_is_read_and_empty() -> None:
    for tag in ("think", "think:ab"):
        findings = Findings()
        stage = ReadingStage(AUTO, 0, findings, "call_")
        stage.feed(Text(f"<{tag}>\n</{tag}>84"))
        stage.feed(Finish("stop"))
        assert (findings.has_thinking, findings.unread_tag) == (False, None)


def test_nothing_is_reported_where_no_tags_are_read() -> None:
    assert unread(Text("<mythink>b</mythink>c"), reading=Reading(())) is None
