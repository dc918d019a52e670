"""Each row of the table of limits: a case that it holds for, and the usual reply, for which none
does.
"""

import json
from collections.abc import Callable

import pytest

from converter.extras.recordings.recording import Recording
from laws import laws
from laws.limits import LIMITS, Case, limit_of
from tests.support.frames import DONE, END, ROLE, data, delta, finish, text
from tests.support.recordings_of import JSON, of_whole, recording, streamed
from tests.support.strategies import share_of

CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
WHOLE_CALL = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
DRAFT = f"<think>t\n{WHOLE_CALL}</think>{WHOLE_CALL}"
CUT_CALL = '<|python_tag|>{"name": "f", "parameters": {"a'


def reply(*frames: bytes) -> Recording:
    return recording(b"".join(frames))


def _ended() -> Recording:
    options = {"budget": "enforce", "budget_tokens": "1"}
    return streamed("<think>longer", options=options)


def _unfinished() -> Recording:
    choice = {"message": {"role": "assistant", "content": "a"}, "finish_reason": None}
    return recording(json.dumps({"choices": [choice]}).encode(), JSON)


def _forbidden() -> Recording:
    return streamed(WHOLE_CALL, tools=[{"name": "f"}], tool_choice="none")


def _second_first() -> Recording:
    deltas = (delta(1, content="b"), delta(0, content="a"))
    return reply(*deltas, finish("stop", 1), finish("stop", 0), DONE)


def _stopped() -> Recording:
    return streamed("It is 5.", " Q", ": next", stop=["Q:"])


CASES: list[tuple[int, str, Callable[[], Recording]]] = [
    (2, "no words to cut", lambda: recording(b'{"choices": [{"mess', JSON)),
    (3, "broke off", lambda: reply(ROLE, *text("a"))),
    *((law, "has no finish", _unfinished) for law in (4, 5)),
    (3, "what came between", lambda: reply(*text("a"), delta(reasoning="t"), *END)),
    *((law, "a loop was found", _ended) for law in (2, 3, 4, 5)),
    (9, "its end from the addon", _ended),
    *((law, "cut at a stop string", _stopped) for law in (2, 3, 4, 5, 9)),
    (4, "think_unasked=hide", lambda: streamed("a", options={"unasked": "hide"})),
    (4, "different thoughts", lambda: reply(delta(reasoning="t"), delta(thinking="u"), *END)),
    (4, "not of the dialect's shape", lambda: reply(ROLE, data({"choices": [7]}), *END)),
    (4, "tool call in text that is cut off", lambda: streamed(CUT_CALL, tools=[{"name": "f"}])),
    (5, "tool call in text that is cut off", lambda: streamed(CUT_CALL, tools=[{"name": "f"}])),
    (4, "repeats the draft", lambda: streamed(DRAFT, tools=[{"name": "f"}])),
    (5, "repeats the draft", lambda: streamed(DRAFT, tools=[{"name": "f"}])),
    *((law, "its client forbade", _forbidden) for law in (4, 5)),
    (5, "think_markers", lambda: streamed("a", options={"markers": True})),
    (5, "a call ends", lambda: reply(delta(tool_calls=[CALL]), *text("a"), *END)),
    (5, "different thoughts", lambda: reply(delta(reasoning="t"), delta(thinking="u"), *END)),
    (5, "not of the dialect's shape", lambda: reply(ROLE, data({"choices": [7]}), *END)),
    (6, "not of the dialect's shape", lambda: reply(ROLE, data({"choices": [7]}), *END)),
    *((law, "begins them in any order", _second_first) for law in (3, 7)),
    (
        7,
        "no UTF-8",
        lambda: reply(ROLE, b'data: {"choices":[{"delta":{"content":"\xe9"}}]}\n\n', *END),
    ),
]


@pytest.mark.parametrize(
    ("law", "why", "make"), CASES, ids=[f"law {law}, {why}" for law, why, _ in CASES]
)
def test_a_limit_holds(law: int, why: str, make: Callable[[], Recording]) -> None:
    limit = limit_of(law, Case(make()))
    assert limit is not None
    assert why in limit.why


def test_every_limit_has_its_case() -> None:
    rows = [
        (number, next(why for law, why, _ in CASES if law == number and why in limit.why))
        for limit in LIMITS
        for number in limit.laws
    ]
    assert sorted(rows) == sorted((law, why) for law, why, _ in CASES)


@pytest.mark.parametrize(
    "usual", [streamed("<think>a</think>", "b"), of_whole("<think>a</think>b")]
)
def test_a_usual_reply_is_held_to_all_laws(usual: Recording) -> None:
    assert [number for number in range(1, 10) if limit_of(number, Case(usual))] == []


def test_a_budget_that_the_server_keeps_is_no_limit() -> None:
    assert limit_of(4, Case(streamed("a", thinking_token_budget=1))) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"7",
        b"null",
        b"[" * 20_000,  # deeper than any reader of JSON goes; law 1 takes it byte by byte
        b"1" * 5000,
        b"{",
        b'{"a": 1}',
        b"\x1f\x8b\0",
        b"<p>no</p>",
    ],
)
def test_a_whole_body_that_is_no_completion_breaks_no_law(body: bytes) -> None:
    assert [str(broken) for broken in laws.check(recording(body, JSON), share_of(2))] == []
