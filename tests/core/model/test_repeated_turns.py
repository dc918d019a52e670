"""Messages that a request repeats are as if they had been read and written anew."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.anthropic.request_reader import read
from converter.core.dialects.dialect import KnownTurn
from converter.core.dialects.openai_chat.request_writer import write
from converter.core.dialects.request_settings import RequestSettings
from converter.core.model.conversation import Conversation, RequestError, Turn
from converter.core.model.repeated_turns import RepeatedTurns, is_same
from converter.core.wire import json_text

type Body = dict[str, Any]

_TEXT = {"type": "text", "text": "a"}
_MARKED = {**_TEXT, "cache_control": {"type": "ephemeral"}}
_CALL = {"type": "tool_use", "id": "c", "name": "f", "input": {"n": 1}}
_RESULT = {"type": "tool_result", "tool_use_id": "c", "content": [_TEXT]}
_UNKNOWN = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
_THOUGHT = {"type": "thinking", "thinking": "t", "signature": "s"}
_MESSAGES = st.sampled_from(
    [
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": [_TEXT, _RESULT]},
        {"role": "user", "content": [_MARKED]},
        {"role": "user", "content": [{**_RESULT, "is_error": True}]},
        {"role": "system", "content": "be short"},
        {"role": "assistant", "content": [_THOUGHT, _TEXT, _CALL]},
        {"role": "assistant", "content": [{**_CALL, "input": {"n": True}}]},
        {"role": "assistant", "content": [{**_CALL, "input": {"n": 1.0}}]},
        {"role": "assistant", "content": [_UNKNOWN, _TEXT]},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [{"type": "image"}]},
    ]
)
SETTINGS = st.sampled_from([RequestSettings(), RequestSettings(history="drop")])


def asked(messages: list[object], known: KnownTurn | None = None) -> Conversation | str:
    """Return the conversation, or the words of its refusal."""
    body = {"model": "m", "max_tokens": 9, "messages": messages, "metadata": {"user_id": "u"}}
    try:
        return read(body, known=known)
    except RequestError as error:
        return error.message


@given(st.lists(st.lists(_MESSAGES, min_size=1, max_size=6), min_size=2, max_size=4), st.data())
def test_a_request_is_read_and_written_as_if_none_had_been_before(
    requests: list[list[object]], data: st.DataObject
) -> None:
    before: RepeatedTurns[Turn] | None = None
    for messages in requests:
        settings, turns = data.draw(SETTINGS), RepeatedTurns[Turn](before)
        conversation, plain = asked(messages, turns.read), asked(messages)
        assert conversation == plain
        if isinstance(conversation, Conversation) and isinstance(plain, Conversation):
            body, notes = write(conversation, settings, turns.run)
            assert (body, notes) == write(plain, settings)
            assert turns.body(body, json_text.write) == json_text.write(body)
            before, turns.before = turns, None


def test_a_repeated_message_is_not_read_or_written_again() -> None:
    messages: list[object] = [{"role": "user", "content": "Hi"}]
    first = RepeatedTurns[Turn]()
    turn = first.read(messages[0], lambda: (Turn("user", ()), False))
    written = first.run((turn,), "way", lambda: [{"role": "user"}])
    assert first.body({"messages": written}, json_text.write) == b'{"messages":[{"role":"user"}]}'
    then = RepeatedTurns(first)
    assert then.read({"role": "user", "content": "Hi"}, lambda: pytest.fail("read")) is turn
    assert then.run((turn,), "way", pytest.fail) is written
    names = list[object]()
    body = then.body({"messages": written}, lambda value: names.append(value) or b'"messages"')  # type: ignore[func-returns-value]
    assert (body, names) == (b'{"messages":[{"role":"user"}]}', ["messages"])


@given(st.lists(st.lists(_MESSAGES, max_size=6), min_size=2, max_size=4))
def test_shared_messages_are_the_same_json(requests: list[list[object]]) -> None:
    before: RepeatedTurns[Turn] | None = None
    for said in requests:
        turns, shared = RepeatedTurns[Turn](before), [*said]
        turns.share(shared)
        assert json_text.write(shared) == json_text.write(said)
        before, turns.before = turns, None


def test_the_messages_that_a_request_begins_with_are_those_of_before() -> None:
    first = RepeatedTurns[Turn]()
    first.share([{"role": "user"}, {"n": 1}])
    messages: list[object] = [{"role": "user"}, {"n": 1}, {"n": 2}]
    turns = RepeatedTurns(first)
    turns.share(messages)
    assert [any(one is each for each in first.messages) for one in messages] == [True, True, False]


def test_a_shared_message_can_be_read_as_a_turn() -> None:
    first, message = RepeatedTurns[Turn](), {"role": "user", "content": "Hi"}
    first.share([message])
    turn = Turn("user", ())
    assert RepeatedTurns(first).read(dict(message), lambda: (turn, False)) is turn


def test_a_hash_is_made_again_behind_another_beginning() -> None:
    first, message = RepeatedTurns[Turn](), {"role": "user"}
    assert first.hash(b"a", message, lambda: b"1") == b"1"
    then = RepeatedTurns(first)
    assert then.hash(b"a", message, lambda: b"2") == b"1"
    assert then.hash(b"b", message, lambda: b"3") == b"3"
    assert then.hash(b"a", dict(message), lambda: b"4") == b"4"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": [1, "b"]}, {"a": [1, "b"]}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": 1}, {"a": 1.0}, False),
        ([{"a": "b"}], [{"a": "c"}], False),
        ("a", "a", True),
        (0, False, False),
    ],
)
def test_values_are_the_same_json_or_not(one: object, other: object, same: bool) -> None:
    assert is_same(one, other) is same
