"""The same reply in other pieces."""

import json

import pytest

from converter.dialects.table import ANTHROPIC, OPENAI_CHAT, Form
from converter.laws.read_back import completion_of
from converter.laws.recut import fold, recut_words, unfold
from converter.laws.server_words import frames, listen, value_of
from tests.support.frames import END, ROLE, delta, finish, stream, text, whole
from tests.support.native_streams import STREAMS
from tests.support.recordings_of import native

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def contents(body: bytes) -> list[str]:
    values = [value_of(frame) or {} for frame in frames(body)]
    return [
        choice["delta"]["content"]
        for value in values
        for choice in value.get("choices", ())
        if choice["delta"].get("content")
    ]


def test_words_are_cut_into_characters_or_joined_and_nothing_else_changes() -> None:
    body = b"".join(
        [ROLE, b": ping\n\n", *text("ab", "cd"), delta(reasoning="t"), *text("e"), *END]
    )
    assert contents(recut_words(body, list)) == ["a", "b", "c", "d", "e"]
    joined = recut_words(body, lambda words: [words])
    assert contents(joined) == ["abcd", "e"]
    assert [frame for frame in frames(joined) if b'content": "a' not in frame][:2] == [
        ROLE,
        b": ping\n\n",
    ]
    assert completion_of(joined, Form.STREAM).said == completion_of(body, Form.STREAM).said


def test_words_of_two_choices_and_words_beside_an_end_stay_apart() -> None:
    body = b"".join(
        [
            delta(0, content="a"),
            delta(1, content="b"),
            delta(0, content="c"),
            delta(1, content="d", reasoning="e"),
        ]
    )
    assert list(map(value_of, frames(recut_words(body, lambda words: [words])))) == list(
        map(value_of, frames(body))
    )
    assert recut_words(finish(), list) == finish()


def test_words_of_a_messages_stream_are_cut_as_well() -> None:
    body = native(STREAMS["tags left in the text"][0]).body
    recut = recut_words(body, list)
    assert len(list(frames(recut))) > len(list(frames(body)))
    heard = [listen(each, Form.STREAM, ANTHROPIC).choice().joined("text") for each in (body, recut)]
    assert heard == ["<think>deep</think>Hello"] * 2


def test_a_stream_folds_into_the_body_that_its_server_would_have_sent() -> None:
    body = b"".join([ROLE, delta(reasoning="t"), *stream("a", "b")[1:]])
    folded = json.loads(fold(body, OPENAI_CHAT))
    assert folded == json.loads(whole("ab", reasoning="t"))


def test_calls_fold_from_their_pieces() -> None:
    pieces = [
        {**CALL, "index": 0, "function": {"name": "f", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"a": 1}'}},
    ]
    body = b"".join([ROLE, *(delta(tool_calls=[piece]) for piece in pieces), finish("tool_calls")])
    (choice,) = json.loads(fold(body, OPENAI_CHAT))["choices"]
    assert choice["message"]["tool_calls"] == [CALL]
    assert choice["finish_reason"] == "tool_calls"


def test_a_body_unfolds_and_folds_back() -> None:
    body = whole("ab", reasoning="why", tool_calls=[CALL])
    unfolded = unfold(body, OPENAI_CHAT, list)
    assert contents(unfolded) == ["a", "b"]
    assert unfolded.endswith(b"data: [DONE]\n\n")
    assert json.loads(fold(unfolded, OPENAI_CHAT)) == json.loads(body)


@pytest.mark.parametrize("name", [name for name in STREAMS if "mix" not in name])
def test_a_messages_stream_folds_and_unfolds(name: str) -> None:
    folded = fold(native(STREAMS[name][0]).body, ANTHROPIC)
    again = fold(unfold(folded, ANTHROPIC, list), ANTHROPIC)
    assert json.loads(again) == json.loads(folded)
    assert json.loads(folded)["stop_reason"] in ("end_turn", "tool_use")
