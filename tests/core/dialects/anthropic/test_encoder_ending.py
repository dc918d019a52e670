"""The end of a message."""

import pytest

from converter.core.dialects.anthropic.encoder import stop_fields, usage_json
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import End, Event, Finish, Own, Start, Text, Thinking, Usage
from tests.support.messages_of import HEAD, complete, written


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
    ],
)
def test_reasons_to_stop(finish: Finish, called: bool, expected: tuple[str, str | None]) -> None:
    assert stop_fields(finish, called) == expected


def test_cached_and_created_tokens_are_apart_from_the_input() -> None:
    reported = usage_json(Usage(10, 5, cached=3, created=2), 0, 9)
    assert reported == {
        "input_tokens": 5,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
        "output_tokens": 5,
    }


def test_an_input_is_never_less_than_nothing() -> None:
    assert usage_json(Usage(1, 5, cached=3), 0, 9)["input_tokens"] == 0


@pytest.mark.parametrize(
    ("thinking", "expected"),
    [(None, 6), (4, 4), (40, 8)],
    ids=["estimated by characters", "the server's count", "never more than the output"],
)
def test_thinking_tokens(thinking: int | None, expected: int) -> None:
    reported = usage_json(Usage(1, 8, thinking=thinking), 75, 25)
    assert reported["output_tokens_details"] == {"thinking_tokens": expected}


def test_an_ending_tells_what_was_counted_and_why_it_stopped() -> None:
    events: list[Event] = [Thinking("abc"), Text("d"), Finish("length"), Usage(1, 8), End()]
    assert complete(events)[-2] == {
        "type": "message_delta",
        "delta": {"stop_reason": "max_tokens", "stop_sequence": None},
        "usage": {
            "input_tokens": 1,
            "output_tokens": 8,
            "output_tokens_details": {"thinking_tokens": 6},
        },
    }


STOP = Finish("stop")


def test_the_start_has_all_that_a_message_has() -> None:
    assert complete([STOP])[0]["message"] == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "asked",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def test_the_model_requested_stands_in_for_one_the_server_does_not_name() -> None:
    assert written([Start("", ""), STOP])[0]["message"]["model"] == "asked"


def test_a_message_has_an_id_though_the_server_gives_none() -> None:
    ids = [
        written([Start("", ""), STOP], context=ReplyContext("asked", flow))[0]["message"]["id"]
        for flow in ("a", "b")
    ]
    assert ids == ["msg_a", "msg_b"]


def test_a_second_head_begins_no_second_message() -> None:
    assert [event["type"] for event in complete([Text("a"), HEAD, STOP])].count(
        "message_start"
    ) == 1


def test_a_servers_own_count_is_sent_at_the_start_if_it_is_one_of_input() -> None:
    counts = {"input_tokens": 3, "cache_read_input_tokens": None, "output_tokens": 7}
    head = Start("msg_1", "small", Own("anthropic", {"usage": counts}))
    usage = written([head, STOP])[0]["message"]["usage"]
    assert usage == {"input_tokens": 3, "output_tokens": 0}
