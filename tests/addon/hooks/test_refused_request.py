"""A refusal is read as it comes, and the request goes out again without its cause."""

import json
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow, Response

from converter.addon.hooks.refused_request import METADATA, RefusalReader
from converter.addon.servers import refusals
from tests.support.addon_flows import BASIC, CHAT, MESSAGES, ask, request, running, wait

SCHEMA = {"type": "object", "properties": {"day": {"type": "string", "pattern": r"\d"}}}
TOOL = {"type": "function", "function": {"name": "log", "parameters": SCHEMA}}
BODY = {"model": "m", "messages": [], "tools": [TOOL]}
REFUSAL = b'{"error": {"message": "failed to parse grammar"}}'
BLIND = b'{"error": {"message": "image input is not supported"}}'


def refuse(addon: Any, flow: HTTPFlow) -> RefusalReader:
    """Have the server refuse what it was sent."""
    flow.response = Response.make(400, b"", {"content-type": "application/json"})
    wait(addon.responseheaders(flow))
    watcher = addon._listener.body_reader(flow)
    assert isinstance(watcher, RefusalReader)
    return watcher


@pytest.mark.parametrize("length", [1, 1000])
def test_the_second_request_lacks_what_was_refused(length: int) -> None:
    with running() as (addon, _):
        flow = ask(addon, request(CHAT, BODY))
        watcher = refuse(addon, flow)
        for at in range(0, len(REFUSAL), length):
            assert not watcher.stopped
            watcher(REFUSAL[at : at + length])
        assert watcher.stopped
        again = watcher.next_request(possible=True)
        assert again
        assert "pattern" not in (again.text or "pattern")
        assert json.loads(str(flow.metadata[METADATA])) == BODY
        assert not watcher.stopped


def test_another_trait_may_be_refused_then_and_the_same_may_not() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    both = {**BODY, "messages": [{"role": "user", "content": [picture]}]}
    with running() as (addon, _):
        flow = ask(addon, request(CHAT, both))
        for refusal, left in ((REFUSAL, "image_url"), (BLIND, "picture left out")):
            watcher = refuse(addon, flow)
            watcher(refusal)
            again = watcher.next_request(possible=True)
            assert again
            assert left in (again.text or "")
            assert "pattern" not in (again.text or "pattern")
        assert json.loads(str(flow.metadata[METADATA])) == both
        assert watcher.first_body == both
        watcher = refuse(addon, flow)
        watcher(REFUSAL)
        assert not watcher.stopped


def test_a_trait_that_is_refused_twice_has_a_next_one() -> None:
    refusal = b'{"error": {"message": "Thinking mode does not support this tool_choice"}}'
    with running() as (addon, _):
        flow = ask(addon, request(CHAT, {**BODY, "tool_choice": "required"}))
        for choice in ("required", "auto"):
            watcher = refuse(addon, flow)
            watcher(refusal)
            again = watcher.next_request(possible=True)
            assert again
            sent = json.loads(again.text or "")
            assert (sent["tool_choice"], sent["thinking"]) == (choice, {"type": "disabled"})
        watcher = refuse(addon, flow)
        watcher(refusal)
        assert not watcher.stopped


def test_an_unsure_message_costs_this_request_alone_its_pictures() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    pictured = {**BODY, "messages": [{"role": "user", "content": [picture]}]}
    with running() as (addon, _):
        for _ in range(2):  # nothing is learnt
            flow = ask(addon, request(CHAT, pictured))
            assert "image_url" in (flow.request.text or "")
            watcher = refuse(addon, flow)
            watcher(b'{"error": {"message": "no vision arm"}}')
            again = watcher.next_request(possible=True)
            assert again
            assert "picture left out" in (again.text or "")
            flow.response = Response.make(200, b"{}", {"content-type": "application/json"})
            wait(addon.responseheaders(flow))
    with running(pictures="refuse") as (addon, _):
        watcher = refuse(addon, ask(addon, request(CHAT, pictured)))
        watcher(b'{"error": {"message": "no vision arm"}}')
        assert not watcher.stopped


UNPARSED = (
    b'{"error": {"message": "\\"auto\\" tool choice requires --enable-auto-tool-choice and '
    b'--tool-call-parser to be set"}}'
)
"""vLLM 0.32 without a tool parser, of each request that an agent makes."""


def test_tools_go_to_a_server_that_reads_no_calls() -> None:
    with running() as (addon, _):
        for expected in ("auto", "none"):  # the second client needs no refusal
            flow = ask(addon, request(CHAT, {**BODY, "tool_choice": "auto"}))
            assert json.loads(flow.request.text or "")["tool_choice"] == expected
            watcher = refuse(addon, flow)
            watcher(UNPARSED)
            if expected == "none":
                assert not watcher.stopped
                break
            again = watcher.next_request(possible=True)
            assert again
            assert json.loads(again.text or "") == {**BODY, "tool_choice": "none"}
            flow.response = Response.make(200, b"{}", {"content-type": "application/json"})
            wait(addon.responseheaders(flow))


def test_a_servers_own_endpoint_gets_no_calls_as_text() -> None:
    tool = {"name": "log", "input_schema": SCHEMA}
    body = {**BASIC, "tools": [tool], "tool_choice": {"type": "auto"}}
    unparsed = b'{"type": "error", ' + UNPARSED[1:]
    with running(native=["messages"]) as (addon, _):
        flow = ask(addon, request(MESSAGES, body))
        watcher = refuse(addon, flow)
        watcher(REFUSAL)
        assert not watcher.stopped  # all else goes on as it came
        watcher = refuse(addon, flow)
        watcher(unparsed)
        again = watcher.next_request(possible=True)
        assert again
        assert again.path == MESSAGES
        assert json.loads(again.text or "") == {**body, "tool_choice": {"type": "none"}}
        flow.response = Response.make(200, b"{}", {"content-type": "application/json"})
        wait(addon.responseheaders(flow))
        later = ask(addon, request(MESSAGES, body)).request
        assert json.loads(later.text or "") == {**body, "tool_choice": {"type": "none"}}


def test_without_a_reader_of_calls_the_refusal_stands() -> None:
    with running(tools="off") as (addon, _):
        watcher = refuse(addon, ask(addon, request(CHAT, BODY)))
        watcher(UNPARSED)
        assert not watcher.stopped


def test_text_of_the_client_is_no_refusal() -> None:
    picture = {"type": "image_url", "image_url": {"url": "http://x/?m is not a multimodal model"}}
    pictured = {**BODY, "messages": [{"role": "user", "content": [picture]}]}
    with running() as (addon, _):
        watcher = refuse(addon, ask(addon, request(CHAT, pictured)))
        watcher(b'{"error": {"message": "cannot load http://x/?m is not a multimodal model"}}')
        assert not watcher.stopped


@pytest.mark.parametrize(
    ("chunk", "is_one"),
    [
        (b"event: error\ndata: " + REFUSAL + b"\n\n", True),
        (b"data: " + REFUSAL + b"\n\n", True),
        (b"data: " + REFUSAL[:-9], False),
        (b'data: {"error": {"message": "gone"}}\n\n', False),
        (b'data: {"choices": []}\n\n', False),
        (b": a comment\n\n", False),
    ],
)
def test_a_stream_may_be_nothing_but_a_refusal(chunk: bytes, is_one: bool) -> None:
    with running() as (addon, _):
        watcher = refuse(addon, ask(addon, request(CHAT, BODY)))
        assert watcher.read_first_chunk(chunk) is is_one
        assert watcher.stopped is is_one


def test_a_page_of_an_error_is_no_refusal() -> None:
    with running() as (addon, _):
        watcher = refuse(addon, ask(addon, request(CHAT, BODY)))
        for chunk in (b"x" * 60_000, b"x" * 60_000, REFUSAL):
            watcher(chunk)
        assert not watcher.stopped
        assert len(watcher._received) == 120_000


def test_a_fault_of_ours_leaves_the_servers_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(refusals, "without_traits", broken)
    with running() as (addon, _):
        watcher = refuse(addon, ask(addon, request(CHAT, BODY)))
        assert watcher(REFUSAL) == []
    assert not watcher.stopped
    assert "could not be read" in caplog.text
