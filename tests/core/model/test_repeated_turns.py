"""Messages that a request repeats are as if they had been read and written anew."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.anthropic.request_reader import read
from converter.core.dialects.dialect import RequestContext, TurnOf, read_anew
from converter.core.dialects.ollama.request_reader import read as read_ollama
from converter.core.dialects.openai_chat.request_writer import write
from converter.core.dialects.request_settings import RequestSettings
from converter.core.dialects.responses.request_reader import read as read_responses
from converter.core.model.conversation import Conversation, RequestError, Turn
from converter.core.model.repeated_turns import RepeatedTurns
from converter.core.wire import json_text
from converter.core.wire.known_json import KeptObject

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


_CALLED = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
_ITEMS = st.sampled_from(
    [
        {"role": "user", "content": "Hi"},
        {"role": "developer", "content": [{"type": "input_text", "text": "be short"}]},
        {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": "t"}]},
        {"type": "reasoning", "id": "r", "encrypted_content": "sealed elsewhere"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
        _CALLED,
        {**_CALLED, "id": "d"},
        {**_CALLED, "namespace": "n"},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
        {"type": "function_call_output", "call_id": "d", "output": "2", "status": "failed"},
        {
            "type": "tool_search_output",
            "call_id": "c",
            "tools": [{"name": "g", "type": "function"}],
        },
        {"type": "web_search_call", "id": "w"},
    ]
)
_NAMED = {"function": {"name": "f", "arguments": {"n": 1}}}
_OLLAMA = st.sampled_from(
    [
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": "See", "images": ["iVBOR"]},
        {"role": "system", "content": "be short"},
        {"role": "assistant", "content": "a", "thinking": "t"},
        {"role": "assistant", "tool_calls": [_NAMED]},
        {"role": "assistant", "content": "a", "tool_calls": [_NAMED, {**_NAMED, "id": "c"}]},
        {"role": "tool", "content": "1"},
        {"role": "tool", "content": "2", "tool_name": "f"},
        {"role": "tool", "content": "3", "tool_call_id": "c"},
    ]
)


def _of_messages(messages: list[object], turn_of: TurnOf) -> Conversation:
    body = {"model": "m", "max_tokens": 9, "messages": messages, "metadata": {"user_id": "u"}}
    return read(body, RequestContext(turn_of=turn_of))


def _of_responses(items: list[object], turn_of: TurnOf) -> Conversation:
    tools = [{"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}]}]
    body = {"model": "m", "input": items, "tools": tools}
    return read_responses(body, turn_of=turn_of)[0]


def _of_ollama(messages: list[object], turn_of: TurnOf) -> Conversation:
    return read_ollama({"model": "m", "messages": messages}, turn_of)


type Reader = Callable[[list[object], TurnOf], Conversation]
READERS: dict[Reader, st.SearchStrategy[Any]] = {
    _of_messages: _MESSAGES,
    _of_responses: _ITEMS,
    _of_ollama: _OLLAMA,
}


def written(
    reader: Reader, messages: list[object], turn_of: TurnOf = read_anew
) -> Conversation | str:
    """Return the conversation, or the words of its refusal."""
    try:
        return reader(messages, turn_of)
    except RequestError as error:
        return error.message


@pytest.mark.parametrize("reader", READERS)
@given(st.data())
def test_a_request_is_read_and_written_as_if_none_had_been_before(
    reader: Reader, data: st.DataObject
) -> None:
    before: RepeatedTurns[Turn, KeptObject] | None = None
    drawn = st.lists(READERS[reader], min_size=1, max_size=6)
    for messages in data.draw(st.lists(drawn, min_size=2, max_size=4)):
        settings, turns = data.draw(SETTINGS), RepeatedTurns[Turn, KeptObject](before)
        conversation, plain = written(reader, messages, turns.read), written(reader, messages)
        assert conversation == plain
        if isinstance(conversation, Conversation) and isinstance(plain, Conversation):
            body, notes = write(conversation, settings, turns.translated)
            assert (body, notes) == write(plain, settings)
            assert turns.body(body, json_text.write) == json_text.write(body)
            before, turns.before = turns, None


@pytest.mark.parametrize(
    ("reader", "messages"),
    [
        (_of_responses, [{"role": "user", "content": "Hi"}, _CALLED]),
        (_of_responses, [_CALLED, {"type": "function_call_output", "call_id": "c", "output": "1"}]),
        (_of_ollama, [{"role": "assistant", "tool_calls": [_NAMED]}, {"role": "tool"}]),
    ],
)
def test_the_turns_of_a_repeated_message_are_the_ones_of_before(
    reader: Reader, messages: list[object]
) -> None:
    before = RepeatedTurns[Turn, KeptObject]()
    first = reader(messages, before.read)
    then = reader([*messages, messages[0]], RepeatedTurns(before).read)
    assert 0 < len(first.turns) <= len(then.turns)
    assert all(one is other for one, other in zip(first.turns, then.turns, strict=False))


def test_what_other_messages_tell_of_a_message_is_a_part_of_it() -> None:
    first, message = RepeatedTurns[Turn, KeptObject](), {"role": "user"}
    turn = first.read(message, lambda: (Turn("user", ()), False), "c")
    other = Turn("assistant", ())
    assert RepeatedTurns(first).read(message, lambda: (other, False), "c") is turn
    assert RepeatedTurns(first).read(message, lambda: (other, False), "d") is other


def test_a_repeated_message_is_not_read_or_written_again() -> None:
    messages: list[object] = [{"role": "user", "content": "Hi"}]
    first = RepeatedTurns[Turn, KeptObject]()
    turn = first.read(messages[0], lambda: (Turn("user", ()), False))
    written = first.translated((turn,), "way", lambda: [{"role": "user"}])
    assert first.body({"messages": written}, json_text.write) == b'{"messages":[{"role":"user"}]}'
    then = RepeatedTurns(first)
    assert then.read(messages[0], lambda: pytest.fail("read")) is turn
    assert then.translated((turn,), "way", pytest.fail) is written
    wrote = list[object]()

    def write(value: object) -> bytes:
        wrote.append(value)
        return json_text.write(value)

    body = then.body({"messages": written}, write)
    assert (body, wrote) == (b'{"messages":[{"role":"user"}]}', ["messages"])


def test_a_turn_is_written_again_where_it_is_written_in_another_form() -> None:
    first, turn = RepeatedTurns[Turn, KeptObject](), Turn("user", ())
    first.translated((turn,), "way", lambda: [{"role": "user"}])
    other: list[dict[str, object]] = [{"role": "user"}]
    assert RepeatedTurns(first).translated((turn,), "other", lambda: other) is other


def test_an_equal_message_that_was_read_anew_is_another() -> None:
    first, message = RepeatedTurns[Turn, KeptObject](), {"role": "user", "content": "Hi"}
    turn, other = Turn("user", ()), Turn("user", ())
    first.read(message, lambda: (turn, False))
    assert RepeatedTurns(first).read(message, lambda: (other, False)) is turn
    assert RepeatedTurns(first).read(dict(message), lambda: (other, False)) is other


def test_a_message_that_makes_a_note_is_read_in_each_request() -> None:
    first, message, turn = RepeatedTurns[Turn, KeptObject](), {"role": "user"}, Turn("user", ())
    assert first.read(message, lambda: (turn, True)) is turn
    other = Turn("user", ())
    assert RepeatedTurns(first).read(message, lambda: (other, True)) is other


def test_a_hash_is_computed_again_behind_another_beginning() -> None:
    first, message = RepeatedTurns[Turn, KeptObject](), {"role": "user"}
    assert first.hash(b"a", message, lambda: b"1") == b"1"
    then = RepeatedTurns(first)
    assert then.hash(b"a", message, lambda: b"2") == b"1"
    assert then.hash(b"b", message, lambda: b"3") == b"3"
    assert then.hash(b"a", dict(message), lambda: b"4") == b"4"
