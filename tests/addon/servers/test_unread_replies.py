"""Requests for a reply that the server does not parse: no field of a chat is left."""

from typing import Any

import pytest

from converter.addon.servers.unread_replies import (
    fits_text_completion,
    text_completion,
    with_tools_as_text,
)

TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
PICTURE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a.png"}}]}
TEXT_TURN = {"role": "user", "content": [{"type": "text", "text": "hi"}]}


@pytest.mark.parametrize(
    ("more", "plain"),
    [
        ({}, True),
        ({"tools": [TOOL], "tool_choice": "auto", "n": 1}, True),
        ({"messages": [TEXT_TURN]}, True),
        ({"messages": [PICTURE]}, False),
        ({"n": 2}, False),
        ({"logprobs": True}, False),
        ({"response_format": {"type": "json_object"}}, False),
        ({"grammar": "root ::= word"}, False),
        ({"tools": [TOOL], "tool_choice": "required"}, False),
    ],
)
def test_the_request_is_for_text_behind_a_prompt_alone(more: dict[str, Any], plain: bool) -> None:
    assert fits_text_completion({**BODY, **more}) is plain


def test_a_text_completion_asks_for_the_same() -> None:
    more = {"max_tokens": 9, "stop": ["x"], "stream": True, "stream_options": {}, "seed": 1}
    chat = {"tools": [TOOL], "tool_choice": "auto", "chat_template_kwargs": {}}
    request = text_completion({**BODY, **more, **chat}, "a prompt")
    assert request == {"model": "m", **more, "prompt": "a prompt"}


def test_tools_are_written_as_text_where_no_prompt_can_be_had() -> None:
    assert "tools" not in with_tools_as_text({**BODY, "tools": [TOOL]})
    assert with_tools_as_text(BODY) is BODY
