"""Calls that repeat the draft which ended their thought."""

import pytest

from converter.model.events import Event, Finish, Text, ToolCall
from converter.parsing.tool_calls.repeats import Repeats

OSLO, OSAKA = '{"city": "Oslo"}', '{"city": "Osaka"}'


def call(index: int, arguments: str, name: str = "weather") -> list[ToolCall]:
    """A call in pieces of some characters."""
    pieces = [arguments[at : at + 4] for at in range(0, len(arguments), 4)]
    return [
        ToolCall(index, f"c{index}" if not at else "", name if not at else "", piece)
        for at, piece in enumerate(pieces)
    ]


def behind(drafts: list[list[ToolCall]], *events: Event) -> tuple[list[Event], list[int]]:
    """What comes of events behind a thought that was closed behind these calls."""
    repeats = Repeats()
    repeats.closed(drafts)
    out = [made for event in events for made in repeats.feed([event])]
    return [*out, *repeats.close()], repeats.dropped


def test_a_call_that_is_the_draft_goes() -> None:
    assert behind([call(0, OSLO)], *call(1, OSLO), Text("so")) == ([Text("so")], [1])


@pytest.mark.parametrize(
    "other", [call(1, OSAKA), call(1, OSLO, "time"), call(1, '{"city": "Oslo", "days": 3}')]
)
def test_another_call_passes_as_it_came(other: list[ToolCall]) -> None:
    assert behind([call(0, OSLO)], *other) == (other, [])


def test_another_call_waits_no_longer_than_it_is_the_same() -> None:
    repeats = Repeats()
    repeats.closed([call(0, OSLO)])
    held = [repeats.feed([piece]) for piece in call(1, OSAKA)]
    assert [len(out) for out in held] == [0, 0, 0, 4, 1]
    assert not repeats.holds


def test_without_a_late_closer_nothing_waits() -> None:
    repeats = Repeats()
    piece = ToolCall(1, "c", "weather", "{")
    assert repeats.feed([piece]) == [piece]
    assert not repeats.holds


def test_calls_behind_one_that_went_take_its_number() -> None:
    out, dropped = behind([call(0, OSLO)], *call(1, OSLO), *call(2, OSAKA))
    assert {event.index for event in out if isinstance(event, ToolCall)} == {1}
    assert dropped == [1]


def test_each_draft_is_repeated_once() -> None:
    out, dropped = behind([call(0, OSLO)], *call(1, OSLO), *call(2, OSLO))
    assert (len(out), dropped) == (4, [1])


def test_what_is_cut_off_is_no_repetition() -> None:
    cut = call(1, OSLO)[:2]
    assert behind([call(0, OSLO)], *cut, Finish("length")) == ([*cut, Finish("length")], [])
    assert behind([cut], *call(1, OSLO)) == (call(1, OSLO), [])
