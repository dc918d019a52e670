"""Run agents on a real server, through the addon: tool loops of SDKs, Claude Code and Codex.

`tests.support.npm` installs Claude Code and Codex once into .cache.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.support import claude_code, codex
from tests.support.harness import TESTS
from tests.support.npm import MissingError
from tests.support.tool_loops import ENDS, IN_BOTH, IN_OSLO, LOOPS
from tools.lab.servers import MODEL

LOOP_ROW = "tool loops of three SDKs"
"""Name of the row with the results of the tool loops."""
CLAUDE_ROW = f"Claude Code {claude_code.VERSION}"
"""Name of the row with the results of Claude Code."""
CODEX_ROW = f"Codex {codex.VERSION}"
"""Name of the row with the results of Codex."""
SUM = "12 * 7"
"""A question that needs no tool."""

type Faults = Mapping[str, str]
"""Name of a run -> its fault, empty if the run was right."""


def run_agents(port: int, folder: Path) -> Iterator[tuple[str, Faults]]:
    """Run each kind of agent; yield the name of its row in the results, and the faults of its runs.

    An agent that cannot be installed gets no row. `port`: the proxy's; `folder`: for their files.
    """
    yield LOOP_ROW, dict(_run_loops(port))
    for row, run in ((CLAUDE_ROW, _run_claude_code), (CODEX_ROW, _run_codex)):
        try:
            yield row, dict(run(port, folder))
        except MissingError as missing:
            print(f"{row} is NOT run: {missing}", flush=True)


def _run_loops(port: int) -> Iterator[tuple[str, str]]:
    """Run the tool loop of each SDK, streamed and whole, with a question that needs one call and
    with one that needs two; yield name and fault of each run.
    """
    for client, loop in LOOPS.items():
        for streamed in (True, False):
            for question, cities in ((IN_OSLO, ["Oslo"]), (IN_BOTH, ["Oslo", "Rome"])):
                name = f"{client} {'streamed' if streamed else 'whole'} {len(cities)}"
                try:
                    seen = loop(port, streamed, question)
                except Exception as error:  # any error of an SDK is a fault that a user would see
                    yield name, f"{type(error).__name__}: {error}"[:120]
                    continue
                right = "21 degrees" in seen.answer and seen.cities == cities
                ends = tuple(seen.ends) == ENDS[client]
                yield name, "" if right and ends else f"{seen.cities} {seen.ends}"


def _run_claude_code(port: int, folder: Path) -> Iterator[tuple[str, str]]:
    """Run Claude Code without tools, and with a tool of an MCP server; yield name and fault of each
    run.
    """
    program = claude_code.install()
    server = {"command": sys.executable, "args": [str(TESTS / "support" / "weather_tool.py")]}
    file = folder / "weather.json"
    file.write_text(json.dumps({"mcpServers": {"w": server}}))
    tool = ("--mcp-config", str(file), "--strict-mcp-config", "--allowedTools")

    def plain() -> str:
        """Ask a question without tools; return the fault of the session."""
        session = claude_code.ask(program, port, folder, SUM, *claude_code.NO_TOOLS)
        kinds = [block["type"] for block in session.blocks]
        return "" if kinds == ["thinking", "text"] else f"{kinds} {session.end.get('result')}"

    def with_a_tool() -> str:
        """Ask for the weather, with a tool; return the fault of the session."""
        allowed = (*claude_code.NO_TOOLS, *tool, "mcp__w__get_weather")
        session = claude_code.ask(program, port, folder, IN_OSLO, *allowed)
        result = str(session.end.get("result"))
        called = [block["input"] for block in session.blocks if block["type"] == "tool_use"]
        right = called == [{"city": "Oslo"}] and "21 degrees" in result
        return "" if right else f"{called} {result}"

    yield from _run_each({"without tools": plain, "with a tool": with_a_tool})


def _run_codex(port: int, folder: Path) -> Iterator[tuple[str, str]]:
    """Run two turns of one session of Codex; yield name and fault of each."""
    program = codex.install()

    def turn(resume: bool) -> Callable[[], str]:
        """Return a function that runs one turn of Codex and returns its fault. `resume`: True to
        continue the session of the turn before.
        """

        def ask() -> str:
            """Run the turn; return its fault."""
            session = codex.ask(program, port, folder, SUM, model=MODEL, tools=False, resume=resume)
            ended = session.end.get("type") == "turn.completed"
            right = ended and session.kinds == ["reasoning", "agent_message"]
            return "" if right else f"{session.kinds} {session.end}"

        return ask

    yield from _run_each({"first turn": turn(resume=False), "second turn": turn(resume=True)})


def _run_each(tries: Mapping[str, Callable[[], str]]) -> Iterator[tuple[str, str]]:
    """Run each function, which returns a fault or an empty text; yield its name and the fault.

    `tries`: name of a run -> its function. A timeout, ValueError or LookupError of a run is its
    fault; any other error ends this.
    """
    for name, run in tries.items():
        try:
            yield name, run()[:120]
        except (subprocess.TimeoutExpired, ValueError, LookupError) as error:
            yield name, f"{type(error).__name__}: {error}"[:120]
