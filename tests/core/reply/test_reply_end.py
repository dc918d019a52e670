"""The end of a reply: whole or not, in any dialect."""

from collections.abc import Sequence

import pytest

from converter.core.dialects.table import OPENAI_CHAT
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    OpaqueFrame,
    Own,
    Start,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from converter.core.reply.reply_end import BAD_GATEWAY, CUT_SHORT, EMPTY, ReplyEnd
from converter.core.wire.bounds import FRAME_LIMIT

SAYS: tuple[Event, ...] = (Text("a"), Thinking("a"), ToolCall(0, "a", "f", "{}"))
END = End(Own("x", raw=b"data: [END]\n\n"))
STOP = Finish("stop")


def _judged(*events: Event) -> tuple[list[Event], str]:
    end = ReplyEnd(OPENAI_CHAT)
    out: list[Event] = [*end.feed(events), *end.close()]
    failures = [event for event in out if isinstance(event, Failure)]
    assert end.failure == (failures[0] if failures else None)
    assert end.close() == []
    return out, failures[0].message if failures else ""


@pytest.mark.parametrize("says", SAYS, ids=lambda event: type(event).__name__)
def test_what_was_sent_needs_a_finish(says: Event) -> None:
    assert _judged(says, STOP, Usage(1, 1)) == ([says, STOP, Usage(1, 1)], "")
    assert _judged(says) == ([says, Failure(CUT_SHORT, status=BAD_GATEWAY)], CUT_SHORT)


def test_the_end_of_a_stream_is_no_finish() -> None:
    failed = Failure(CUT_SHORT, status=BAD_GATEWAY)
    assert _judged(Text("a"), END)[0] == [Text("a"), failed, END]
    assert _judged(Text("a"), STOP, END)[0] == [Text("a"), STOP, END]


def test_a_whole_body_is_complete_by_itself() -> None:
    assert _judged(Text("a"), End()) == ([Text("a"), End()], "")


def test_every_choice_needs_its_finish() -> None:
    other = Text("b", choice=1)
    assert _judged(Text("a"), other, STOP)[1] == CUT_SHORT
    assert _judged(Text("a"), other, STOP, Finish("stop", choice=1))[1] == ""


def test_a_finish_without_a_word_is_a_whole_reply() -> None:
    assert _judged(Start("a", "b"), STOP)[1] == ""


@pytest.mark.parametrize(
    "events", [[], [OpaqueFrame(Own("x", raw=b": ping"), comment=True)], [END]]
)
def test_nothing_sent_is_an_empty_reply(events: Sequence[Event]) -> None:
    assert _judged(*events)[1] == EMPTY


def test_a_head_alone_is_a_reply_cut_short() -> None:
    assert _judged(Start("a", "b"))[1] == CUT_SHORT


def test_what_is_no_reply_at_all_is_quoted() -> None:
    page = OpaqueFrame(Own("x", raw=b"<html><h1>Bad\nGateway</h1>"), lost=True)
    assert _judged(page)[1] == "the server's reply is no chat completion: Bad Gateway"
    unknown = OpaqueFrame(Own("x", raw=b'{"a": 1}'))
    assert _judged(unknown)[1] == 'the server\'s reply is no chat completion: {"a":1}'


def test_a_frame_that_is_lost_is_the_last_word() -> None:
    lost = OpaqueFrame(Own("x", raw=b"data: {cut " + b"x" * 999 + b"\n\n"), lost=True)
    out, message = _judged(Text("a"), lost, Text("b"), STOP, END)
    assert message.startswith("the server sent a frame that cannot be read: data: {cut xxx")
    assert len(message) < 300
    assert out == [Text("a"), Failure(message, status=BAD_GATEWAY), END]


def test_a_frame_that_is_too_long_to_be_read_is_named_so() -> None:
    piece = OpaqueFrame(Own("x", raw=b"data: " + b"x" * FRAME_LIMIT), lost=True)
    text = "the server sent a frame of more than 4 megabytes"
    assert _judged(Text("a"), piece, piece, STOP, END)[1] == text


@pytest.mark.parametrize("raw", [b'data: {"a', b'event: message_stop\ndata: {"a'])
def test_a_last_frame_without_its_end_is_a_reply_cut_short(raw: bytes) -> None:
    assert _judged(Text("a"), OpaqueFrame(Own("x", raw=raw), lost=True))[1] == CUT_SHORT


def test_a_last_frame_without_its_end_is_not_missed_behind_the_finish() -> None:
    usage = OpaqueFrame(Own("x", raw=b'data: {"us'), lost=True)
    assert _judged(Text("a"), STOP, usage) == ([Text("a"), STOP], "")


def test_behind_the_servers_own_error_comes_nothing_but_its_end() -> None:
    failed = Failure("gone", status=500)
    assert _judged(Text("a"), failed, Text("b"), failed, STOP, END)[0] == [Text("a"), failed, END]


@pytest.mark.parametrize("says", SAYS)
def test_text_of_a_frame_behind_an_error_does_not_go_on(says: Event) -> None:
    end = ReplyEnd(OPENAI_CHAT)
    end.feed([Failure("gone")])
    assert [*end.feed([says])] == []


def test_a_reply_that_broke_off_says_so_once() -> None:
    end = ReplyEnd(OPENAI_CHAT)
    assert end.broke_off("gone") == [Failure("gone", status=BAD_GATEWAY)]
    assert end.broke_off("gone again") == end.close() == []


def test_what_nobody_read_is_not_judged() -> None:
    end = ReplyEnd(OPENAI_CHAT)
    end.feed([Text("a")])
    end.give_up()
    assert end.close() == []


def test_a_frame_keeps_its_bytes_until_there_is_an_error_that_clients_do_not_know() -> None:
    end = ReplyEnd(OPENAI_CHAT)
    assert end.keeps([Text("a")])
    with_bytes, unknown = Failure("gone", own=Own("x", raw=b"data")), Failure("gone")
    end.feed([with_bytes])
    assert end.keeps([with_bytes])
    assert end.keeps([END])
    assert not end.keeps([])
    assert not end.keeps([unknown])
