"""The same reply in the other form."""

import json

import pytest

from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT
from laws.refold import fold, unfold
from tests.laws.test_recut import contents
from tests.support.frames import ROLE, delta, finish, stream, whole
from tests.support.native_streams import STREAMS
from tests.support.recordings_of import native

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


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
