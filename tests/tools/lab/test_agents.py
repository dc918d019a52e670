"""Agents on a server of the lab: what is right of a session, and what is missing."""

from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import pytest

from tests.support import claude_code, codex
from tests.support.npm import MissingError
from tests.support.tool_loops import Loop
from tools.lab import agents

pytestmark = pytest.mark.slow

THOUGHT = {"type": "thinking", "thinking": "I add."}
CALL = {"type": "tool_use", "name": "mcp__w__get_weather", "input": {"city": "Oslo"}}


def _text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def _session(*blocks: object, result: str = "84") -> claude_code.Session:
    said = {"type": "assistant", "message": {"content": [*blocks]}}
    return claude_code.Session(0, [said, {"type": "result", "result": result}], "")


def _turn(*kinds: str, end: str = "turn.completed") -> codex.Session:
    items: list[dict[str, Any]] = [
        {"type": "item.completed", "item": {"type": kind}} for kind in kinds
    ]
    return codex.Session(0, [*items, {"type": end}], "", Path())


def test_a_program_that_cannot_be_had_has_no_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone() -> Path:
        raise MissingError("npm is not installed")

    monkeypatch.setattr(agents, "LOOPS", {"Messages": lambda *_: Loop(answer="x")})
    monkeypatch.setattr(claude_code, "install", gone)
    monkeypatch.setattr(codex, "install", gone)
    [(row, verdicts)] = agents.agents(1, tmp_path)
    assert row == agents.LOOP_ROW
    assert verdicts == {
        f"Messages {form} {cities}": "[] []" for form in ("streamed", "whole") for cities in (1, 2)
    }
    assert "Claude Code" in capsys.readouterr().out


def test_a_loop_is_right_by_its_calls_ends_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(_: int, streamed: bool, question: str) -> Loop:
        if not streamed:
            raise LookupError("no choice")
        calls = [{"city": city} for city in ("Oslo", "Rome") if city in question]
        return Loop(calls, ends=["tool_calls", "stop"], answer="sunny, 21 degrees")

    monkeypatch.setattr(agents, "LOOPS", {"chat completions": loop})
    assert dict(agents._loops(1)) == {
        "chat completions streamed 1": "",
        "chat completions streamed 2": "",
        "chat completions whole 1": "LookupError: no choice",
        "chat completions whole 2": "LookupError: no choice",
    }


def test_a_session_of_claude_code_is_judged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sessions = iter(
        [
            _session(THOUGHT, _text("84")),
            _session(THOUGHT, CALL, _text("21 degrees"), result="It is 21 degrees."),
            _session(_text("84")),
            _session(THOUGHT, _text("no"), result="no"),
        ]
    )
    monkeypatch.setattr(claude_code, "install", lambda: Path("claude"))
    monkeypatch.setattr(claude_code, "ask", lambda *_: next(sessions))
    names = ("without tools", "with a tool")
    assert dict(agents._claude_code(1, tmp_path)) == dict.fromkeys(names, "")
    wrong = dict(agents._claude_code(1, tmp_path))
    assert wrong == {"without tools": "['text'] 84", "with a tool": "[] no"}


def test_a_session_of_codex_is_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    turns = iter([_turn("reasoning", "agent_message"), _turn(end="turn.failed")])

    def ask(*_: object, **__: object) -> codex.Session:
        if turn := next(turns, None):
            return turn
        raise TimeoutExpired("codex", 120)

    monkeypatch.setattr(codex, "install", lambda: Path("codex"))
    monkeypatch.setattr(codex, "ask", ask)
    first = dict(agents._codex(1, tmp_path))
    assert first == {"first turn": "", "second turn": "[] {'type': 'turn.failed'}"}
    assert dict(agents._codex(1, tmp_path))["first turn"].startswith("TimeoutExpired")
