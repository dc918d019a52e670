"""A row of the list: what an exchange is at, how long it took and what it cost, at any time."""

import json
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow

from converter.addon.hooks import tap
from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.extras.page.row import Row, is_listed, row
from tests.support.addon_flows import CHAT, EVENT_STREAM, MESSAGES, request, response, streaming
from tests.support.frames import END, ROLE, delta, text
from tests.support.kept_flows import Watched, kept, pass_on, watched

CALL = {"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}

CHAT_CALL = {"role": "assistant", "tool_calls": [CALL]}
BLOCK_CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "1", "name": "Read", "input": {}}],
}
BLOCK_RESULT = {"type": "tool_result", "tool_use_id": "1", "content": "# A file"}
RESPONSES_CALL = (
    {"type": "function_call", "call_id": "1", "name": "shell", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": "ok"},
)


def of(flow: HTTPFlow, before: Row | None = None) -> Row:
    return row(flow, RUNNING_RECORDS.get(flow.id), before)


def begun(there: Watched) -> HTTPFlow:
    return there.begin(streaming(CHAT), response(EVENT_STREAM))


def test_conversations_are_listed_and_nothing_else() -> None:
    assert is_listed(request(CHAT))
    assert is_listed(request(MESSAGES))
    assert not is_listed(request("/v1/models", b"", "GET"))
    assert not is_listed(request("/v1/messages/count_tokens"))
    assert not is_listed(None)


def test_it_says_what_the_model_is_at() -> None:
    with watched() as there:
        flow = there.ask(streaming(CHAT))
        first = of(flow)
        assert (first["state"], first["running"], first["model"]) == ("waiting", True, "small")
        there.begin(flow, response(EVENT_STREAM))
        rows = [first]
        for piece in (ROLE, *text("<think>Hm", " hm.", "</think>It ", "is.")):
            pass_on(flow, piece)
            rows.append(of(flow, rows[-1]))
        pass_on(flow, delta(tool_calls=[CALL]))
        rows.append(of(flow, rows[-1]))
        assert [each["state"] for each in rows] == [
            "waiting",
            "waiting",
            "thinking",
            "thinking",
            "answering",
            "answering",
            "calling",
        ]
        pass_on(flow, b"".join(END), b"")
        last = of(there.end(flow), rows[-1])
    assert (last["state"], last["running"]) == ("done", False)
    assert (last["input_tokens"], last["output_tokens"], last["thoughts"]) == (7, 5, 1)


def test_a_call_in_the_text_is_counted_while_it_is_written() -> None:
    flow = request(CHAT, {"model": "m", "stream": True, "tools": [{"function": {"name": "f"}}]})
    with watched() as there:
        flow = there.begin(flow, response(EVENT_STREAM))
        pass_on(flow, ROLE, *text("Look.", '<tool_call>{"name": "f", "arguments": {"a": "'))
        first = of(flow)
        pass_on(flow, *text("word"))
        second = of(flow, first)
        assert (second["state"], second["calling"]) == ("calling", 49)
        pass_on(flow, *text('"}}</tool_call>'))
        assert "calling" not in of(flow, second)


def test_what_is_sent_again_begins_anew() -> None:
    with watched() as there:
        flow = there.ask(streaming(CHAT))
        before = {**of(flow), "running": False, "state": "done", "thinking": 999}
        there.begin(flow, response(EVENT_STREAM))
        assert of(flow, before)["state"] == "waiting"
        pass_on(flow, ROLE, *text("<think>Hm"))
        assert of(flow, before)["state"] == "thinking"
        there.break_off(flow, "Client disconnected")
    flow.is_replay = "request"
    assert of(flow)["again"] is True
    flow.is_replay = "response"  # mitmproxy has given an old reply
    assert of(flow)["again"] is False


def test_its_times_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched() as there:
        flow = begun(there)
        clock = [flow.request.timestamp_start + 10]
        monkeypatch.setattr(tap, "time", lambda: clock[0])
        pass_on(flow, ROLE, *text("<think>Hm"))
        clock[0] += 5
        pass_on(flow, *text("</think>It"))
        clock[0] += 2
        pass_on(flow, *END, b"")
        row = of(there.end(flow))
    assert row["waited"] == pytest.approx(10)
    assert row["thought"] == pytest.approx(5)
    assert row["end"] == pytest.approx(17)


FAILURES: dict[str, tuple[tuple[Any, ...], str]] = {
    "the server refuses": ((response(status=404), b"{}"), "status 404"),
    "it says so in the stream": (
        (response(EVENT_STREAM), ROLE, b'data: {"error":{"message":"full"}}\n\n'),
        "full",
    ),
    "it stops in the middle": ((response(EVENT_STREAM), ROLE, *text("It")), "cut short"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_broken_one_says_why(name: str) -> None:
    sent, failure = FAILURES[name]
    row = of(kept(streaming(CHAT), *sent))
    assert row["state"] == "broken"
    assert failure in str(row["failure"])


@pytest.mark.parametrize(("pieces", "state"), [((), "left"), (END, "done")])
def test_a_client_that_leaves_after_the_end_breaks_nothing(pieces: list[bytes], state: str) -> None:
    with watched() as there:
        flow = begun(there)
        pass_on(flow, ROLE, *text("It is."), *pieces)
        there.break_off(flow, "Client disconnected.")
    assert of(flow)["state"] == state


def test_a_row_is_titled_by_the_start_of_its_question() -> None:
    turns = [
        {"role": "user", "content": "What is\n12 * 7?"},
        {"role": "assistant", "content": "84"},
        {"role": "user", "content": "<system-reminder>be brief</system-reminder>"},
    ]
    flow = request(CHAT, json.dumps({"model": "small", "messages": turns}).encode())
    assert of(flow)["title"] == "What is 12 * 7?"
    assert of(request(CHAT, b"no JSON"))["title"] == ""


@pytest.mark.parametrize(
    ("turns", "title"),
    [
        ([CHAT_CALL, {"role": "tool", "tool_call_id": "1", "content": "7\ndegrees"}], "← f: 7 degrees"),
        ([CHAT_CALL, {"role": "tool", "tool_call_id": "1", "content": "Chunk ID: 3a\nWall time: 0.0 seconds\nOutput:\n7"}], "← f: 7"),
        ([BLOCK_CALL, {"role": "user", "content": [BLOCK_RESULT]}], "← Read: # A file"),
        ([*RESPONSES_CALL], "← shell: ok"),
        ([{"role": "user", "content": "Your task is to create a detailed summary of all."}],
         "Summary of the session (compaction)"),
    ],
)  # fmt: skip
def test_a_row_is_titled_by_what_is_new_in_it(turns: list[Any], title: str) -> None:
    reply = {"role": "assistant", "content": "Hm."}
    messages = [{"role": "user", "content": "The question"}, reply, *turns]
    assert of(request(CHAT, {"messages": messages}))["title"] == title


def test_what_a_client_adds_in_tags_is_no_title() -> None:
    question = "What is 2 < 3?\n  <system-reminder>\nSay nothing.\n</system-reminder>"
    flow = request(CHAT, {"messages": [{"role": "user", "content": question}]})
    assert of(flow)["title"] == "What is 2 < 3?"
