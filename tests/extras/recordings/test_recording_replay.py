from dataclasses import replace

import pytest

from converter.core.dialects.table import ANTHROPIC, DIALECTS, OPENAI_CHAT, Form
from converter.extras.recordings.recording import RecordedRequest, RecordingError
from tests.support.raw_exchanges import HELLO, JSON, WHOLE, exchange

ERROR = b'{"error": {"message": "no", "type": "invalid_request_error", "code": 400}}'


def test_each_step_says_what_came_and_what_went_out_for_it() -> None:
    replay = exchange().replayed(OPENAI_CHAT)
    assert [step.chunk.data for step in replay.steps] == HELLO
    assert [step.client_bytes == step.chunk.data for step in replay.steps] == [
        True,
        False,
        False,
        False,
        True,
        False,  # a finish waits for its counts
        False,
        True,
    ]
    assert [bool(step.client_bytes) for step in replay.steps[1:4]] == [False, True, True]
    assert (replay.body.count(b"reasoning_content"), replay.end, replay.notes) == (2, b"", ())


def test_a_whole_reply_goes_out_at_its_end() -> None:
    for client in DIALECTS:
        replay = exchange(WHOLE, client, Form.WHOLE).replayed(client)
        assert [step.client_bytes for step in replay.steps] == [b""]
        assert b"deep" in replay.end
        assert replay.summary.thoughts == 1


def test_an_error_is_written_in_each_dialect() -> None:
    recording = exchange([ERROR], form=Form.WHOLE, status=400)
    assert recording.replayed(OPENAI_CHAT).body == ERROR
    assert recording.replayed(ANTHROPIC).body.startswith(
        b'{"type":"error","error":{"type":"invalid_request_error"'
    )


def test_a_list_of_models_and_a_native_reply_are_for_anthropic_clients_only() -> None:
    models = RecordedRequest(
        "GET", "/v1/models", {"anthropic-version": "1", "content-type": JSON}, b""
    )
    native = exchange(client=ANTHROPIC, options={"native": ["messages"]})
    assert replace(exchange(), request=models).dialects == native.dialects == (ANTHROPIC,)
    assert exchange().dialects == DIALECTS


def test_a_recording_that_this_version_cannot_read_says_so() -> None:
    with pytest.raises(RecordingError, match="hello: think_start: expected one of"):
        replace(exchange(), options={"start": "later"}).replayed(OPENAI_CHAT)
    with pytest.raises(RecordingError, match="hello: no server is called"):
        replace(exchange(), facts=replace(exchange().facts, server="hal")).replayed(OPENAI_CHAT)
