"""The view of a flow in mitmweb and the console, by mitmproxy's own registry of content views."""

from collections.abc import Iterator
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow
from mitmproxy.test import taddons

from converter.addon.keep.notes import METADATA
from converter.extras.watch.views import TEXT_LIMIT, WIDTH, Views, last_rows, wrap_lines
from tests.support import recorded
from tests.support.addon_flows import (
    BASIC,
    CHAT,
    EVENT_STREAM,
    JSON,
    MESSAGES,
    request,
    response,
    streaming,
)
from tests.support.frames import ROLE, delta, stream, whole
from tests.support.kept_flows import kept, pass_on, saved, shown, watched
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

SERVER = "Thinking server"
THOUGHT = stream("<think>I add.</think>", "It is 4.")


@pytest.fixture(autouse=True)
def offered() -> Iterator[None]:
    with taddons.context(Views()):
        yield


def request_to(path: str, streamed: bool = True, **fields: object) -> HTTPFlow:
    return request(path, {**BASIC, "stream": streamed, **fields})


def bare(path: str, content_type: str, body: bytes, asking: object = BASIC) -> HTTPFlow:
    """A flow of another proxy's: no addon has seen it."""
    flow = request(path, asking)
    flow.response = response(content_type)
    flow.response.raw_content = body
    return flow


def reply(flow: HTTPFlow, view: str = "auto") -> str:
    return shown(flow, flow.response, view).text


EXCHANGES = {
    "streamed, OpenAI": (CHAT, True, EVENT_STREAM, THOUGHT),
    "streamed, Anthropic": (MESSAGES, True, EVENT_STREAM, THOUGHT),
    "whole, OpenAI": (CHAT, False, JSON, [whole("<think>I add.</think>It is 4.")]),
    "whole, Anthropic": (MESSAGES, False, JSON, [whole("<think>I add.</think>It is 4.")]),
}


@pytest.mark.parametrize(("path", "streamed", "kind", "chunks"), EXCHANGES.values(), ids=EXCHANGES)
@pytest.mark.parametrize("how", ["rewritten", "from a file", "reverted", "no addon"])
def test_the_view_is_chosen_by_itself_and_sets_thinking_apart(
    path: str, streamed: bool, kind: str, chunks: list[bytes], how: str
) -> None:
    flow = kept(request_to(path, streamed), response(kind), *chunks)
    if how == "no addon":
        flow = bare(path, kind, b"".join(chunks), {**BASIC, "stream": streamed})
    flow = saved(flow) if how == "from a file" else flow
    if how == "reverted":
        flow.revert()
    for message, output in (
        (flow.request, "user: |\n  Hi\n"),
        (flow.response, "  thinking:\n    #│ I add.\n  text: |\n    It is 4.\n"),
    ):
        result = shown(flow, message)
        assert (result.view_name, result.syntax_highlight) == ("Thinking", "yaml")
        assert output in result.text
        assert "rest:" not in result.text


OTHERS = {
    "another endpoint": bare("/v1/embeddings", JSON, b'{"data": []}'),
    "JSON of anything": bare("/api/users", JSON, b'{"choices": []}'),
    "the list of models": bare("/v1/models", JSON, b'{"data": []}'),
    "a page": bare(CHAT, "text/html", b"<html>Bad gateway</html>"),
    "a count of tokens": bare("/v1/messages/count_tokens", JSON, b'{"input_tokens": 1}'),
}


@pytest.mark.parametrize("flow", OTHERS.values(), ids=OTHERS)
def test_what_is_no_model_traffic_is_left_to_mitmproxy(flow: HTTPFlow) -> None:
    assert shown(flow, flow.response).view_name not in ("Thinking", SERVER)


@pytest.mark.parametrize("from_file", [False, True], ids=["live", "from a file"])
def test_the_servers_view_shows_its_request_and_reply(from_file: bool) -> None:
    body = stream("<think>I add.</think>", "It is 4.")
    flow = kept(request_to(MESSAGES, system="Be short."), response(EVENT_STREAM), *body)
    flow = saved(flow) if from_file else flow
    both = [
        (shown(flow, flow.request, view).text, reply(flow, view)) for view in ("Thinking", SERVER)
    ]
    [(client_request, client_reply), (server_request, server_reply)] = both
    assert ("stream_options" in client_request, "stream_options" in server_request) == (False, True)
    assert ("stop: end_turn" in client_reply, "stop: stop" in server_reply) == (True, True)
    assert "#│ I add." in server_reply


def test_what_the_addon_wrote_is_not_split_again() -> None:
    flow = kept(
        request_to(CHAT), response(EVENT_STREAM), *stream("</think>", "It is 4."), start="thinking"
    )
    assert "thinking:" not in reply(flow)
    assert "It is 4." in reply(flow)


def test_without_a_backup_both_views_show_the_message() -> None:
    counted = request_to(CHAT, stream_options={"include_usage": True})
    flow = kept(counted, response(EVENT_STREAM), *stream("It is 4."))
    assert reply(flow) == reply(flow, SERVER)
    assert shown(flow, flow.request).text == shown(flow, flow.request, SERVER).text


def test_a_reply_ends_with_its_facts() -> None:
    output = reply(kept(request_to(CHAT), response(EVENT_STREAM), *THOUGHT))
    for line in (
        "model: small\n",
        "stop: stop\n",
        "tokens: 7 in, 5 out\n",
        "thoughts: 1, 6 characters\n",
        ", thought 0.",
    ):
        assert line in output


ODD = {
    "no JSON": b"no JSON at all",
    "half a frame": b"".join(THOUGHT)[:-40],
    "JSON of odd shape": b'{"choices": {"a": [null]}, "usage": 7}',
    "a list": b"[[[{}]]]",
    "no UTF-8": b'data: {"choices": [{"delta": {"content": "\xff\xfe"}}]}\n\n',
    "frames of many kinds": b'data: {"type": "message_start"}\n\ndata: {"choices": []}\n\nevent: x\ndata: 7\n\n',
    "nothing": b"",
    "depth": b"[" * 100_000,
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
@pytest.mark.parametrize("view", ["Thinking", SERVER])
def test_a_view_never_fails(body: bytes, view: str) -> None:
    flow = bare(CHAT, JSON, body, body)
    for message in (flow.request, flow.response):
        assert shown(flow, message, view).view_name == view


@pytest.mark.parametrize(
    "noted",
    ["{", '{"options": 7}', '{"options": {"start": "x"}, "begins": 7}', '{"summary": []}', "[]"],
)
def test_notes_that_cannot_be_read_cost_no_view(noted: str) -> None:
    flow = kept(request_to(CHAT), response(EVENT_STREAM), *THOUGHT)
    flow.metadata[METADATA] = noted
    assert "#│ I add." in reply(flow)
    assert "#│ I add." in reply(flow, SERVER)


def test_a_fault_of_ours_shows_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise AttributeError

    monkeypatch.setattr("converter.addon.transcript.reply.read", broken)
    assert reply(bare(CHAT, JSON, b'{"a": "\x1b[31m"}')) == '{"a": "␛[31m"}'


def test_control_sequences_are_spelled_out() -> None:
    evil = "\x1b[31m\x9b31m\x85\u202e\u2028\r"
    flow = kept(
        request_to(CHAT, messages=[{"role": "user", "content": evil}]),
        response(EVENT_STREAM),
        *stream(f"<think>{evil}</think>", evil),
    )
    for message in (flow.request, flow.response):
        for view in ("Thinking", SERVER):
            assert set(shown(flow, message, view).text) & set(evil) == set("[31m")


@pytest.mark.parametrize("name", recorded.names())
def test_every_recording_has_its_transcript(name: str) -> None:
    read = recorded.load(name)
    kind = EVENT_STREAM if read.request.get("stream") else JSON
    for flow in (
        bare(CHAT, kind, read.body, read.request),
        kept(request(CHAT, read.request), response(kind), read.body),
    ):
        for view in ("Thinking", SERVER):
            assert "assistant:\n" in reply(flow, view)
            assert "rest:" not in reply(flow, view)


@pytest.mark.slow
def test_a_running_reply_is_read_once() -> None:
    with watched() as there:
        flow = there.begin(streaming(), response(EVENT_STREAM))
        pass_on(flow, ROLE, delta(content="<think>I "))
        assert flow.response
        flow.response.data.content = b"data"
        output = [(reply(flow), reply(flow, SERVER))]
        pass_on(flow, delta(content="add.</think>It is"))
        output += [(reply(flow), reply(flow, SERVER))]
        assert "tool_calls" not in shown(flow, flow.request).text
        assert "max_tokens" in shown(flow, flow.request, SERVER).text
        pass_on(flow, *THOUGHT[-2:], b"")
        there.end(flow)
        output += [(reply(flow), reply(flow, SERVER))]
    for number, line in enumerate(["#│ I\n", "#│ I add.\n", "#│ I add.\n"]):
        assert all(line in view for view in output[number])
        assert all(("still coming" in view) is (number < 2) for view in output[number])


NEWEST = ROWS["newest"]


@pytest.mark.parametrize(("lines", "shown"), NEWEST.values(), ids=NEWEST)
def test_the_console_shows_the_end_of_what_comes(lines: int, shown: str) -> None:
    assert (
        last_rows("a\nb\nc\n".replace("b", "b" * 30 if "bb" in shown else "b"), 10, lines) == shown
    )


def test_a_huge_reply_is_shown_to_a_limit_and_says_so() -> None:
    frames = stream("<think>I add.</think>", *("It is 4. " * 100 for _ in range(10_000)))
    flow = bare(CHAT, EVENT_STREAM, b"".join(frames))
    first, *lines = reply(flow).splitlines()
    assert first == "# The first 8.0 of 10.5 MB. The page /think and think.show have all."
    assert lines[1] == "  thinking:"
    assert sum(map(len, lines)) < TEXT_LIMIT + 1000
    assert any("characters are left out here." in line for line in lines)


PROSE = "word " * 60


def test_long_lines_are_broken_at_blanks_and_stay_what_they_are() -> None:
    written = f"assistant:\n  thinking:\n    #│ {PROSE}\n  text: |\n    {PROSE}\n\n    short\n"
    lines = wrap_lines(written).split("\n")
    assert max(map(len, lines)) <= WIDTH
    assert [line[:10] for line in lines[2:5]] == ["    #│ wor", "    #│   w", "    #│   w"]
    assert wrap_lines("short\n") == "short\n"
    assert " ".join(wrap_lines(f"a {PROSE}").split()) == " ".join(f"a {PROSE}".split())
