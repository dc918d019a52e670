"""What a server said, read in the plainest way."""

import pytest

from converter.core.dialects.reasoning_fields import read_map
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Form
from laws.heard import Piece, ServerWords
from laws.server_words import frames, listen, value_of
from tests.support.frames import DONE, END, ROLE, data, delta, finish, stream, text, whole
from tests.support.native_streams import STREAMS
from tests.support.recordings_of import native


def heard(*given: bytes) -> ServerWords:
    return listen(b"".join(given), Form.STREAM, OPENAI_CHAT)


def test_words_come_in_order_with_what_they_are() -> None:
    said = heard(
        ROLE, delta(reasoning="why"), delta(reasoning_content="more"), *text("a", "b"), *END
    )
    assert said.choice().pieces == [
        Piece("thinking", "why"),
        Piece("text", "a"),
        Piece("text", "b"),
    ]
    assert said.choice().thoughts == {"reasoning": "why", "reasoning_content": "more"}
    assert (said.choice().finish, said.usage["completion_tokens"], said.complete) == (
        "stop",
        5,
        True,
    )


def test_a_whole_body_says_the_same() -> None:
    said = listen(whole("a\nb", reasoning_content="why"), Form.WHOLE, OPENAI_CHAT)
    assert said.choice().pieces == [Piece("thinking", "why"), Piece("text", "a\nb")]
    assert said.complete


def test_calls_are_put_together() -> None:
    entries = [
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}},
        {"index": 0, "function": {"arguments": ":1}"}},
    ]
    said = heard(*(delta(tool_calls=[entry]) for entry in entries))
    assert said.choice().calls == {0: {"id": "c", "name": "f", "arguments": '{"a":1}'}}
    assert [piece.kind for piece in said.choice().pieces] == ["call", "call"]


def test_parts_and_refusals_are_text_without_tags_and_the_users_rows_are_thinking() -> None:
    said = heard(
        delta(content=[{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "t"}]),
        delta(refusal="no"),
    )
    assert said.choice().pieces == [Piece("raw", "a"), Piece("thinking", "t"), Piece("raw", "no")]
    mapped = listen(
        delta(musings="m"), Form.STREAM, OPENAI_CHAT, read_map(["musings=thinking:thinking"])
    )
    assert mapped.choice().pieces == [Piece("thinking", "m")]


@pytest.mark.parametrize(
    ("given", "complete"),
    [
        ([ROLE, *text("a")], False),
        ([ROLE, *text("a"), finish()], True),
        ([ROLE, *text("a"), DONE], True),
        ([DONE], False),
        ([ROLE, data({"error": {"message": "no"}}), DONE], False),
    ],
)
def test_a_reply_is_complete_when_its_end_was_said_and_no_error(
    given: list[bytes], complete: bool
) -> None:
    assert heard(*given).complete is complete


def test_what_nobody_reads_is_counted_comments_apart() -> None:
    said = heard(b": ping\n\n", b"data: {\n\n", data({"choices": [7]}), data([1]))
    assert (said.comments, said.unread) == (1, 3)


def test_other_fields_are_kept() -> None:
    said = heard(
        delta(content="a", x=1), delta(content="b", x=2, y=""), data({"id": "i", "choices": []})
    )
    assert said.choice().others == {"x": [1, 2]}
    assert said.heads["id"] == ["chatcmpl-1", "i"]


def test_a_stream_is_cut_after_blank_lines_of_any_kind() -> None:
    assert list(frames(b"a\n\nb\r\n\r\nc\r\rd")) == [b"a\n\n", b"b\r\n\r\n", b"c\r\r", b"d"]
    assert value_of(b'event: x\ndata: {"a":\ndata: 1}\n\n') == {"a": 1}
    assert value_of(b"data: [DONE]\n\n") is None


def test_a_messages_stream_says_its_blocks() -> None:
    body = native(STREAMS["llama.cpp: a block starts before the one before it stops"][0]).body
    said = listen(body, Form.STREAM, ANTHROPIC)
    assert said.choice().pieces == [Piece("thinking", "deep", 0), Piece("text", "Hello")]
    assert (said.choice().finish, said.usage["output_tokens"], said.complete) == (
        "end_turn",
        5,
        True,
    )
    assert not listen(body[:300], Form.STREAM, ANTHROPIC).complete
    assert listen(stream("a")[0], Form.STREAM, ANTHROPIC).choice().pieces == []
