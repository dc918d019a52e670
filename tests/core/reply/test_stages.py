"""The table of stages: each row makes its stage where the reply needs it."""

from dataclasses import replace

import pytest

from converter.core.calls.ids import CallIds
from converter.core.reading.family_choice import AUTO, choose
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, ExpectedThoughts, Reading, ThoughtLimits
from converter.core.reply.chain import Choice
from converter.core.reply.stages import STAGES

ALWAYS = ["HalfCharacters", "FieldAnswer", "ReadingStage", "TurnEnd", "Assembler"]
AUTO_READING = Reading(choose([AUTO]))


def _built(reading: Reading) -> list[str]:
    choice = Choice(reading, 0, "reply", CallIds(frozenset(), "reply"), Findings(), [])
    return [type(stage).__name__ for make in STAGES if (stage := make(choice))]


def test_a_plain_reply_has_few() -> None:
    assert _built(AUTO_READING) == ALWAYS


@pytest.mark.parametrize(
    ("expected", "stage"),
    [
        (Expected(thoughts=ExpectedThoughts(limits=ThoughtLimits(10))), "ThoughtEnder"),
        (Expected(thoughts=ExpectedThoughts(task="task")), "ThoughtEventStage"),
        (Expected(thoughts=ExpectedThoughts(hidden=True)), "ThinkingHider"),
        (Expected(thoughts=ExpectedThoughts(folds=True)), "ThoughtFolder"),
    ],
)
def test_a_stage_is_built_for_who_needs_it(expected: Expected, stage: str) -> None:
    assert {*_built(replace(AUTO_READING, expected=expected))} == {*ALWAYS, stage}


def test_the_users_choice_makes_a_stage() -> None:
    chosen = replace(AUTO_READING, trims_blanks=True)
    assert _built(chosen) == [*ALWAYS[:4], "BlanksTrimmer", *ALWAYS[4:]]
