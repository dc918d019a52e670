"""The end of a reply, as text."""

from typing import Any

import pytest

from converter.addon.transcript.facts import fact_lines, merge_facts
from converter.core.model.events import Usage
from converter.core.reply.summary import Summary
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


@pytest.mark.parametrize(("facts", "shown"), ROWS["a line for each fact"])
def test_a_line_for_each_fact(facts: dict[str, Any], shown: list[tuple[str, str]] | None) -> None:
    assert fact_lines(facts) == (
        shown
        if shown is not None
        else [
            ("tokens", "45 out"),
            ("times", "first byte 1.00 s, end 2.50 s"),
            ("speed", "30.0 tokens per second"),
        ]
    )


def test_what_came_at_once_has_no_speed() -> None:
    assert "speed" not in dict(fact_lines({"output_tokens": 45, "first_byte": 1.0, "end": 1.001}))


def test_facts_from_elsewhere_count_for_times_and_for_what_the_reply_lacks() -> None:
    own, more = {"finish": "end_turn", "end": 1.0}, {"finish": "stop", "end": 2.0, "thoughts": 1}
    assert merge_facts(own, more) == {"finish": "end_turn", "end": 2.0, "thoughts": 1}
    assert merge_facts(own, None) == own


def test_tokens_that_the_addon_estimates_are_about_so_many() -> None:
    facts = Summary(usage=Usage(7, 5, estimated=True)).values()
    assert dict(fact_lines(facts))["tokens"] == "about 7 in, 5 out"


def test_tokens_that_nobody_counted_are_not_shown_as_zero() -> None:
    assert "tokens" not in dict(fact_lines({"input_tokens": 0, "output_tokens": 0}))
