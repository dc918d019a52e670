"""Whole bodies of chat completions to events."""

from converter.core.dialects.openai_chat.decoder import OpenAIDecoder
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    Opaque,
    Own,
    Start,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from tests.support.frames import whole
from tests.support.frames_of import Json, entry, whole_frame


def _read(body: object) -> list[Event]:
    return [
        event for event in OpenAIDecoder().feed(whole_frame(body)) if not isinstance(event, Start)
    ]


def _completion(*choices: Json, **fields: object) -> Json:
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": list(choices), **fields}


def test_a_body_ends_with_an_end() -> None:
    role, text, finish, usage, end = _read(whole("Hi."))
    assert (role, text, finish) == (
        Opaque("openai", {"role": "assistant", "content": ""}, {}),
        Text("Hi."),
        Finish("stop"),
    )
    assert isinstance(usage, Usage)
    assert end == End()


def test_thinking_comes_before_text_wherever_it_stands_in_the_body() -> None:
    assert _read(whole("Hi.", reasoning_content="Hm."))[1:3] == [
        Thinking("Hm.", 0, own=Own("openai", dict.fromkeys(("reasoning_content",), "Hm."))),
        Text("Hi."),
    ]


def test_null_content_beside_tool_calls_is_kept_as_it_is() -> None:
    called = entry(None, "f", "{}", id="a")
    opaque, call = _read(whole(None, tool_calls=[called]))[:2]
    assert opaque == Opaque("openai", {"role": "assistant", "content": None}, {})
    assert call == ToolCall(0, "a", "f", "{}", 0, own=Own("openai", {"tool_calls": called}))


def test_the_index_of_content_is_kept_even_if_nothing_of_it_will_be_left() -> None:
    assert _read(whole("<think>a</think>"))[0] == Opaque(
        "openai", {"role": "assistant", "content": ""}, {}
    )


def test_every_choice_of_a_body_is_read() -> None:
    body = _completion(
        *({"index": index, "message": {"content": text}} for index, text in enumerate("ab"))
    )
    assert [event for event in _read(body) if isinstance(event, Text)] == [Text("a"), Text("b", 1)]


def test_choices_of_a_whole_reply_without_an_index_are_counted() -> None:
    body = _completion({"message": {"content": "a"}}, {"message": {"content": "b"}})
    assert [event for event in _read(body) if isinstance(event, Text)] == [Text("a"), Text("b", 1)]


def test_an_error_instead_of_a_body_is_a_failure() -> None:
    assert [
        event.message for event in _read({"error": {"message": "no"}}) if isinstance(event, Failure)
    ] == ["no"]


def test_a_body_without_a_message_is_no_end() -> None:
    assert End() not in _read(_completion({"index": 0, "delta": {"content": "a"}}))


def test_two_messages_of_one_index_are_two_choices() -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [entry(0, "look", "{}", id="c1")]}
    twice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    events = _read(_completion(twice, twice))
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert [call.choice for call in calls] == [0, 1]
    assert [event.choice for event in events if isinstance(event, Finish)] == [0, 1]
