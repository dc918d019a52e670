"""Conversations that are left with the server, asked for over HTTP."""

from typing import Any

import pytest

from converter.dialects.dialect import KeptRequest
from converter.dialects.responses.kept_answers import answer
from converter.memory import Memory


@pytest.fixture
def memory() -> Memory:
    return Memory(10, 10_000)


def asked(memory: Memory, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, Any]]:
    status, said = answer(KeptRequest(method, path, body, "x", 5), memory)
    return status, dict(said)


def test_a_conversation_is_created_shown_and_deleted(memory: Memory) -> None:
    created = asked(memory, "POST", "/v1/conversations", b'{"metadata": {"a": "b"}}')
    expected = {"id": "conv_x", "object": "conversation", "created_at": 5, "metadata": {"a": "b"}}
    assert created == asked(memory, "GET", "/v1/conversations/conv_x") == (200, expected)
    assert asked(memory, "DELETE", "/v1/conversations/conv_x")[1]["deleted"] is True
    assert asked(memory, "GET", "/v1/conversations/conv_x")[0] == 404
