"""A call in a thought that is not closed: what waits, and what becomes of it."""

from collections.abc import Sequence

import pytest

from converter.core.model.events import Event, Text, Thinking, ToolCall, joined
from converter.core.reading.engine.draft import Draft
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.engine.outcome import CallLog, OpenThought
from converter.core.reading.tag_matcher import choose
from converter.core.reading.tool_calls.reading import Expectations
from converter.core.wire.bounds import GUESS_LIMIT, HELD_LIMIT

NOW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
LONG = "word " * (GUESS_LIMIT // 5 + 1)


def _engine() -> Engine:
    grammar = mark_table(choose(["auto"]), offered=True, reads_calls=True)
    return Engine(grammar, asked=Expectations({"now": {}}))


def _said(events: Sequence[Event]) -> list[str]:
    """The words, a thought in parentheses, and the names of calls."""
    said = []
    for event in joined(list(events)):
        if isinstance(event, Thinking):
            said.append(f"({event.text})")
        elif isinstance(event, Text):
            said.append(event.text)
        elif isinstance(event, ToolCall):
            said.append(event.name)
    return said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"<think>I look. {NOW}", ["(I look. )", "now"]),
        (f"<think>I look.\n{NOW}\n</think>b", ["(I look.)", "now", "b"]),
        (f"<think>I look.\n{NOW}\n{NOW}</think>", ["(I look.)", "now", "now"]),
        (f"<think>a\n{NOW}\nno</think>b", [f"(a\n{NOW}\nno)", "b"]),
        (f"<think>a\n{NOW}\nno</think>{NOW}", [f"(a\n{NOW}\nno)", "now"]),
        (f"<think>a\n{NOW}\n{LONG}", [f"(a\n{NOW}\n{LONG})"]),
        (f"<think>a\n{NOW}\nb", ["(a)", "now", "b"]),
    ],
)
def test_a_call_waits_for_what_comes_behind_it(text: str, said: list[str]) -> None:
    for pieces in ([text], list(text)):
        engine = _engine()
        out = [event for piece in pieces for event in engine.feed(piece)]
        assert _said([*out, *engine.flush("stop")]) == said


def test_nothing_of_it_goes_out_before() -> None:
    engine = _engine()
    assert _said(engine.feed(f"<think>I look.\n{NOW}")) == ["(I look.)"]
    assert engine.holds
    assert engine.plain() is None
    assert _said(engine.feed("</think>b")) == ["now", "b"]
    assert not engine.holds


def test_a_draft_that_was_none_leaves_no_call_behind() -> None:
    engine = _engine()
    out = [*engine.feed(f"<think>a\n{NOW}\nno</think>{NOW}"), *engine.flush("stop")]
    assert [event.id for event in out if isinstance(event, ToolCall)] == ["call_0"]
    assert len(engine.calls.read) == 1


def test_what_waits_is_bounded() -> None:
    draft = Draft.begin(OpenThought(0, guessed=False), CallLog(Expectations({})), [], "a")
    assert not draft.is_long
    draft.feed("b" * HELD_LIMIT)
    assert draft.is_long
    assert draft.told(left=HELD_LIMIT) == "a"
