"""Whether a reply is whole, whatever its dialect."""

from collections.abc import Sequence

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.table import ANTHROPIC, Dialect, Form
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    Opaque,
    OpaqueFrame,
    Own,
    Start,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from converter.core.reading.reading import Expected
from converter.core.reading.thought_ender import ThoughtLimits
from converter.core.reply.reply_end import BAD_GATEWAY, CUT_SHORT, EMPTY, ReplyEnd, SecondReply
from converter.core.reply.rewriter import Rewriter
from converter.core.reply.thought_events import ThoughtEvent
from converter.core.wire.bounds import FRAME_LIMIT
from tests.support.clients import Said, read_anthropic_stream, read_openai_stream
from tests.support.frames import DONE, ROLE, stream, text
from tests.support.frames_of import OPENAI

SAYS: tuple[Event, ...] = (Text("a"), Thinking("a"), ToolCall(0, "a", "f", "{}"))
END = End(Own("x", raw=b"data: [END]\n\n"))
STOP = Finish("stop")


def _judged(*events: Event) -> tuple[list[Event], str]:
    end = ReplyEnd("poem")
    out: list[Event] = [*end.feed(events), *end.close()]
    failures = [event for event in out if isinstance(event, Failure)]
    assert end.failure == (failures[0] if failures else None)
    assert end.close() == []
    return out, failures[0].message if failures else ""


@pytest.mark.parametrize("says", SAYS, ids=lambda event: type(event).__name__)
def test_what_was_said_needs_a_finish(says: Event) -> None:
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
def test_nothing_said_is_an_empty_reply(events: Sequence[Event]) -> None:
    assert _judged(*events)[1] == EMPTY


def test_a_head_alone_is_a_reply_cut_short() -> None:
    assert _judged(Start("a", "b"))[1] == CUT_SHORT


def test_what_is_no_reply_at_all_is_quoted() -> None:
    page = OpaqueFrame(Own("x", raw=b"<html><h1>Bad\nGateway</h1>"), lost=True)
    assert _judged(page)[1] == "the server's reply is no poem: Bad Gateway"
    unknown = OpaqueFrame(Own("x", raw=b'{"a": 1}'))
    assert _judged(unknown)[1] == 'the server\'s reply is no poem: {"a":1}'


def test_a_frame_that_is_lost_is_the_last_word() -> None:
    lost = OpaqueFrame(Own("x", raw=b"data: {cut " + b"x" * 999 + b"\n\n"), lost=True)
    out, words = _judged(Text("a"), lost, Text("b"), STOP, END)
    assert words.startswith("the server sent a frame that cannot be read: data: {cut xxx")
    assert len(words) < 300
    assert out == [Text("a"), Failure(words, status=BAD_GATEWAY), END]


def test_a_frame_that_is_too_long_to_be_read_is_named_so() -> None:
    piece = OpaqueFrame(Own("x", raw=b"data: " + b"x" * FRAME_LIMIT), lost=True)
    words = "the server sent a frame of more than 4 megabytes"
    assert _judged(Text("a"), piece, piece, STOP, END)[1] == words


@pytest.mark.parametrize("raw", [b'data: {"a', b'event: message_stop\ndata: {"a'])
def test_a_last_frame_without_its_end_is_a_reply_cut_short(raw: bytes) -> None:
    assert _judged(Text("a"), OpaqueFrame(Own("x", raw=raw), lost=True))[1] == CUT_SHORT


def test_a_last_frame_without_its_end_is_not_missed_behind_the_finish() -> None:
    usage = OpaqueFrame(Own("x", raw=b'data: {"us'), lost=True)
    assert _judged(Text("a"), STOP, usage) == ([Text("a"), STOP], "")


def test_behind_the_servers_own_error_comes_nothing_but_its_end() -> None:
    failed = Failure("gone", status=500)
    assert _judged(Text("a"), failed, Text("b"), failed, STOP, END)[0] == [Text("a"), failed, END]


def test_a_reply_that_broke_off_says_so_once() -> None:
    end = ReplyEnd("poem")
    assert end.broke_off("gone") == [Failure("gone", status=BAD_GATEWAY)]
    assert end.broke_off("gone again") == end.close() == []


def test_what_nobody_read_is_not_judged() -> None:
    end = ReplyEnd("poem")
    end.feed([Text("a")])
    end.give_up()
    assert end.close() == []


def test_a_frame_keeps_its_bytes_until_there_is_an_error_that_clients_do_not_know() -> None:
    end = ReplyEnd("poem")
    assert end.keeps([Text("a")])
    known, unknown = Failure("gone", own=Own("x", raw=b"data")), Failure("gone")
    end.feed([known])
    assert end.keeps([known])
    assert end.keeps([END])
    assert not end.keeps([])
    assert not end.keeps([unknown])


# Two replies as one: what the second leaves out, and what both count.


ENOUGH = "Enough."
GOES_ON = ThoughtLimits(2, goes_on=True, sentence=ENOUGH)
FIRST = [ROLE, *text("<think>", "abcdefghij")]
SECOND = stream("The answer")


def test_the_second_head_is_left_out_and_all_else_goes_on() -> None:
    second = SecondReply(None, 3)
    said: list[Event] = [Start("b", "small"), Opaque("openai", {"role": "assistant"}, {})]
    assert second.feed(said) == []
    assert second.begun
    rest: list[Event] = [Text("x"), Finish("stop")]
    assert second.feed(rest) == rest


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        (None, Usage(10, 9, cached=10)),
        (Usage(12, 5), Usage(12, 9, cached=12)),
    ],
)
def test_what_the_first_made_is_output_and_no_prompt(first: Usage | None, wanted: Usage) -> None:
    assert SecondReply(first, 5).feed([Usage(15, 4, cached=14)]) == [wanted]


def test_no_prompt_is_shorter_than_nothing() -> None:
    assert SecondReply(None, 50).feed([Usage(15, 4)]) == [Usage(0, 19)]


def rewriter(client: Dialect, limits: ThoughtLimits = GOES_ON) -> Rewriter:
    made = settings.read({"loops": "off"})
    expected = Expected(limits=limits)
    return rewriter_of(made, client, Form.STREAM, Form.STREAM, expected=expected)


def read(client: Dialect, body: bytes) -> Said:
    return read_openai_stream(body) if client is OPENAI else read_anthropic_stream(body)


def joined(
    client: Dialect, *chunks: bytes, limits: ThoughtLimits = GOES_ON
) -> tuple[Said, Rewriter]:
    through = rewriter(client, limits)
    out = [piece for chunk in chunks for piece in through.feed(chunk)] + through.close()
    return read(client, b"".join(out)), through


THOUGHT = f"abcdefgh\n\n{ENOUGH}"
CLIENTS = pytest.mark.parametrize("client", [OPENAI, ANTHROPIC])


@CLIENTS
def test_one_reply_goes_on_in_another(client: Dialect) -> None:
    said, through = joined(client, *FIRST, *SECOND)
    assert (said.thinking, said.text) == (THOUGHT, "The answer")
    assert said.stop in ("stop", "end_turn")
    assert through.goes_on
    assert through.failure == ""


@CLIENTS
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_cut_anywhere_it_is_the_same_reply(client: Dialect, size: int) -> None:
    body = b"".join([*FIRST, *SECOND])
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    assert joined(client, *chunks)[0] == joined(client, *FIRST, *SECOND)[0]


@CLIENTS
def test_a_second_end_is_final(client: Dialect) -> None:
    said, through = joined(client, *FIRST, *FIRST, *text("never"), *SECOND)
    assert said.thinking.count(ENOUGH) == 2
    assert (said.text, said.stop in ("length", "max_tokens")) == ("", True)
    assert through.is_over


@CLIENTS
def test_a_reply_that_cannot_go_on_is_cut(client: Dialect) -> None:
    said, _ = joined(client, *FIRST, *text("never"), *SECOND, limits=ThoughtLimits(2))
    assert (said.thinking, said.text) == ("abcdefgh", "")
    assert said.stop in ("length", "max_tokens")


@CLIENTS
def test_a_reply_that_the_server_refuses_to_go_on_is_cut(client: Dialect) -> None:
    through = rewriter(client)
    out = [piece for chunk in FIRST for piece in through.feed(chunk)]
    through.refuse("no")
    said = read(client, b"".join(out + through.close()))
    assert said.stop in ("length", "max_tokens")
    assert (through.failure, "no" in through.notes) == ("", True)


def test_without_a_second_reply_it_is_cut_short() -> None:
    through = rewriter(OPENAI)
    for chunk in FIRST:
        through.feed(chunk)
    assert b"cut short" in b"".join(through.close())


def test_the_thought_that_was_ended_is_told() -> None:
    expected = Expected(limits=GOES_ON, task="task")
    through = rewriter_of(settings.read(), OPENAI, Form.STREAM, Form.STREAM, expected=expected)
    told = [thought for chunk in (*FIRST, *SECOND) for thought in _heard(through, chunk)]
    assert [thought["thought"] for thought in told] == [THOUGHT]


def _heard(through: Rewriter, chunk: bytes) -> list[ThoughtEvent]:
    through.feed(chunk)
    return through.thoughts


def test_who_asks_for_the_second_reply_gets_the_rest_of_the_first_back() -> None:
    through = rewriter(OPENAI)
    through.pauses = True
    rest = b"".join(text("more", "yet"))[:-5]
    out = through.feed(b"".join(FIRST) + rest)
    assert through.stopped
    assert through.unused == len(rest)
    out += [piece for chunk in SECOND for piece in through.feed(chunk)] + through.close()
    assert read(OPENAI, b"".join(out)).text == "The answer"


def test_a_break_in_the_second_reply_is_a_failure() -> None:
    through = rewriter(OPENAI)
    for chunk in (*FIRST, *SECOND[:2]):
        through.feed(chunk)
    assert b"gone" in b"".join(through.abort("gone"))


def test_one_head_and_one_count() -> None:
    through = rewriter(OPENAI)
    again = [part.replace(b"chatcmpl-1", b"chatcmpl-2") for part in SECOND]
    body = b"".join(piece for chunk in (*FIRST, *again) for piece in through.feed(chunk))
    assert b"chatcmpl-2" not in body
    assert body.count(b'"usage"') == 1
    assert body.count(DONE) == 1
