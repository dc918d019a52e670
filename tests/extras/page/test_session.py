"""The additions of an exchange to a session, and the differences of two requests."""

import json
import re
from typing import Any

import pytest

from converter.addon.transcript.turns import ShownTurn, Transcript
from converter.core.model.conversation import ToolUse
from converter.extras.page import session
from converter.extras.page.session import (
    SessionExchange,
    differences,
    page,
    session_exchange,
    tools,
)
from tests.extras.page.test_session_html import HOSTILE, Read
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
    values: list[Any] = [*session.read([first, branch, then])]
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
    [value] = session.read([running])
    assert roles(value, "reply") == []
    assert value["session"] == flow.id


def test_a_request_that_cannot_be_read_is_shown_as_it_came() -> None:
    flow = request(CHAT, b'{"messages": [')
    [value] = session.read(
        [session_exchange(flow, {"id": flow.id, "running": True}, b'{"messages": [')]
    )
    read: Any = value["request"]
    assert [part["text"] for part in read["rest"]] == ['{"messages": [']


def test_tools_are_called_anywhere_in_the_session() -> None:
    chunks = [ROLE, delta(tool_calls=[{"index": 0, **CALL}]), finish("tool_calls"), DONE]
    flow = kept(request(CHAT, chat(USER, tools=TOOLS)), response(EVENT_STREAM), *chunks)
    caller = session_exchange(flow, {"id": flow.id, "running": False}, b"{}")
    running = session_exchange(flow, {"id": flow.id, "running": True}, b"{}")
    assert session.called([exchange("1", chat(USER), "1"), running]) == set()
    assert session.called([running, caller]) == {"task"}


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
    assert dict(differences(before, now)) == expected


def test_very_long_parts_are_not_compared_line_by_line() -> None:
    changes = dict(differences(chat({"role": "user", "content": "a\n" * 5001}), chat(USER)))
    assert changes == {"message 0 (user)": ["- 5,001 lines", "+ 1 lines"]}


TASK = {"role": "user", "content": "Look"}
SESSION = (
    exchange("1", chat(SYSTEM, USER), "1", title="Mend b.py", waited=1.25, client=HOSTILE),
    exchange("2", chat(SYSTEM, TASK), "2", "1", title="Look"),
    exchange("3", chat(SYSTEM, {"role": "user", "content": HOSTILE}), "3", "2", title=HOSTILE),
    exchange("4", chat(SYSTEM, USER, CALLED, RESULT), "1", title="Mend b.py", output_tokens=1200),
)


def test_branches_stand_behind_what_began_them() -> None:
    written = page(SESSION, "")
    places = [written.index(f'<article id="x{number}">') for number in (1, 2, 3, 4)]
    assert places == sorted(places)
    assert written.count('<details class="part branch" open>') == 2
    assert "Sub-agent · Look" in written
    assert "waited 1.2 s" in written
    assert "1,200 written" in written


def test_nothing_in_it_is_markup_that_others_wrote() -> None:
    name = f'"{HOSTILE}'  # flows of a file may be called anything
    hostile = exchange(name, chat(USER), name, "1", title=HOSTILE, model=HOSTILE)
    read = Read(page([*SESSION, hostile], "", ("1", "3")))
    assert read.open == []
    assert "script" not in read.seen


def test_two_requests_are_compared() -> None:
    written = page(SESSION, "")
    assert '<option value="2">2 · Look</option>' in written
    assert re.findall('value="(.)" selected', written) == ["3", "4"], "the last two at first"
    assert "What differs" not in written
    differs = page(SESSION, "", ("1", "2"))
    assert "<summary>message 1 (user)" in differs
    assert re.findall('value="(.)" selected', differs) == ["1", "2"]
    assert "<del>-Mend b.py</del>\n<ins>+Look</ins>" in differs
    assert "Nothing." in page(SESSION, "", ("1", "1"))
    assert "What differs" not in page(SESSION, "", ("1", "gone"))


@pytest.mark.parametrize("gone", [(0,), (1,), (0, 3), (0, 1), (1, 2), (0, 2, 3)])
def test_what_is_left_of_a_session_is_shown_whole(gone: tuple[int, ...]) -> None:
    """mitmweb's list lets go of flows, the first of a session or of a branch as well."""
    left = [each for number, each in enumerate(SESSION) if number not in gone]
    written = page(left, "")
    assert written.count("<article ") == len(left)
    assert all(f'<article id="x{number}">' in written for number in range(1, len(left) + 1))


def test_nothing_left_is_an_empty_page() -> None:
    assert "<h1>A session</h1>" in page([], "")


def test_a_later_branch_of_a_branch_that_lost_its_first_stays_in_it() -> None:
    goes_on = exchange("5", chat(SYSTEM, TASK, CALLED, RESULT), "2", "1", title="Look")
    left = [SESSION[0], SESSION[2], goes_on]
    written = page(left, "")
    assert written.count('<details class="part branch" open>') == 2


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
    task, idle = tools(exchanges)
    assert task[:5] == ("task", 1, 0, 10, 100)
    assert idle == ("never called", 0, 0, 0, 0, task[5])
