"""A finish waits for the counts behind it: which one it is, and what it becomes."""

import re

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.table import ANTHROPIC, OLLAMA, OPENAI_CHAT, RESPONSES, Dialect, Form
from converter.core.reading.reading import Expected
from converter.core.reply.rewriter import Rewriter
from laws.reply_parser import parse_reply
from tests.support.frames import DONE, ROLE, chat_whole, data, delta, finish
from tests.support.frames_of import call

LIMIT = 8
TOOL = ("weather", '{"city": "Oslo"}')


def counts(output: int) -> bytes:
    return data({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": output}})


def passed(client: Dialect, *frames: bytes) -> tuple[bytes, Rewriter]:
    """Return the client's bytes, and the rewriter."""
    through = rewriter_of(settings.read(), client, Form.STREAM, expected=Expected(limit=LIMIT))
    out = [piece for frame in frames for piece in through.feed(frame)] + through.close()
    return b"".join(out), through


CALLED = call(0, *TOOL, id="a")
FINISHES = {
    "calls, then a stop": ([CALLED, finish("tool_calls"), finish("stop")], "tool_calls"),
    "a stop, then calls": ([CALLED, finish("stop"), finish("tool_calls")], "tool_calls"),
    "calls without a call": ([delta(content="a"), finish("tool_calls")], "stop"),
    "a limit, then a stop": ([delta(content="a"), finish("length"), finish("stop")], "length"),
    "words between two": ([finish("stop"), delta(content="a"), finish("stop")], "stop"),
    "an empty word": ([finish("eos"), delta(content="a"), finish("")], "stop"),
}


@pytest.mark.parametrize(("frames", "reason"), FINISHES.values(), ids=FINISHES)
def test_a_choice_has_one_finish_the_true_one(frames: list[bytes], reason: str) -> None:
    out, through = passed(OPENAI_CHAT, ROLE, *frames, DONE)
    assert len(re.findall(rb'"finish_reason": ?"[^"]', out)) == 1
    assert through.summary.finish == reason


CUTS = {
    "in a thought": [delta(content="<think>a"), finish("stop")],
    "in a thought of the server's": [delta(reasoning_content="a"), finish("stop")],
    "in a call of the server's": [call(0, TOOL[0], TOOL[1][:-3], id="a"), finish("tool_calls")],
}


@pytest.mark.parametrize(
    ("client", "frames"), zip([ANTHROPIC, RESPONSES, OLLAMA], CUTS.values(), strict=True), ids=CUTS
)
@pytest.mark.parametrize("output", [LIMIT - 1, LIMIT])
def test_counts_that_reach_the_limit_make_an_open_end_a_cut(
    client: Dialect, frames: list[bytes], output: int
) -> None:
    _, through = passed(client, ROLE, *frames, counts(output), DONE)
    if output == LIMIT:
        assert (through.summary.finish, through.failure) == ("length", "")
    else:
        assert through.summary.finish == "stop" or "no whole call" in through.failure


def test_an_answer_that_reaches_the_limit_keeps_its_stop() -> None:
    out, _ = passed(ANTHROPIC, ROLE, delta(content="a"), finish("stop"), counts(LIMIT), DONE)
    assert b'"end_turn"' in out


def test_a_finish_goes_on_as_it_came_behind_the_text_of_its_frame() -> None:
    last = delta(content="b").replace(b'"finish_reason": null', b'"finish_reason": "stop"')
    frames = [ROLE, delta(content="a"), last, counts(1), DONE]
    assert passed(OPENAI_CHAT, *frames)[0] == b"".join(frames)


@pytest.mark.parametrize("word", ["abort", "whatever"])
@pytest.mark.parametrize("client", [OPENAI_CHAT, ANTHROPIC])
@pytest.mark.parametrize("form", Form)
def test_a_word_that_may_mean_a_broken_reply_is_no_end(
    word: str, client: Dialect, form: Form
) -> None:
    body = b"".join([ROLE, delta(content="a"), finish(word), counts(1), DONE])
    body = body if form is Form.STREAM else chat_whole({"content": "a"}, word)
    through = rewriter_of(settings.read(), client, form)
    through.whole(body)
    keeps = client is OPENAI_CHAT and word == "whatever"
    assert (word in through.failure) != keeps


def test_an_error_behind_such_a_finish_has_the_servers_text() -> None:
    frames = [ROLE, delta(content="a"), finish("error"), data({"error": {"message": "no memory"}})]
    assert passed(ANTHROPIC, *frames)[1].failure == "no memory"


def test_the_only_choice_is_the_first_that_comes() -> None:
    out, through = passed(RESPONSES, delta(1, content="a"), finish("stop", 1), counts(1), DONE)
    assert parse_reply(out, Form.STREAM, RESPONSES).choice(0).joined("text") == "a"
    assert through.failure == ""
