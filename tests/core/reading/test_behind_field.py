"""Marks that a server leaves in the content behind a thought in a field of its own."""

import pytest

from converter.core.reading.behind_field import BehindField
from converter.core.reading.tag_matcher import choose, for_model, joined

FOR_ALL = choose(["auto"])
HUNYUAN = joined(FOR_ALL, for_model("hunyuan-a13b"))
GRANITE = joined(FOR_ALL, for_model("granite-3.3"))


def read(text: str, families: object = FOR_ALL) -> str:
    """What is left, whole and cut at every place."""
    results = []
    for place in range(len(text) + 1):
        behind = BehindField(families)  # type: ignore[arg-type]
        results.append(behind.feed(text[:place]) + behind.feed(text[place:]) + behind.close())
    behind = BehindField(families)  # type: ignore[arg-type]
    results.append("".join(map(behind.feed, text)) + behind.close())
    assert len(set(results)) == 1
    return results[0]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("</think>\n\nHello.", "\n\nHello."),
        ("\n</think></think> Hello.", "\n Hello."),
        ("[/THINK]Hello </think>.", "Hello </think>."),
        ("Hello </think>.", "Hello </think>."),
        ("</thinker> is no tag", "</thinker> is no tag"),
        ("</thin", "</thin"),
        ("It is 42.\n</answer>", "It is 42.\n</answer>"),
        ("", ""),
    ],
)
def test_a_closer_at_the_head_goes(text: str, left: str) -> None:
    assert read(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<answer>It is 42.</answer>", "It is 42."),
        ("</think>\n<answer>\nIt is 42.\n</answer>\n", "\n\nIt is 42.\n\n"),
        ("It is 42.\n</answer>", "It is 42.\n"),
        ("Say </answer> then.", "Say </answer> then."),
        ("Half </answ", "Half </answ"),
    ],
)
def test_the_tags_of_an_answer_go(text: str, left: str) -> None:
    assert read(text, HUNYUAN) == left
    renamed = (it.replace("answer>", "response>").replace("answ", "resp") for it in (text, left))
    given, wanted = renamed
    assert read(given, GRANITE) == wanted.replace("respresponse", "response")


def test_behind_another_thought_there_is_a_head_again() -> None:
    behind = BehindField(FOR_ALL)
    assert behind.feed("So.") == "So."
    assert (behind.wakes, behind.begun) == ("", False)
    assert behind.begin() == ""
    assert (behind.wakes, behind.begun) == (None, True)
    assert behind.feed("</think>Well.") == "Well."
