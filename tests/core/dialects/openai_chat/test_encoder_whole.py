"""Whole bodies for OpenAI clients."""

import json

import pytest

from tests.support.frames import TOKENS, whole
from tests.support.frames_of import (
    OPENAI,
    WHOLE,
    Json,
    body_of,
    choice,
    chunk,
    entry,
    passed,
    rewriter,
)


def _completion(*messages: Json, **fields: object) -> Json:
    choices = [
        {"index": index, "message": message, "finish_reason": "stop"}
        for index, message in enumerate(messages)
    ]
    return {"id": "chatcmpl-1", "model": "small", "choices": choices, **fields}


def _messages(body: object, **options: object) -> list[Json]:
    return [choice["message"] for choice in body_of(body, **options)["choices"]]


UNCHANGED = {
    "no thinking": whole("Hi."),
    "spaces and line breaks": json.dumps(_completion({"content": "a < b"}), indent=2).encode(),
    "thinking under the name asked for": whole("<think>text</think>", reasoning_content="a"),
    "no content": whole(None, tool_calls=[entry(None, "f", "{}", id="a")]),
    "an error": b'{"error": {"message":"no"}}',
}


@pytest.mark.parametrize("body", UNCHANGED.values(), ids=UNCHANGED)
def test_what_has_nothing_to_change_goes_on_as_it_came(body: bytes) -> None:
    assert b"".join(passed(rewriter(OPENAI, WHOLE), [body[:7], body[7:]])) == body


def test_thinking_leaves_the_content() -> None:
    [message] = _messages(whole("<think>\na\n</think>\n\nb"))
    assert message == {"role": "assistant", "content": "\n\nb", "reasoning_content": "a"}


def test_all_other_fields_are_kept() -> None:
    sent = _completion(
        {"role": "assistant", "content": "<think>a</think>b", "vendor": [1]},
        usage=TOKENS,
        vendor={"x": None},
    )
    sent["choices"][0] |= {"logprobs": {"content": [1]}, "stop_reason": 5}
    expected = json.loads(json.dumps(sent))
    expected["choices"][0]["message"] |= {"content": "b", "reasoning_content": "a"}
    assert body_of(sent) == expected


@pytest.mark.parametrize("content", ["<think>a</think>", "<think>a", "a</think>"])
def test_content_that_was_all_thinking_is_an_empty_text(content: str) -> None:
    [message] = _messages(whole(content))
    assert (message["content"], message["reasoning_content"]) == ("", "a")


def test_every_choice_has_thoughts_of_its_own() -> None:
    messages = _messages(
        _completion({"content": "<think>a</think>b"}, {"content": "c"}, {"content": "d</think>e"})
    )
    assert [message.get("reasoning_content") for message in messages] == ["a", None, "d"]
    assert [message["content"] for message in messages] == ["b", "c", "e"]


def test_every_choice_of_a_server_that_says_reasoning_gets_the_name_requested() -> None:
    messages = _messages(
        _completion({"content": "x", "reasoning": "a"}, {"content": "y", "reasoning": "b"})
    )
    assert [(message["reasoning"], message["reasoning_content"]) for message in messages] == [
        ("a", "a"),
        ("b", "b"),
    ]


def test_null_content_stays_null_in_a_body_written_anew() -> None:
    called = entry(None, "f", "{}", id="a", vendor=1)
    [message] = _messages(whole(None, reasoning="a", tool_calls=[called]))
    assert message == {
        "role": "assistant",
        "content": None,
        "reasoning": "a",
        "reasoning_content": "a",
        "tool_calls": [called],
    }


def test_calls_stay_as_they_are_beside_text_that_changes() -> None:
    calls = [entry(None, "f", "{}", id="a", vendor=1), entry(None, "g", '{"a":1}', id="b")]
    [message] = _messages(whole("<think>a</think>b", tool_calls=calls))
    assert message["tool_calls"] == calls


def test_half_a_surrogate_pair_is_a_replacement_character() -> None:
    assert (
        _messages(b'{"choices":[{"message":{"content":"<think>\\ud83d</think>b"}}]}')[0][
            "reasoning_content"
        ]
        == "\ufffd"
    )


@pytest.mark.parametrize("beside", [None, [], {}, "x", [{"content": "a"}]])
def test_a_delta_beside_a_message_is_not_read(beside: object) -> None:
    body = _completion({"content": "<think>a</think>b"})
    body["choices"][0]["delta"] = beside
    [message] = _messages(json.dumps(body).encode())
    assert message == {"content": "b", "reasoning_content": "a"}


def _folded(*choices: Json) -> Json:
    """The choice of a whole reply that was streamed."""
    pieces = [*map(chunk, choices), chunk(choice(finish_reason="stop"))]
    sent: Json = json.loads(b"".join(passed(rewriter(OPENAI, client_form=WHOLE), pieces)))
    folded: Json = sent["choices"][0]
    return folded


def test_lists_of_thinking_in_a_stream_are_one_list() -> None:
    deltas = [{"reasoning": piece, "reasoning_details": [{"text": piece}]} for piece in "ab"]
    message = _folded(*(choice(delta=delta) for delta in deltas))["message"]
    assert message["reasoning_details"] == [{"text": "a"}, {"text": "b"}]
    assert (message["reasoning"], message["reasoning_content"]) == ("ab", "ab")


def test_a_null_in_a_later_frame_takes_nothing_away() -> None:
    deltas: list[Json] = [{"reasoning_content": "a", "content": None}]
    deltas += [{"reasoning_content": None, "content": "b"}, {"content": None, "vendor": 1}]
    message = _folded(*(choice(delta=delta) for delta in deltas))["message"]
    assert message == {"reasoning_content": "a", "content": "b", "vendor": 1}


def test_the_logprobs_of_all_frames_are_kept() -> None:
    logprobs = [{"content": [{"token": token}], "refusal": None} for token in "ab"]
    folded = _folded(*(choice(delta={"content": "x"}, logprobs=each) for each in logprobs))
    assert folded["logprobs"] == {"content": [{"token": "a"}, {"token": "b"}], "refusal": None}


@pytest.mark.parametrize("begun", [{"function": None}, {}])
def test_a_call_that_began_without_a_function_has_its_name_and_arguments(begun: Json) -> None:
    pieces: list[Json] = [{"id": "a", **begun}, {"function": {"name": "f", "arguments": "{}"}}]
    calls = (choice(delta={"tool_calls": [{"index": 0, **piece}]}) for piece in pieces)
    [call] = _folded(*calls)["message"]["tool_calls"]
    assert (call["id"], call["function"]) == ("a", {"name": "f", "arguments": "{}"})


def test_calls_are_folded_though_other_frames_say_that_there_are_none() -> None:
    calls = [entry(0, "f", "{", id="a"), entry(0, arguments="}")]
    fields: list[object] = [None, [], calls[:1], 0, "", None, calls[1:], []]
    message = _folded(*(choice(delta={"tool_calls": each}) for each in fields))["message"]
    assert message["tool_calls"] == [entry(0, "f", "{}", id="a")]
