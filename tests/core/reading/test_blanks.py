"""Blanks that touch a mark are left out, and no others."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import Event, Finish, Text, Thinking, ThinkingEnd, ToolCall
from converter.core.reading.blanks import BlanksTrimmer
from converter.core.wire.bounds import BLANKS_LIMIT

THOUGHT: list[Event] = [Thinking("why"), ThinkingEnd()]
STOP, CALL = Finish("stop"), ToolCall(0, "1", "f", "{}")


def trimmed(events: Sequence[Event]) -> list[Event]:
    """Return the output, texts in a row joined."""
    stage = BlanksTrimmer()
    out = [emitted for event in events for emitted in stage.feed(event)] + stage.close()
    joined: list[Event] = []
    for event in out:
        last = joined[-1] if joined else None
        if isinstance(event, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + event.text)
        elif not (isinstance(event, Text) and not event.text):
            joined.append(event)
    return joined


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        ([*THOUGHT, Text("\n\n84"), STOP], [*THOUGHT, Text("84"), STOP]),
        ([*THOUGHT, Text(" 84"), STOP], [*THOUGHT, Text("84"), STOP]),
        ([Text(" \n"), *THOUGHT, Text("84")], [*THOUGHT, Text("84")]),
        ([Text("First.\n\n"), *THOUGHT, Text("84")], [Text("First."), *THOUGHT, Text("84")]),
        ([Text("a\n\nb \n"), STOP], [Text("a\n\nb \n"), STOP]),
        ([Text("\n\n84"), STOP], [Text("84"), STOP]),
        ([Text("\n\n  84"), STOP], [Text("  84"), STOP]),
        ([Text("\n\n"), STOP], [STOP]),
        ([*THOUGHT, Text("\n\n    code\n")], [*THOUGHT, Text("    code\n")]),
        ([*THOUGHT, Text("\n\n"), STOP], [*THOUGHT, STOP]),
        ([*THOUGHT, Text("\n\n"), CALL, STOP], [*THOUGHT, CALL, STOP]),
        ([*THOUGHT, Text("a\n"), CALL, STOP], [*THOUGHT, Text("a\n"), CALL, STOP]),
        ([*THOUGHT, Text("\n"), *THOUGHT, Text("\nb")], [*THOUGHT, *THOUGHT, Text("b")]),
        ([Thinking("why"), Text("\n84")], [Thinking("why"), Text("84")]),
        ([Text("a "), Thinking("  "), Text("b")], [Text("a"), Thinking("  "), Text("b")]),
    ],
)
def test_blanks_at_a_mark_are_left_out_and_no_others(sent: list[Event], left: list[Event]) -> None:
    assert trimmed(sent) == left
    cut = [
        piece
        for event in sent
        for piece in (
            [Text(letter) for letter in event.text] if isinstance(event, Text) else [event]
        )
    ]
    assert trimmed(cut) == left


@given(st.lists(st.text(" \n\tab", max_size=5)))
def test_without_a_thought_nothing_but_blanks_at_the_head_goes(texts: list[str]) -> None:
    kept = trimmed([Text(text) for text in texts])
    left, whole = "".join(event.text for event in kept if isinstance(event, Text)), "".join(texts)
    assert whole.endswith(left)
    assert not whole.removesuffix(left).strip()
    assert not left.startswith("\n")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x" * BLANKS_LIMIT + "a\n\n", "x" * BLANKS_LIMIT + "a"),
        ("a" + "\n" * (BLANKS_LIMIT + 3), "a\n\n\n"),
        ("\n" * (BLANKS_LIMIT + 3) + "a\n", "a"),
    ],
)
def test_long_texts_lose_the_same_blanks_however_they_are_cut(text: str, left: str) -> None:
    for size in (1, 1000, len(text)):
        cut = [Text(text[at : at + size]) for at in range(0, len(text), size)]
        assert trimmed([*cut, *THOUGHT]) == [Text(left), *THOUGHT]


def test_what_is_held_has_a_limit() -> None:
    stage = BlanksTrimmer()
    stage.feed(Text("a"))
    assert [emitted for _ in range(BLANKS_LIMIT) for emitted in stage.feed(Text(" "))] == []
    assert stage.feed(Text(" \t")) == [Text("  ")]
    assert stage.close() == [Text(" " * (BLANKS_LIMIT - 1) + "\t")]


def test_plain_text_is_that_of_a_thought_that_has_begun() -> None:
    stage = BlanksTrimmer()
    stage.feed(Text("a"))
    assert (stage.plain(Text), stage.plain(Thinking)) == (None, None)
    stage.feed(Thinking("why"))
    assert (stage.plain(Text), stage.plain(Thinking)) == (None, (Thinking, ""))
