"""Two replies as one: what the second leaves out, and what both count."""

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.table import ANTHROPIC, Dialect, Form
from converter.core.model.events import Event, Finish, Opaque, Start, Text, Thinking, Usage
from converter.core.reading.reading import Expected, ExpectedThoughts, ThoughtLimits
from converter.core.reply.continuation import SecondReply
from converter.core.reply.rewriter import Rewriter
from converter.core.reply.thought_events import ThoughtEvent
from tests.support.clients import View, read_anthropic_stream, read_openai_stream
from tests.support.frames import DONE, ROLE, stream, text
from tests.support.frames_of import OPENAI

ENOUGH = "Enough."
GOES_ON = ThoughtLimits(2, goes_on=True, sentence=ENOUGH)
FIRST = [ROLE, *text("<think>", "abcdefghij")]
SECOND = stream("The answer")


def test_the_second_head_is_left_out_and_all_else_goes_on() -> None:
    second = SecondReply(None, 3)
    events: list[Event] = [Start("b", "small"), Opaque("openai", {"role": "assistant"}, {})]
    assert second.feed(events) == []
    rest: list[Event] = [Text("x"), Finish("stop")]
    assert second.feed(rest) == rest


@pytest.mark.parametrize(
    ("first", "wanted"),
    [(None, Usage(10, 9, cached=10, estimated=True)), (Usage(12, 5), Usage(12, 9, cached=12))],
)
def test_what_the_first_sent_is_output_and_no_prompt(first: Usage | None, wanted: Usage) -> None:
    assert SecondReply(first, 5).feed([Usage(15, 4, cached=14)]) == [wanted]


@pytest.mark.parametrize(
    ("reply", "thinking"), [([Text("84")], 5), ([Thinking("So"), Text("84")], 9)]
)
def test_an_answer_that_goes_on_is_no_thinking_whatever_the_server_counts(
    reply: list[Event], thinking: int
) -> None:
    second = SecondReply(Usage(12, 5), 5)
    second.feed(reply)
    assert second.feed([Usage(15, 4, thinking=4)]) == [Usage(12, 9, thinking=thinking)]


def test_the_text_of_the_thoughts_end_is_no_prompt() -> None:
    assert SecondReply(None, 5, 3).feed([Usage(15, 4)]) == [Usage(7, 9, estimated=True)]
    assert SecondReply(Usage(12, 5), 5, 3).feed([Usage(15, 4)]) == [Usage(12, 9)]


def test_no_prompt_is_shorter_than_nothing() -> None:
    assert SecondReply(None, 50).feed([Usage(15, 4)]) == [Usage(0, 19, estimated=True)]


def rewriter(client: Dialect, limits: ThoughtLimits = GOES_ON) -> Rewriter:
    chosen = settings.read({"loops": "off"})
    expected = Expected(thoughts=ExpectedThoughts(limits=limits))
    return rewriter_of(chosen, client, Form.STREAM, Form.STREAM, expected=expected)


def read(client: Dialect, body: bytes) -> View:
    return read_openai_stream(body) if client is OPENAI else read_anthropic_stream(body)


def joined(
    client: Dialect, *chunks: bytes, limits: ThoughtLimits = GOES_ON
) -> tuple[View, Rewriter]:
    through = rewriter(client, limits)
    out = [piece for chunk in chunks for piece in through.feed(chunk)] + through.close()
    return read(client, b"".join(out)), through


THOUGHT = f"abcdefgh\n\n{ENOUGH}"
CLIENTS = pytest.mark.parametrize("client", [OPENAI, ANTHROPIC])


@CLIENTS
def test_one_reply_goes_on_in_another(client: Dialect) -> None:
    reply, through = joined(client, *FIRST, *SECOND)
    assert (reply.thinking, reply.text) == (THOUGHT, "The answer")
    assert reply.stop in ("stop", "end_turn")
    assert through.continuation.goes_on
    assert through.failure == ""


@CLIENTS
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_cut_anywhere_it_is_the_same_reply(client: Dialect, size: int) -> None:
    body = b"".join([*FIRST, *SECOND])
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    assert joined(client, *chunks)[0] == joined(client, *FIRST, *SECOND)[0]


@CLIENTS
def test_a_second_end_is_final(client: Dialect) -> None:
    reply, through = joined(client, *FIRST, *FIRST, *text("never"), *SECOND)
    assert reply.thinking.count(ENOUGH) == 2
    assert (reply.text, reply.stop in ("length", "max_tokens")) == ("", True)
    assert through.continuation.is_over


@CLIENTS
def test_a_reply_that_cannot_go_on_is_cut(client: Dialect) -> None:
    reply, _ = joined(client, *FIRST, *text("never"), *SECOND, limits=ThoughtLimits(2))
    assert (reply.thinking, reply.text) == ("abcdefgh", "")
    assert reply.stop in ("length", "max_tokens")


@CLIENTS
def test_a_reply_that_the_server_refuses_to_go_on_is_cut(client: Dialect) -> None:
    through = rewriter(client)
    out = [piece for chunk in FIRST for piece in through.feed(chunk)]
    through.refuse("no")
    reply = read(client, b"".join(out + through.close()))
    assert reply.stop in ("length", "max_tokens")
    assert (through.failure, "no" in through.notes) == ("", True)


def test_without_a_second_reply_it_is_cut_short() -> None:
    through = rewriter(OPENAI)
    for chunk in FIRST:
        through.feed(chunk)
    assert b"cut short" in b"".join(through.close())


def test_the_thought_that_was_ended_is_reported() -> None:
    expected = Expected(thoughts=ExpectedThoughts(limits=GOES_ON, task="task"))
    through = rewriter_of(settings.read(), OPENAI, Form.STREAM, Form.STREAM, expected=expected)
    emitted = [thought for chunk in (*FIRST, *SECOND) for thought in _emitted(through, chunk)]
    assert [thought["thought"] for thought in emitted] == [THOUGHT]


def _emitted(through: Rewriter, chunk: bytes) -> list[ThoughtEvent]:
    through.feed(chunk)
    return through.thoughts


def test_who_asks_for_the_second_reply_gets_the_rest_of_the_first_back() -> None:
    through = rewriter(OPENAI)
    through.continuation.pauses = True
    rest = b"".join(text("more", "yet"))[:-5]
    out = through.feed(b"".join(FIRST) + rest)
    assert through.continuation.stopped
    assert through.continuation.unused == len(rest)
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
