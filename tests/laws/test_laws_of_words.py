"""What the laws of words stand on; that they find faults, `test_laws` shows."""

from typing import Any

import pytest

from converter.addon.keep.notes import Found
from converter.extras.recordings.recording import Recording
from laws import laws
from laws.failures import BrokenLawError
from laws.laws_of_words import law_5, untouched
from laws.limits import Case
from tests.support.frames import DONE, END, ROLE, delta, finish, text
from tests.support.recordings_of import CHAT, MESSAGES, recording, streamed
from tests.support.strategies import share_of

NATIVE = recording(b"".join([ROLE, delta(reasoning_content="t"), *text("a"), *END]))


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (streamed("a", "b"), True),
        (NATIVE, True),
        (streamed("a <", "b"), False),
        (streamed("a", found=Found(begins="thinking")), False),
        (streamed("a", options={"markers": True}), False),
        (recording(NATIVE.body, options={"fields": ["reasoning"]}), False),
    ],
)
def test_bytes_stay_when_nothing_may_begin_a_mark(given: Recording, same: bool) -> None:
    assert untouched(Case(given)) is same


def test_the_oracle_reads_as_the_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    law_5(streamed("[a]t[/a]b", options={"tags": ["[a] [/a]"]}), 0)
    monkeypatch.setattr("laws.oracle.read", lambda *_, **__: [])
    with pytest.raises(
        BrokenLawError, match="against the oracle: event 1\n  expected: text ''\n  got:      text b"
    ):
        law_5(streamed("b"), 0)


CUT_CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}


@pytest.mark.parametrize("stops", [["b"], ["b", "c"]])
@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_call_cut_by_a_stop_string_is_told_as_one(
    path: str, reason: str, stops: list[str]
) -> None:
    body = b"".join([ROLE, delta(tool_calls=[CUT_CALL]), finish(reason), DONE])
    asked: dict[str, Any] = {"stop": stops} if path == CHAT else {"stop_sequences": stops}
    stopped = recording(body, path=path, **asked)
    assert [str(broken) for broken in laws.check(stopped, share_of(5))] == []
