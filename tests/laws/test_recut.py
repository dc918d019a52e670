"""The same reply in other pieces."""

from converter.core.dialects.table import ANTHROPIC, Form
from laws.recut import recut_words
from laws.server_words import frames, listen, value_of
from tests.support.frames import END, ROLE, delta, finish, text
from tests.support.native_streams import STREAMS
from tests.support.read_back import completion_of
from tests.support.recordings_of import native


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
