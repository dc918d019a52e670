"""A thought in the field and again in the content: emitted once, however it is cut."""

from collections.abc import Sequence

import pytest

from converter.core.reading.family_choice import choose
from converter.core.reading.repeated_thought import HEAD, NOTHING_REPEATED, RepeatedThought
from converter.core.reading.thought_row import ThoughtRow

AUTO = choose(["auto"])
LONG = "I look at it. " * 20


def emitted_once(
    thought: str,
    content: Sequence[str],
    closers: tuple[str, ...] = (),
    families: Sequence[ThoughtRow] = AUTO,
) -> str:
    again = RepeatedThought(families, closers)
    again.expect(thought)
    return "".join([*map(again.feed, content), again.close()])


def test_no_family_is_no_tag() -> None:
    assert emitted_once("Hm.", ["<think>Hm.</think>So."], families=()) == "<think>Hm.</think>So."


@pytest.mark.parametrize(
    ("thought", "content", "rest"),
    [
        ("Hm.", "<think>Hm.</think>So.", "So."),
        ("\nHm.\n", "\n<think>\nHm.\n</think>\n\nSo.", "\n\nSo."),
        (LONG, f"[THINK]{LONG}[/THINK]So.", "So."),
        (LONG, f"<think>{LONG}</think>", ""),
        (LONG, f"<think>{LONG}", ""),
        ("Hm.", "<think>Another.</think>So.", "<think>Another.</think>So."),
        ("Hm.", "<think>Hm. No.</think>So.", "<think>Hm. No.</think>So."),
        ("Hm.", "<think>Hm.", "<think>Hm."),
        ("Hm.", "So <think>Hm.</think>", "So <think>Hm.</think>"),
        (LONG, "<think>" + LONG[: HEAD - 1] + "!</think>", "<think>" + LONG[: HEAD - 1] + "!</think>"),
        ("Hm.", "<thin", "<thin"),
        ("Hm.", "Hm.</think>So.", "Hm.</think>So."),
        ("", "<think></think>So.", "<think></think>So."),
    ],
)  # fmt: skip
def test_content_begins_behind_a_thought_that_the_field_has_emitted(
    thought: str, content: str, rest: str
) -> None:
    assert emitted_once(thought, [content]) == rest
    assert emitted_once(thought, list(content)) == rest
    for offset in range(len(content)):
        assert emitted_once(thought, [content[:offset], content[offset:]]) == rest


def test_a_thought_whose_opener_is_gone_ends_with_its_closer() -> None:
    for content in (["Hm.</think>So."], [*"Hm.</think>So."]):
        assert emitted_once("Hm.", content, ("</think>",)) == "So."
    assert emitted_once("Hm.", [*"So."], ("</think>",)) == "So."


def test_field_and_content_may_take_turns() -> None:
    again = RepeatedThought(AUTO, ("</think>",))
    out = []
    for piece in ("Hm", ", well", "."):
        again.expect(piece)
        out.append(again.feed(piece))
    assert "".join([*out, again.feed("</think>So.")]) == "So."
    assert again.over


def test_an_answer_does_not_wait_for_its_end() -> None:
    again = RepeatedThought(AUTO)
    again.expect("Hm.")
    assert again.needs_more
    assert again.feed("So") == "So"
    assert not again.needs_more


def test_where_no_thought_was_emitted_all_passes_and_nothing_is_kept() -> None:
    before = dict(vars(NOTHING_REPEATED))
    NOTHING_REPEATED.expect("a thought")
    assert NOTHING_REPEATED.feed("<think>a thought</think>b") == "<think>a thought</think>b"
    assert NOTHING_REPEATED.close() == ""
    assert NOTHING_REPEATED.over
    assert vars(NOTHING_REPEATED) == before
