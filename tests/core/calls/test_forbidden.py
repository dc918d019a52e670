"""A server's own calls where the client wants none: their JSON is text."""

import pytest

from converter.core.dialects.table import Dialect, Form
from laws.reply_parser import parse_reply
from tests.support.frames import chat_stream, chat_whole
from tests.support.recordings_of import JSON, STREAM, recording
from tests.support.turns import in_turns

NAMES = ("look", "now")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in NAMES]
ARGUMENTS = '{"path": "/data"}'
LOOK = '{"name": "look", "arguments": {"path": "/data"}}'
NOW = '{"name": "now", "arguments": {}}'


def entry(index: int, name: str | None, arguments: str) -> dict[str, object]:
    named = {"id": f"c{index}", "type": "function"} if name else {}
    function = {"name": name} if name else {}
    return {"index": index, **named, "function": {**function, "arguments": arguments}}


KINDS = {
    "a call": ("", [entry(0, "look", ARGUMENTS)], LOOK),
    "behind words": ("I look.", [entry(0, "look", ARGUMENTS)], f"I look.\n\n{LOOK}"),
    "a call that a limit cut": ("", [entry(0, "look", ARGUMENTS[:-2])], LOOK[:-3]),
    "two that take turns": (
        "",
        [entry(0, "look", ARGUMENTS[:5]), entry(1, "now", "{}"), entry(0, None, ARGUMENTS[5:])],
        f"{LOOK}\n\n{NOW}",
    ),
}


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize(("kind", "client"), in_turns(KINDS))
def test_the_json_of_a_call_is_shown(kind: str, form: Form, client: Dialect) -> None:
    content, entries, expected = KINDS[kind]
    deltas = [{"content": content}] if content else []
    finish = "tool_calls" if expected.endswith("}") else "length"
    bodies = [chat_stream([*deltas, *({"tool_calls": [each]} for each in entries)], finish)]
    if len(entries) == 1:
        message = {"role": "assistant", "content": content or None, "tool_calls": entries}
        bodies.append(chat_whole(message, finish))
    for body in bodies:
        label = JSON if body.startswith(b"{") else STREAM
        recorded = recording(body, label, tools=TOOLS, tool_choice="none")
        rewriter = recorded.rewriter(client, form)
        received = parse_reply(b"".join([*rewriter.feed(body), *rewriter.close()]), form, client)
        choice = received.choice()
        assert not received.error
        assert not choice.calls
        assert choice.joined("text") == expected
        over = ("stop", "end_turn", "completed")
        assert (choice.finish in over) is (finish == "tool_calls")
