"""What a client was told, as events."""

import pytest

from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Form
from laws.client_view import (
    completion_of,
    message_of,
    read_message,
    view_of,
    view_of_completion,
)
from laws.failures import BrokenLawError
from laws.variants import Variant
from tests.support.frames import ROLE, text
from tests.support.recordings_of import recording, streamed

OPENAI = Variant(OPENAI_CHAT, Form.STREAM)
STREAM, WHOLE = (Variant(ANTHROPIC, form) for form in Form)


def test_an_anthropic_client_is_told_blocks_and_an_end() -> None:
    said = streamed("<think>t</think>", "a")
    assert view_of(said, STREAM) == view_of(said, WHOLE)
    kinds = [
        event[0] if event[0] != ("type", "thinking") else "thinking"
        for event in view_of(said, STREAM)
    ]
    assert kinds == [
        "thinking",
        ("type", "text"),
        "id",
        "model",
        "stop_reason",
        "stop_sequence",
        "usage",
    ]


def test_an_error_stands_beside_what_came_before() -> None:
    cut = recording(b"".join([ROLE, *text("a")]))
    message = message_of(cut, STREAM)
    assert [block["text"] for block in message["content"]] == ["a"]
    assert "cut short" in message["error"]["message"]
    assert view_of(cut, STREAM)[-1][:2] == ("error", "api_error")
    assert view_of(cut, WHOLE) == view_of(cut, STREAM)[-1:]


def test_a_stream_that_is_out_of_order_breaks_the_law() -> None:
    with pytest.raises(BrokenLawError, match="frame 0: message_stop after nothing"):
        read_message(b'event: message_stop\ndata: {"type":"message_stop"}\n\n', STREAM)


def test_a_chat_completions_client_is_told_runs_and_sums() -> None:
    events = view_of(streamed("<think>t</think>", "a", "<think>u</think>", "b"), OPENAI)
    assert [event[1:] for event in events[:4]] == [
        ("thinking", "t"),
        ("text", "a"),
        ("thinking", "\n\nu"),
        ("text", "b"),
    ]
    assert (0, "content", "ab") in events
    unordered = list(view_of_completion(completion_of(streamed("a"), OPENAI), ordered=False))
    assert unordered[0] == (0, "content", "a")
