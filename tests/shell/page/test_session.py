"""What an exchange of a session added, and where two requests differ."""

import json
from typing import Any

import pytest

from converter.shell.page import session
from converter.shell.page.session import Told, differences, told
from tests.support.addon_flows import CHAT, EVENT_STREAM, request, response
from tests.support.frames import DONE, ROLE, delta, finish, stream
from tests.support.kept_flows import kept

SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "Mend b.py"}
CALL = {"id": "c1", "function": {"name": "task", "arguments": '{"prompt": "Look"}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
FOUND = {"role": "tool", "tool_call_id": "c1", "content": "line 3"}
TOOLS = [{"type": "function", "function": {"name": "task"}}]


def exchange(name: str, body: object, of: str, within: str = "", **more: object) -> Told:
    raw = json.dumps(body).encode()
    flow = kept(request(CHAT, raw), response(EVENT_STREAM), *stream("<think>hm</think>", "Yes"))
    row = {"id": name, "session": of, "within": within, "running": False, "title": "", **more}
    return told(flow, row, raw)


def roles(value: Any, side: str = "request") -> list[str]:
    return [turn["role"] for turn in value[side]["turns"]]


def asked(*messages: object, **more: object) -> dict[str, object]:
    return {"model": "m", "messages": list(messages), **more}


def test_each_exchange_tells_what_is_new() -> None:
    first = exchange("1", asked(SYSTEM, ASKED, tools=TOOLS), "1")
    branch = exchange("2", asked(SYSTEM, {"role": "user", "content": "Look"}), "2", "1")
    then = exchange("3", asked(SYSTEM, ASKED, CALLED, FOUND, tools=TOOLS, temperature=0), "1")
    values: list[Any] = [*session.read([first, branch, then])]
    assert roles(values[0])[:2] == ["system", "user"]
    assert roles(values[1]) == ["system", "user"]
    assert roles(values[2]) == ["tool"]
    assert values[2]["request"]["asked"] == [["temperature", "0"]]
    kinds = [part["kind"] for part in values[2]["reply"]["turns"][0]["parts"]]
    assert kinds == ["thinking", "text"]


def test_a_reply_that_still_comes_is_not_told() -> None:
    flow = request(CHAT, asked(ASKED))
    running = told(flow, {"id": flow.id, "running": True}, json.dumps(asked(ASKED)).encode())
    [value] = session.read([running])
    assert roles(value, "reply") == []
    assert value["session"] == flow.id


def test_a_request_that_cannot_be_read_is_told_as_it_came() -> None:
    flow = request(CHAT, b'{"messages": [')
    [value] = session.read([told(flow, {"id": flow.id, "running": True}, b'{"messages": [')])
    read: Any = value["request"]
    assert [part["text"] for part in read["rest"]] == ['{"messages": [']


def test_an_exchange_is_a_line_of_json() -> None:
    first = exchange("1", asked(ASKED), "1", title="a\nb\u2028")
    lines = session.lines([first, exchange("2", b"{".decode(), "2")]).split("\n")
    assert [json.loads(line)["id"] for line in lines[:-1]] == ["1", "2"]
    assert json.loads(lines[0])["title"] == "a\nb\u2028"


def test_tools_are_called_anywhere_in_the_session() -> None:
    chunks = [ROLE, delta(tool_calls=[{"index": 0, **CALL}]), finish("tool_calls"), DONE]
    flow = kept(request(CHAT, asked(ASKED, tools=TOOLS)), response(EVENT_STREAM), *chunks)
    caller = told(flow, {"id": flow.id, "running": False}, b"{}")
    running = told(flow, {"id": flow.id, "running": True}, b"{}")
    assert session.called([exchange("1", asked(ASKED), "1"), running]) == set()
    assert session.called([running, caller]) == {"task"}


OTHER = [*TOOLS, {"type": "function", "function": {"name": "read"}}]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (asked(ASKED), asked(ASKED), {}),
        (
            asked(ASKED, temperature=0),
            asked(ASKED, temperature=1),
            {"temperature": ["@@ -1 +1 @@", "-0", "+1"]},
        ),
        (
            asked(SYSTEM, ASKED),
            asked({**SYSTEM, "content": "Be long."}, ASKED),
            {"message 0 (system)": ["@@ -1 +1 @@", "-Be brief.", "+Be long."]},
        ),
        (
            asked(ASKED),
            asked(ASKED, FOUND),
            {"message 1 (tool)": ["@@ -0,0 +1,2 @@", "+line 3", "+c1"]},
        ),
        (
            asked(ASKED, tools=OTHER),
            asked(ASKED, tools=OTHER[::-1]),
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
    found = dict(differences(asked({"role": "user", "content": "a\n" * 5001}), asked(ASKED)))
    assert found == {"message 0 (user)": ["- 5,001 lines", "+ 1 lines"]}
