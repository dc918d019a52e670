"""The head of a message."""

from converter.dialects.dialect import ReplyContext
from converter.model.events import Finish, Own, Start, Text
from tests.support.messages_of import HEAD, complete, written

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


def test_the_model_asked_for_stands_in_for_one_the_server_does_not_name() -> None:
    assert written([Start("", ""), STOP])[0]["message"]["model"] == "asked"


def test_a_message_has_an_id_though_the_server_gives_none() -> None:
    ids = [
        written([Start("", ""), STOP], asked=ReplyContext("asked", flow))[0]["message"]["id"]
        for flow in ("a", "b")
    ]
    assert ids == ["msg_a", "msg_b"]


def test_a_second_head_begins_no_second_message() -> None:
    assert [event["type"] for event in complete([Text("a"), HEAD, STOP])].count(
        "message_start"
    ) == 1


def test_a_servers_own_count_is_told_at_the_start_if_it_is_one_of_input() -> None:
    counts = {"input_tokens": 3, "cache_read_input_tokens": None, "output_tokens": 7}
    head = Start("msg_1", "small", Own("anthropic", {"usage": counts}))
    usage = written([head, STOP])[0]["message"]["usage"]
    assert usage == {"input_tokens": 3, "output_tokens": 0}
