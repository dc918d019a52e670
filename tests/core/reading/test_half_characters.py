"""Characters that were cut in two."""

from itertools import batched

import pytest

from converter.core.model.events import Event, Finish, Own, Text, Thinking, ToolCall
from converter.core.reading.half_characters import HalfCharacters

EMOJI = "\U0001f600"
HIGH, LOW = "\ud83d", "\ude00"


def emitted(*events: Event) -> list[Event]:
    stage = HalfCharacters()
    return [*[out for event in events for out in stage.feed(event)], *stage.close()]


def text_of(events: list[Event]) -> str:
    return "".join(
        event.arguments if isinstance(event, ToolCall) else event.text
        for event in events
        if isinstance(event, Text | Thinking | ToolCall)
    )


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("kind", [Text, Thinking, lambda text: ToolCall(0, "", "", text)])
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (f"a{HIGH}{LOW}b", f"a{EMOJI}b"),
        (f"a{HIGH}b", "a\ufffdb"),
        (f"a{LOW}b", "a\ufffdb"),
        (f"{LOW}{HIGH}", "\ufffd\ufffd"),
        (f"{HIGH}{HIGH}{LOW}", f"\ufffd{EMOJI}"),
        (f"ä{EMOJI}", f"ä{EMOJI}"),
    ],
)
def test_text_has_whole_characters(
    kind: type[Text], written: str, expected: str, size: int
) -> None:
    pieces = ["".join(piece) for piece in batched(written, size)]
    assert text_of(emitted(*map(kind, pieces))) == expected


def test_a_half_does_not_wait_for_other_text() -> None:
    assert emitted(Text(HIGH), Thinking(LOW), Finish("stop")) == [
        Text("\ufffd"),
        Thinking("\ufffd"),
        Finish("stop"),
    ]
    assert emitted(Text(f"a{HIGH}"), Finish("stop")) == [Text("a"), Text("\ufffd"), Finish("stop")]


def test_the_servers_own_field_has_the_same_text() -> None:
    own = Own("openai", {"reasoning": f"a{LOW}"})
    [thought] = emitted(Thinking(f"a{LOW}", own=own))
    assert thought == Thinking("a\ufffd", own=Own("openai", {"reasoning": "a\ufffd"}))


def test_whole_characters_pass_as_the_same_events() -> None:
    events: list[Event] = [Text(f"a{EMOJI}"), ToolCall(0, "a", "f", "{}"), Finish("stop")]
    assert emitted(*events) == events
    stage = HalfCharacters()
    assert stage.plain(Text) == (Text, "")
    stage.feed(Text(HIGH))
    assert stage.plain(Text) is None
