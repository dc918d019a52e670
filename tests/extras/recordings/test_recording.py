from dataclasses import replace

import pytest

from converter.addon.keep.notes import NotedFacts
from converter.core.dialects.table import ANTHROPIC, OLLAMA, OPENAI_CHAT, Form
from converter.extras.recordings.recording import RecordedRequest, RecordingError
from tests.support.raw_exchanges import JSON, WHOLE, exchange


def test_a_recording_says_who_speaks_what_in_which_form() -> None:
    translated = exchange(client=ANTHROPIC)
    assert (translated.client, translated.server_dialect, translated.server_form) == (
        ANTHROPIC,
        OPENAI_CHAT,
        Form.STREAM,
    )
    native = replace(translated, options={"native": ["messages"]})
    assert (native.server_dialect, exchange(WHOLE, form=Form.WHOLE).server_form) == (
        ANTHROPIC,
        Form.WHOLE,
    )
    assert translated.client_form is Form.STREAM


def test_the_exchange_stands_as_it_did_when_the_reply_began() -> None:
    recording = exchange(
        client=ANTHROPIC,
        fields={"thinking": {"type": "disabled"}},
        facts=NotedFacts("vllm", True, "thinking", 7, True),
    )
    awaited, written = recording.awaited(), recording.awaited().request
    read = (awaited.initial.value, awaited.counted_tokens, awaited.has_think_prompt)
    assert (awaited.server.name, *read) == ("vllm", "thinking", 7, True)
    assert (written.model, written.form, written.body["model"]) == ("m", Form.STREAM, "m")


def test_a_request_that_the_addon_does_not_act_on_has_no_exchange() -> None:
    recording = replace(
        exchange(), request=RecordedRequest("GET", "/favicon.ico", {"accept": JSON}, b"")
    )
    with pytest.raises(
        RecordingError, match=r"hello: GET /favicon\.ico is no request that the addon acts on"
    ):
        recording.exchange()


def test_an_ollamas_own_reply_is_read_as_it_was_sent() -> None:
    for server, dialect in (("ollama", OLLAMA), ("llama.cpp", OPENAI_CHAT)):
        recording = exchange(client=OLLAMA, facts=NotedFacts(server=server))
        assert recording.server_dialect is dialect
