"""Requests, read: the server's request, the traits left out, the refusals."""

import json
from dataclasses import replace
from functools import partial

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.read_request import SEARCHED, read, read_in_dialect
from converter.addon.memory.known_turns import SHORT, KnownTurns
from converter.addon.servers.profiles import by_name
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Form
from converter.core.model.conversation import RequestError
from converter.core.model.raw_messages import messages_of
from converter.core.wire.json_text import UnreadableError
from tests.support import endpoints

REQUEST = {"model": "small", "max_tokens": 3000, "messages": [{"role": "user", "content": "hi"}]}
CHAT = Exchange(endpoints.CHAT, settings.read({}), client_dialect=OPENAI_CHAT)
EXCHANGE = Exchange(endpoints.MESSAGES, settings.read({}), "/gateway", client_dialect=ANTHROPIC)


def test_a_request_is_written_for_the_server_and_its_endpoint() -> None:
    request = read(EXCHANGE, json.dumps({**REQUEST, "stream": True}).encode())
    sent = request.translate(by_name("llama.cpp"), parses=False)
    written = sent.body
    assert (EXCHANGE.path, sent.form, sent.model) == (
        "/gateway/v1/chat/completions",
        Form.STREAM,
        "small",
    )
    assert (written["model"], written["stream"], written["stream_options"]) == (
        "small",
        True,
        {"include_usage": True},
    )


@pytest.mark.parametrize(
    ("fields", "stops"),
    [
        ({}, ()),
        ({"stop": "END"}, ("END",)),
        ({"stop": ["a", "", 5, "b"]}, ("a", "b")),
        ({"stop_sequences": ["END"]}, ("END",)),
        ({"stop": {"no": "list"}}, ()),
    ],
)
def test_the_strings_at_which_a_server_stops(fields: object, stops: tuple[str, ...]) -> None:
    assert read_in_dialect(EXCHANGE, json.dumps(fields).encode()).stop_strings == stops


def test_what_is_left_out_is_noted() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    request = read(EXCHANGE, json.dumps({**REQUEST, "tools": tools}).encode())
    assert any("web_search" in note for note in request.notes)


REFUSED = [
    (b"", UnreadableError),
    (b"{", UnreadableError),
    (b"[]", RequestError),
    (b"{}", RequestError),
]


@pytest.mark.parametrize(("body", "error"), REFUSED, ids=repr)
def test_a_request_that_breaks_the_format_is_refused(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(EXCHANGE, body)


NATIVE = replace(EXCHANGE, settings=settings.read({"native": ["messages"]}))
OMITTED = {"thinking": {"type": "adaptive", "display": "omitted"}}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, True),
        ({"thinking": {"type": "adaptive"}}, True),
        ({"thinking": "omitted"}, True),
        (OMITTED, False),
    ],
)
def test_a_native_request_may_ask_that_no_thinking_be_shown(
    fields: dict[str, object], shown: bool
) -> None:
    body = json.dumps({**REQUEST, **fields}).encode()
    assert read_in_dialect(NATIVE, body).shows_thinking is shown
    assert read_in_dialect(NATIVE, body).reply_context.shown is shown
    assert fields == {"thinking": "omitted"} or read(EXCHANGE, body).shows_thinking is shown


def test_a_field_of_another_dialect_hides_nothing() -> None:
    assert read_in_dialect(CHAT, json.dumps({**REQUEST, **OMITTED}).encode()).shows_thinking


def test_the_reply_is_called_as_the_client_called_the_model() -> None:
    served = read_in_dialect(CHAT, json.dumps(REQUEST).encode()).with_served_model("local")
    assert (served.body["model"], served.client_model, served.requested_model) == (
        "local",
        "small",
        "small",
    )


@pytest.mark.parametrize(
    ("text", "mended"),
    [("cut \ud83d here", True), ("\U0001f600", False), ("\ud83d" + "x" * SEARCHED, False)],
)
def test_half_a_character_is_written_anew(text: str, mended: bool) -> None:
    """llama.cpp and others refuse the request else."""
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    assert read_in_dialect(CHAT, body).body_changed is mended


def test_broken_arguments_in_a_history_are_mended_once() -> None:
    """Servers refuse each later request for them; a message that was mended is not read again."""
    broken = {"id": "a", "function": {"name": "f", "arguments": '{"a'}}
    turn = {"role": "assistant", "tool_calls": [broken]}
    body = json.dumps({"messages": [turn, {"role": "user", "content": "x" * SHORT}]}).encode()
    turns, sent = KnownTurns(), list[object]()
    for _ in range(2):
        request = read_in_dialect(CHAT, body, partial(turns.read, "me"))
        assert request.body_changed
        assert request.repeated_turns
        turns.keep("me", request.repeated_turns, len(body))
        sent.append(messages_of(request.body)[0])
    assert sent[0] is sent[1]
    assert sent[0] == {
        **turn,
        "tool_calls": [{**broken, "function": {"name": "f", "arguments": '{"arguments":"{\\"a"}'}}],
    }
