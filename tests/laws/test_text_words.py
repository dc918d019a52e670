"""A text completion's words, read as those of a chat completion, folded and taken apart."""

import json
from typing import Any

from converter.core.dialects.table import OPENAI_CHAT, Form
from laws.heard import Piece
from laws.recut import recut_words
from laws.refold import fold, unfold
from laws.server_words import frames, listen, value_of
from tests.support.frames import text_completion

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def stream(*values: dict[str, Any]) -> bytes:
    sent = [b"data: %b\n\n" % json.dumps(value).encode() for value in values]
    return b"".join([*sent, b"data: [DONE]\n\n"])


STREAM = stream(
    text_completion("<think>a"),
    text_completion("</think>"),
    text_completion("b"),
    text_completion("", "stop", usage=USAGE),
)
WHOLE = json.dumps(text_completion("<think>a</think>b", "stop", usage=USAGE)).encode()


def texts(sent: bytes) -> list[str]:
    values = [value for frame in frames(sent) if (value := value_of(frame))]
    return [choice["text"] for value in values for choice in value["choices"] if choice["text"]]


def test_a_text_is_the_content_of_an_assistants_turn() -> None:
    streamed, whole = (
        listen(sent, form, OPENAI_CHAT)
        for sent, form in ((STREAM, Form.STREAM), (WHOLE, Form.WHOLE))
    )
    assert streamed.choice().pieces == [
        Piece("text", each) for each in ("<think>a", "</think>", "b")
    ]
    assert whole.choice().pieces == [Piece("text", "<think>a</think>b")]
    kinds = (streamed.heads["object"], whole.heads["object"])
    assert kinds == (["chat.completion.chunk"], ["chat.completion"])
    for said in (streamed, whole):
        assert said.choice().others == {"role": ["assistant"]}
        assert (said.choice().finish, said.usage, said.complete) == ("stop", USAGE, True)
        assert (said.done, said.unread) == (True, 0)


def test_a_text_without_its_end_is_not_complete() -> None:
    cut = listen(STREAM[: STREAM.index(b"</think>")], Form.STREAM, OPENAI_CHAT)
    assert cut.choice().joined("text") == "<think>a"
    assert not cut.complete


def test_a_stream_folds_into_the_body_and_the_body_unfolds() -> None:
    assert json.loads(fold(STREAM, OPENAI_CHAT)) == json.loads(WHOLE)
    unfolded = unfold(WHOLE, OPENAI_CHAT, list)
    assert texts(unfolded) == list("<think>a</think>b")
    assert json.loads(fold(unfolded, OPENAI_CHAT)) == json.loads(WHOLE)


def test_words_are_cut_anew_and_the_end_stays() -> None:
    joined = recut_words(STREAM, lambda words: [words])
    assert texts(joined) == ["<think>a</think>b"]
    assert joined.endswith(stream(text_completion("", "stop", usage=USAGE)))
    assert texts(recut_words(STREAM, list)) == list("<think>a</think>b")
