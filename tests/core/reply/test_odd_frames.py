"""Frames of streams that are not quite the dialect's, and cost no good reply."""

import json

import pytest

from converter.core.dialects.table import DIALECTS, OPENAI_CHAT, Dialect, Form
from converter.core.reply.reply_end import CUT_SHORT
from laws.reply_parser import parse_reply
from tests.support.frames import DONE, ROLE, data, finish, text
from tests.support.recordings_of import recording

EACH = pytest.mark.parametrize("client", DIALECTS, ids=lambda each: each.label.title)
FORMS = pytest.mark.parametrize("form", Form)


def shown(steps: list[bytes], client: Dialect, form: Form) -> tuple[str, str]:
    """The text of the reply, and the error in its place or behind it."""
    recorded = recording(b"".join(steps))
    rewriter = recorded.rewriter(client, form)
    out = b"".join([*rewriter.feed(recorded.body), *rewriter.close()])
    reply = parse_reply(out, form, client)
    text = reply.choices[0].joined("text") if reply.choices else ""
    return text, rewriter.failure


@FORMS
@EACH
@pytest.mark.parametrize(
    "odd",
    [
        b"data: : OPENROUTER PROCESSING\n\n",
        data({"id": "c", "choices": "x"}),
        data({"id": "c", "choices": ""}),
    ],
)
def test_an_odd_frame_costs_no_good_reply(odd: bytes, client: Dialect, form: Form) -> None:
    steps = [ROLE, *text("Hel"), odd, *text("lo"), finish(), DONE]
    assert shown(steps, client, form) == ("Hello", "")


def test_a_comment_that_was_sent_as_data_is_a_line_of_the_next_event() -> None:
    """Behind an event with an id a blank line would end one without data, which OpenAI's Python SDK
    3.57 tries to read as JSON.
    """
    steps = [b"id: 7\n" + ROLE, *text("a"), b"data: : wait\n\n", *text("b"), finish(), DONE]
    recorded = recording(b"".join(steps))
    out = b"".join([*recorded.rewriter(OPENAI_CHAT, Form.STREAM).feed(recorded.body)])
    assert out.startswith(b"id: 7\n")
    assert b"\n\n: wait\ndata: " in out


SIGNS = {
    "a comment": (b": wait\n\n", b": wait\n"),
    "a comment of lines": (b": a\r\n:b\r\n\r\n", b": a\n:b\n"),
    "blank lines": (b"\n\n", b""),
    "an id": (b"id: 8\n\n", b"id: 8\n"),
    "a time to wait": (b"retry: 9\n\n", b"retry: 9\n"),
    "a name": (b"event: ping\n\n", b""),
    "a name and a comment": (b"event: ping\n: wait\n\n", b": wait\n"),
    "an empty data": (b"data:\n\n", b""),
    "a blank data": (b"data:  \n\n", b""),
    "a line that is no field": (b"wait\n\n", b"wait\n"),
}


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("name", SIGNS)
def test_a_frame_without_data_is_lines_of_the_next_one(name: str, numbered: bool) -> None:
    sign, lines = SIGNS[name]
    first = b"id: 7\n" * numbered + ROLE
    steps = [first, *text("a", "b"), sign, *text("c"), sign, finish(), DONE, sign]
    recorded = recording(b"".join(steps))
    rewriter = recorded.rewriter(OPENAI_CHAT, Form.STREAM)
    out = [piece for step in steps for piece in rewriter.feed(step)]
    assert all(out)
    sent = b"".join([*out, *rewriter.close()])
    kept = not numbered and name in ("a comment", "a comment of lines", "a line that is no field")
    ways = sign if kept or (not numbered and name == "blank lines") else lines
    assert sent == b"".join(ways if step is sign else step for step in steps)


@FORMS
@EACH
def test_a_bare_error_in_mid_stream_keeps_its_text(client: Dialect, form: Form) -> None:
    error = json.dumps({"error": {"message": "out of memory", "code": 500}}).encode()
    _, failure = shown([ROLE, *text("a"), error + b"\n\n"], client, form)
    assert failure == "out of memory"


@FORMS
@EACH
@pytest.mark.parametrize("finish", [0, 1, True, ["stop"]])
def test_a_finish_that_is_no_word_is_a_finish(finish: object, client: Dialect, form: Form) -> None:
    ended = data({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    assert shown([ROLE, *text("a"), ended, DONE], client, form) == ("a", "")


def _body(**ending: object) -> bytes:
    """A whole reply whose choice ends so."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "a"}, **ending}
    return json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode()


@FORMS
@EACH
def test_a_whole_reply_that_has_no_finish_by_its_own_word_ends_as_its_stream(
    client: Dialect, form: Form
) -> None:
    cut = shown([_body(finish_reason=None)], client, form)[1]
    assert cut == shown([ROLE, *text("a"), DONE], client, form)[1] == CUT_SHORT


@FORMS
@EACH
def test_a_whole_reply_without_the_field_is_whole(client: Dialect, form: Form) -> None:
    assert shown([_body()], client, form) == ("a", "")
