"""What the laws of words stand on; that they find faults, `test_laws` shows."""

import pytest

from converter.laws.failures import BrokenLawError
from converter.laws.laws_of_words import law_5, untouched
from converter.laws.limits import Case
from converter.recordings.recording import Found, Recording
from tests.support.frames import END, ROLE, delta, text
from tests.support.recordings_of import recording, streamed

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
    monkeypatch.setattr("converter.laws.oracle.read", lambda *_: [])
    with pytest.raises(
        BrokenLawError, match="against the oracle: event 1\n  expected: text ''\n  got:      text b"
    ):
        law_5(streamed("b"), 0)
