"""Calls that have no meaning, in front of clients that run what they are given: none runs a part
of one.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anthropic
import pytest
from anthropic import beta_tool

from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.frames import DONE, ROLE, USAGE, delta, finish, text
from tests.support.prompts import MODEL
from tests.support.tool_call_texts import WRITTEN

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

HALVES = {
    "cut": '{"path": "/data", "dry_',
    "cut in a value": '{"path": "/da',
    "two objects": '{"path": "/data"} {"dry_run": true}',
    "no value": '{"path": "/data", "dry_run": yes, please}',
    "no object": "the path is /data",
}
ANSWER = Says(steps=[ROLE, *text("I did not."), finish("stop"), USAGE, DONE])
QUESTION: Any = [{"role": "user", "content": "Clean up."}]


def own(*arguments: str, reason: str) -> Says:
    """A reply with calls of the server's own."""
    calls = [
        {"index": at, "id": f"call_{at}", "type": "function", "function": _function(text)}
        for at, text in enumerate(arguments)
    ]
    pieces = [delta(tool_calls=[call]) for call in calls]
    return Says(steps=[ROLE, *pieces, finish(reason), USAGE, DONE])


def _function(arguments: str) -> dict[str, str]:
    return {"name": "remove", "arguments": arguments}


def in_text(arguments: str) -> Says:
    """A good call in the text, and one behind it that is none."""
    good = WRITTEN["hermes"].write([("remove", {"path": "/old"})])
    call = f'<tool_call>{{"name": "remove", "arguments": {arguments}}}</tool_call>'
    calls = f"{good}\n{call}"
    pieces = [calls[at : at + 9] for at in range(0, len(calls), 9)]
    return Says(steps=[ROLE, *text(*pieces), finish("stop"), USAGE, DONE])


@pytest.fixture
def ran() -> Iterator[list[dict[str, object]]]:
    """The calls that were run; a path with nothing behind it is half of a call."""
    calls: list[dict[str, object]] = []
    yield calls
    assert not [call for call in calls if "/da" in str(call)]


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_the_tool_runner_runs_no_half_of_a_servers_own_call(
    sdk: anthropic.Anthropic,
    model: ByPathServer,
    ran: list[dict[str, object]],
    half: str,
    reason: str,
    streamed: bool,
) -> None:
    model.rows[CHAT] = [own(half, reason=reason), ANSWER]
    _run_tools(sdk, ran, streamed)
    assert ran == []


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_the_tool_runner_runs_no_half_of_a_call_in_the_text(
    sdk: anthropic.Anthropic,
    model: ByPathServer,
    ran: list[dict[str, object]],
    half: str,
    streamed: bool,
) -> None:
    model.rows[CHAT] = [in_text(half), ANSWER]
    _run_tools(sdk, ran, streamed)


def _run_tools(sdk: anthropic.Anthropic, ran: list[dict[str, object]], streamed: bool) -> None:
    @beta_tool
    def remove(path: str, dry_run: bool = False, days: int = 0) -> str:
        """Remove a folder."""
        ran.append({"path": path, "dry_run": dry_run, "days": days})
        return "done"

    request: Any = {"model": MODEL, "max_tokens": 200, "messages": QUESTION, "tools": [remove]}
    with suppress(anthropic.APIError, ValueError):
        runner: Any = sdk.beta.messages.tool_runner(**request, stream=streamed)
        for turn in runner:
            if streamed:
                turn.get_final_message()
