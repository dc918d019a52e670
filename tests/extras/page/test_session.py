"""The additions of an exchange to a session, and the differences of two requests."""

import json
from typing import Any

import pytest

from converter.addon.transcript.turns import ShownTurn, Transcript
from converter.core.model.conversation import ToolUse
from converter.extras.page import session
from converter.extras.page.session import (
    SessionExchange,
    request_differences,
    session_exchange,
    tool_costs,
)
from tests.support.addon_flows import CHAT, EVENT_STREAM, request, response
from tests.support.frames import DONE, ROLE, delta, finish, stream
from tests.support.kept_flows import kept

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Mend b.py"}
CALL = {"id": "c1", "function": {"name": "task", "arguments": '{"prompt": "Look"}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "line 3"}
TOOLS = [{"type": "function", "function": {"name": "task"}}]


def exchange(name: str, body: object, of: str, within: str = "", **more: object) -> SessionExchange:
    raw = json.dumps(body).encode()
    flow = kept(request(CHAT, raw), response(EVENT_STREAM), *stream("<think>hm</think>", "Yes"))
    row = {"id": name, "session": of, "within": within, "running": False, "title": "", **more}
    return session_exchange(flow, row, raw)


def roles(value: Any, side: str = "request") -> list[str]:
    return [turn["role"] for turn in value[side]["turns"]]


def chat(*messages: object, **more: object) -> dict[str, object]:
    return {"model": "m", "messages": list(messages), **more}


def test_each_exchange_tells_what_is_new() -> None:
    first = exchange("1", chat(SYSTEM, USER, tools=TOOLS), "1")
    branch = exchange("2", chat(SYSTEM, {"role": "user", "content": "Look"}), "2", "1")
    then = exchange("3", chat(SYSTEM, USER, CALLED, RESULT, tools=TOOLS, temperature=0), "1")
    values: list[Any] = [*session.read_exchanges([first, branch, then])]
    assert roles(values[0])[:2] == ["system", "user"]
    assert roles(values[1]) == ["system", "user"]
    assert roles(values[2]) == ["tool"]
    assert values[2]["request"]["asked"] == [["temperature", "0"]]
    kinds = [part["kind"] for part in values[2]["reply"]["turns"][0]["parts"]]
    assert kinds == ["thinking", "text"]


def test_a_reply_that_still_comes_is_left_out() -> None:
    flow = request(CHAT, chat(USER))
    running = session_exchange(
        flow, {"id": flow.id, "running": True}, json.dumps(chat(USER)).encode()
    )
    [value] = session.read_exchanges([running])
    assert roles(value, "reply") == []
    assert value["session"] == flow.id


def test_a_request_that_cannot_be_read_is_shown_as_it_came() -> None:
    flow = request(CHAT, b'{"messages": [')
    [value] = session.read_exchanges(
        [session_exchange(flow, {"id": flow.id, "running": True}, b'{"messages": [')]
    )
    read: Any = value["request"]
    assert [part["text"] for part in read["rest"]] == ['{"messages": [']


def test_tools_are_called_anywhere_in_the_session() -> None:
    chunks = [ROLE, delta(tool_calls=[{"index": 0, **CALL}]), finish("tool_calls"), DONE]
    flow = kept(request(CHAT, chat(USER, tools=TOOLS)), response(EVENT_STREAM), *chunks)
    caller = session_exchange(flow, {"id": flow.id, "running": False}, b"{}")
    running = session_exchange(flow, {"id": flow.id, "running": True}, b"{}")
    assert session.called_tools([exchange("1", chat(USER), "1"), running]) == set()
    assert session.called_tools([running, caller]) == {"task"}


OTHER = [*TOOLS, {"type": "function", "function": {"name": "read"}}]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (chat(USER), chat(USER), {}),
        (
            chat(USER, temperature=0),
            chat(USER, temperature=1),
            {"temperature": ["@@ -1 +1 @@", "-0", "+1"]},
        ),
        (
            chat(SYSTEM, USER),
            chat({**SYSTEM, "content": "Be long."}, USER),
            {"message 0 (system)": ["@@ -1 +1 @@", "-Be brief.", "+Be long."]},
        ),
        (
            {"input": "Hi", "instructions": "Be brief."},
            {"input": "Hi", "instructions": "Be long."},
            {"the system text": ["@@ -1 +1 @@", "-Be brief.", "+Be long."]},
        ),
        (
            chat(USER),
            chat(USER, RESULT),
            {"message 1 (tool)": ["@@ -0,0 +1,2 @@", "+line 3", "+c1"]},
        ),
        (
            chat(USER, tools=OTHER),
            chat(USER, tools=OTHER[::-1]),
            {
                "the order of the tools": [
                    "@@ -1,3 +1,3 @@",
                    "+tool read",
                    " tool task",
                    "-tool read",
                    " message 0 (user)",
                ]
            },
        ),
    ],
)
def test_two_requests_differ(before: Any, now: Any, expected: object) -> None:
    assert dict(request_differences(before, now)) == expected


def test_very_long_parts_are_not_compared_line_by_line() -> None:
    changes = dict(request_differences(chat({"role": "user", "content": "a\n" * 5001}), chat(USER)))
    assert changes == {"message 0 (user)": ["- 5,001 lines", "+ 1 lines"]}


def test_a_whole_session_has_its_exchanges_and_the_differences_of_two_requests() -> None:
    begun = exchange("1", chat(SYSTEM, USER), "1", title="Mend \ud800")
    branch = exchange("2", chat(SYSTEM, {"role": "user", "content": "Look"}), "2", "1")
    read = json.loads(session.session_json([begun, branch], "1", "2"))
    assert [each["within"] for each in read["exchanges"]] == ["", "1"]
    changes = ["@@ -1 +1 @@", "-Mend b.py", "+Look"]
    assert read["differences"] == [["message 1 (user)", changes]]
    for pair, expected in ((("1", "1"), []), (("", ""), None), (("1", "gone"), None)):
        assert json.loads(session.session_json([begun, branch], *pair))["differences"] == expected


def test_each_tools_calls_and_results_are_counted_once() -> None:
    offered = [*TOOLS, {"type": "function", "function": {"name": "idle"}}]
    begun = [USER]
    goes_on = [USER, CALLED, {**RESULT, "content": "x" * 400}]
    reply = Transcript((ShownTurn("assistant", (ToolUse("c1", "task", "x" * 40),)),))
    exchanges = [
        SessionExchange(
            {"session": "s"}, json.dumps(chat(*messages, tools=offered)).encode(), got, {}
        )
        for messages, got in ((begun, lambda: reply), (goes_on, None), (goes_on, None))
    ]
    task, idle = tool_costs(exchanges)
    assert task[:5] == ("task", 1, 0, 10, 100)
    assert idle == ("never called", 0, 0, 0, 0, task[5])
