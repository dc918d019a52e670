"""Counts of tokens: the server's, both of two replies, or the addon's estimate."""

import re

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, RESPONSES, Dialect, Form
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import Text, Usage
from converter.core.reply.token_counts import TokenCounts
from tests.support.frames import DONE, ROLE, chat_whole, data, delta, finish


def tokens(prompt: int | None = 11) -> TokenCounts:
    return TokenCounts(None if prompt is None else lambda: prompt)


def test_without_counts_the_size_tells_or_the_number_of_frames() -> None:
    few, many = tokens(), tokens()
    for _ in range(3):
        few.read([Text("words ")])
    many.read([Text("word " * 40)])
    assert few.missing() == [Usage(11, 5, estimated=True)]
    assert (few.go_on(), many.go_on()) == (3, 50)


def test_a_client_that_wants_no_estimate_gets_none() -> None:
    assert tokens(None).missing() == []


def test_a_reply_that_goes_on_nowhere_has_the_counts_of_the_first() -> None:
    counted, uncounted = tokens(), tokens()
    counted.read([Text("a"), Usage(4, 30)])
    counted.go_on()
    uncounted.read([Text("a")])
    uncounted.go_on()
    assert (counted.missing(), uncounted.missing()) == (
        [Usage(4, 30)],
        [Usage(11, 1, estimated=True)],
    )


def test_a_second_reply_that_nobody_counts_adds_its_frames() -> None:
    both = tokens()
    both.read([Text("a"), Usage(4, 30)])
    assert both.go_on() == 30
    both.read([Text("b")])
    assert both.missing() == [Usage(4, 31, estimated=True)]


def test_a_reply_that_failed_gets_no_estimate() -> None:
    frames = [delta(content="a"), data({"error": {"message": "gone"}}), DONE]
    context = ReplyContext(prompt_tokens=lambda: 11)
    through = rewriter_of(settings.read(), OPENAI_CHAT, Form.STREAM, context=context)
    assert b"usage" not in b"".join(through.whole(b"".join(frames)))


@pytest.mark.parametrize("client", [OPENAI_CHAT, ANTHROPIC, RESPONSES])
@pytest.mark.parametrize("form", Form)
def test_a_reply_without_counts_gets_an_estimate(client: Dialect, form: Form) -> None:
    stream = [ROLE, delta(content="a"), delta(content="b"), finish("stop"), DONE]
    body = b"".join(stream) if form is Form.STREAM else chat_whole({"content": "ab"})
    context = ReplyContext(prompt_tokens=lambda: 11)
    through = rewriter_of(settings.read(), client, form, context=context)
    out = b"".join(through.whole(body))
    assert through.summary.usage == Usage(11, 1, estimated=True)
    assert re.search(rb'"(?:prompt|input)_tokens":\s*11\b', out)
