"""What a message says at its end."""

import pytest

from converter.dialects.anthropic.message_events import Ending, counts, stop
from converter.model.events import Finish, Usage


@pytest.mark.parametrize(
    ("finish", "called", "expected"),
    [
        (Finish("stop"), False, ("end_turn", None)),
        (Finish("stop"), True, ("tool_use", None)),
        (Finish("stop", "END"), False, ("stop_sequence", "END")),
        (Finish("stop", "END"), True, ("tool_use", None)),
        (Finish("length", "END"), True, ("max_tokens", None)),
        (Finish("tool_calls"), True, ("tool_use", None)),
        (Finish("tool_calls"), False, ("end_turn", None)),
        (Finish("function_call"), True, ("tool_use", None)),
        (Finish("content_filter"), False, ("refusal", None)),
        (Finish("pause_turn"), False, ("pause_turn", None)),
        (Finish("eos"), False, ("end_turn", None)),
    ],
)
def test_reasons_to_stop(finish: Finish, called: bool, expected: tuple[str, str | None]) -> None:
    assert stop(finish, called) == expected


def test_cached_and_created_tokens_are_apart_from_the_input() -> None:
    told = counts(Usage(10, 5, cached=3, created=2), 0, 9)
    assert told == {
        "input_tokens": 5,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
        "output_tokens": 5,
    }


def test_an_input_is_never_less_than_nothing() -> None:
    assert counts(Usage(1, 5, cached=3), 0, 9)["input_tokens"] == 0


@pytest.mark.parametrize(
    ("thinking", "expected"),
    [(None, 6), (4, 4), (40, 8)],
    ids=["estimated by characters", "the server's count", "never more than the output"],
)
def test_thinking_tokens(thinking: int | None, expected: int) -> None:
    told = counts(Usage(1, 8, thinking=thinking), 75, 25)
    assert told["output_tokens_details"] == {"thinking_tokens": expected}


def test_an_ending_tells_what_was_counted_and_why_it_stopped() -> None:
    ending = Ending(Finish("length"), Usage(1, 8))
    assert ending.delta(called=False, thought=3, text=1) == {
        "type": "message_delta",
        "delta": {"stop_reason": "max_tokens", "stop_sequence": None},
        "usage": {
            "input_tokens": 1,
            "output_tokens": 8,
            "output_tokens_details": {"thinking_tokens": 6},
        },
    }
