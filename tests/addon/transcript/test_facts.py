"""How a reply ended, in words."""

from typing import Any

import pytest

from converter.addon.transcript.facts import lines, together


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({}, []),
        ({"model": "small", "finish": "stop"}, [("model", "small"), ("stop", "stop")]),
        ({"finish": "stop", "stop_sequence": "END"}, [("stop", "stop, at END")]),
        ({"input_tokens": 1200, "output_tokens": 5}, [("tokens", "1,200 in, 5 out")]),
        (
            {"input_tokens": 12, "cached_tokens": 4, "output_tokens": 5, "thinking_tokens": 3},
            [("tokens", "12 in (4 cached), 5 out (3 thinking)")],
        ),
        ({"thoughts": 2, "thinking": 1240}, [("thoughts", "2, 1,240 characters")]),
        ({"thoughts": 0, "thinking": 0, "text": 4, "calls": 1}, []),
        (
            {"first_byte": 0.1, "first_thought": 0.2, "end": 4},
            [("times", "first byte 0.10 s, thought 0.20 s, end 4.00 s")],
        ),
        ({"thinking_time": 3.14}, [("thinking time", "3.1 s")]),
        ({"thinking_time": 0.001}, []),
        ({"output_tokens": 45, "first_byte": 1.0, "end": 2.5}, None),
        (
            {"model": "m", "broke_off": "gone", "thoughts": 0},
            [("model", "m"), ("broke off", "gone")],
        ),
        (
            {"server": "llama.cpp", "odd_name": True, "gone": None},
            [("server", "llama.cpp"), ("odd name", "true")],
        ),
        ({"output_tokens": "many", "thoughts": None, "first_byte": []}, []),
    ],
)
def test_a_line_for_each_thing_known(
    facts: dict[str, Any], told: list[tuple[str, str]] | None
) -> None:
    assert lines(facts) == (
        told
        if told is not None
        else [
            ("tokens", "45 out"),
            ("times", "first byte 1.00 s, end 2.50 s"),
            ("speed", "30.0 tokens per second"),
        ]
    )


def test_what_came_at_once_has_no_speed() -> None:
    assert "speed" not in dict(lines({"output_tokens": 45, "first_byte": 1.0, "end": 1.001}))


def test_of_what_is_known_from_elsewhere_count_times_and_what_the_reply_does_not_tell() -> None:
    own, more = {"finish": "end_turn", "end": 1.0}, {"finish": "stop", "end": 2.0, "thoughts": 1}
    assert together(own, more) == {"finish": "end_turn", "end": 2.0, "thoughts": 1}
    assert together(own, None) == own


def test_tokens_that_nobody_counted_are_not_told_as_none() -> None:
    assert "tokens" not in dict(lines({"input_tokens": 0, "output_tokens": 0}))
