"""The settings of a rewritten reply, and its lessons. (Whole replies: test_exchange.py.)"""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from converter.addon.exchange import read_request, settings
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import Exchange
from converter.addon.servers.known_servers import KnownServers, Upstream
from converter.addon.servers.profiles import GENERIC
from converter.addon.servers.unread_replies import with_tools_as_text
from converter.core.dialects.table import OPENAI_CHAT
from converter.core.model.initial_state import InitialState
from converter.core.reading.findings import Beginning, Findings
from tests.support import endpoints

UPSTREAM = Upstream("http", "127.0.0.1", 8000)
BODY = {"model": "small", "reasoning_effort": "high", "messages": []}


def _awaited(body: Mapping[str, object] | None = None, **options: object) -> AwaitedReply:
    exchange = Exchange(endpoints.CHAT, settings.read(options), id="7", client_dialect=OPENAI_CHAT)
    return AwaitedReply(read_request.read_in_dialect(exchange, json.dumps(body or BODY).encode()))


def test_the_reply_is_expected_as_its_request_says() -> None:
    expected = _awaited().expected
    assert (expected.model, expected.thoughts.task) == ("small", "7")
    assert len(expected.thoughts.context) == 16


def test_calls_are_forbidden_where_the_client_wants_none_and_the_text_is_read() -> None:
    offered = {**BODY, "tools": [{"type": "function", "function": {"name": "now"}}]}
    none = {**offered, "tool_choice": "none"}
    assert _awaited(none).expected.calls.forbidden
    assert not _awaited(offered).expected.calls.forbidden
    assert not _awaited(none, tools="off").expected.calls.forbidden


@pytest.mark.parametrize("choice", ["auto", "none"])
@pytest.mark.parametrize("tools", ["auto", "off", "told"])
def test_tools_are_offered_in_fields_or_in_the_system_turn(choice: str, tools: str) -> None:
    offered = {**BODY, "tools": [{"type": "function", "function": {"name": "now"}}]}
    awaited = _awaited({**offered, "tool_choice": choice}, tools=tools)
    assert awaited.expected.calls.offered
    spared = replace(awaited.request, body=with_tools_as_text(awaited.request.body))
    assert AwaitedReply(spared).expected.calls.offered
    assert not _awaited(tools=tools).expected.calls.offered


@pytest.mark.parametrize("name", ["thinking_token_budget", "thinking_budget_tokens"])
@pytest.mark.parametrize(
    ("server", "budget", "kept"),
    [("llama.cpp", "enforce", True), ("llama.cpp", "server", False), ("nim", "enforce", False)],
)
def test_who_ends_a_thought_keeps_its_budget(
    name: str, server: str, budget: str, kept: bool
) -> None:
    request = _awaited({**BODY, name: 9}, budget=budget).request
    awaited = AwaitedReply(request, settings.read({"server": server}).server or GENERIC)
    assert awaited.kept_fields == ({name} if kept else set())


@pytest.mark.parametrize("stop", [["ab"] * 513, "a" * 1025])
def test_long_stop_strings_are_left_to_the_server(stop: object) -> None:
    assert _awaited({**BODY, "stop": ["ab"] * 512}).cuts
    assert not _awaited({**BODY, "stop": stop}).cuts


def test_a_model_that_thinks_only_when_prompted_is_prompted_each_time() -> None:
    servers = KnownServers()
    for _ in range(2):
        awaited = _awaited(prompt="tags")
        assert awaited.request.with_prompt(servers, UPSTREAM) is not None
        prompted = AwaitedReply(awaited.request, has_think_prompt=True)
        prompted.learn(Findings(has_thinking=True), servers, UPSTREAM)


def test_a_model_that_thinks_by_itself_is_not_prompted_again() -> None:
    servers, awaited = KnownServers(), _awaited(prompt="tags")
    awaited.learn(Findings(has_thinking=False), servers, UPSTREAM)
    assert awaited.request.with_prompt(servers, UPSTREAM) is not None
    awaited.learn(Findings(has_thinking=True), servers, UPSTREAM)
    assert awaited.request.with_prompt(servers, UPSTREAM) is None


CORRECTED = Findings(beginning=Beginning(correction=InitialState.THINKING, closer_apart=True))
CONFIRMED = Findings(beginning=Beginning(confirmed=InitialState.THINKING, closer_apart=True))
TEXT = Findings(beginning=Beginning(correction=InitialState.TEXT))


def _taught(body: Mapping[str, object], *replies: Findings, **options: object) -> object:
    """Return the corrected initial state after replies to this request."""
    servers, awaited = KnownServers(), _awaited(body, **options)
    for findings in replies:
        awaited.learn(findings, servers, UPSTREAM)
    return servers.facts(UPSTREAM, body).corrected


def test_a_wrong_guess_is_corrected_unless_the_user_has_set_where_replies_begin() -> None:
    assert _taught(BODY, CORRECTED, start="text") is None
    assert _taught(BODY, CORRECTED) is InitialState.LIKELY_THINKING


def _taught_where_the_prompt_opens_a_thought(*replies: Findings) -> object:
    servers, awaited = KnownServers(), _awaited(BODY)
    servers.learn_prompt_state(UPSTREAM, BODY, InitialState.LIKELY_THINKING)
    for findings in replies:
        awaited.learn(findings, servers, UPSTREAM)
    return servers.facts(UPSTREAM, BODY).corrected


def test_what_a_misread_reply_teaches_is_a_guess_until_a_reply_confirms_it() -> None:
    taught = _taught_where_the_prompt_opens_a_thought
    assert taught(CORRECTED) is InitialState.LIKELY_THINKING
    assert taught(CORRECTED, CONFIRMED) is InitialState.THINKING
    assert taught(CORRECTED, CONFIRMED, TEXT) is InitialState.TEXT


@pytest.mark.parametrize("model", ["small", "qwen3-8b", "deepseek-r1"])
def test_it_stays_a_guess_where_no_prompt_opens_a_thought(model: str) -> None:
    """Two answers that speak of closers would make the next one empty."""
    body = {**BODY, "model": model}
    assert _taught(body, CORRECTED, CONFIRMED) is InitialState.LIKELY_THINKING


@pytest.mark.parametrize(
    "turns",
    [
        [{"role": "user", "content": "What does </think> mean?"}],
        [{"role": "system", "content": [{"type": "text", "text": "Close with </think>."}]}],
        [{"role": "tool", "content": "parser.py: if text.endswith('</think>')"}],
        [{"role": "user", "content": "On."}, {"role": "assistant", "content": "<think>So"}],
    ],
)
def test_a_request_that_speaks_of_closers_or_is_a_beginning_teaches_nothing(
    turns: list[object],
) -> None:
    assert _taught({**BODY, "messages": turns}, CORRECTED, CONFIRMED) is None


def test_thoughts_of_earlier_turns_are_no_talk_of_closers() -> None:
    turns = [
        {"role": "assistant", "content": "<think>I add.</think>84"},
        {"role": "user", "content": "And 8 * 7?"},
    ]
    assert _taught({**BODY, "messages": turns}, CORRECTED) is InitialState.LIKELY_THINKING


def test_a_closer_within_a_line_teaches_nothing() -> None:
    assert _taught(BODY, Findings(beginning=Beginning(correction=InitialState.THINKING))) is None
    assert _taught(BODY, Findings(beginning=Beginning(confirmed=InitialState.THINKING))) is None


def test_an_answer_by_a_grammar_teaches_nothing() -> None:
    body = {**BODY, "response_format": {"type": "json_object"}}
    assert _taught(body, TEXT) is None


def test_a_server_that_takes_thinking_out_is_remembered() -> None:
    servers = KnownServers()
    _awaited().learn(Findings(native=True), servers, UPSTREAM)
    assert servers.sends_thinking_field(UPSTREAM, "small")
