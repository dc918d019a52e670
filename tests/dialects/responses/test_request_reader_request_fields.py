"""The fields of a Responses request."""

from typing import Any

import pytest

from converter.dialects.responses.request_reader import SILENT, read
from converter.dialects.server_fields import SERVER_FIELDS
from converter.model.conversation import Conversation


def asked(**fields: Any) -> Conversation:
    return read({"model": "m", "input": "hi", **fields})[0]


def test_fields_of_local_servers_go_to_the_server() -> None:
    said = {"chat_template_kwargs": {"a": 1}, "stop": ["x"], "seed": 1}
    conversation = asked(**said)
    assert conversation.extensions == said
    assert conversation.notes == ()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"surprise": 1}, "fields left out, which a chat server does not know: surprise"),
        ({"top_logprobs": 3}, "fields left out, which a chat server does not know: top_logprobs"),
        ({"truncation": "auto"}, "truncation left out"),
        ({"reasoning": {"effort": "wild"}}, "reasoning.effort left out: 'wild'"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice 'file_search' left out"),
        ({"input": [{"type": "mcp_list_tools"}]}, "items left out"),
    ],
)
def test_what_is_left_out_is_named(fields: dict[str, Any], words: str) -> None:
    (note,) = asked(**fields).notes
    assert note.startswith(words)


def test_a_field_that_means_nothing_here_means_nothing_to_servers() -> None:
    assert not SILENT & SERVER_FIELDS


def test_a_history_that_a_memory_completed_is_not_left_out() -> None:
    body = {"model": "m", "input": "Hi", "previous_response_id": "resp_1", "conversation": None}
    conversation, _ = read(body, [{"role": "user", "content": "Hi"}])
    assert conversation.notes == ()
