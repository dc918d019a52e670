"""The options that would have read a misread reply rightly."""

import pytest

from converter.addon.log_lines import shorten_note
from converter.core.model.initial_state import InitialState
from converter.core.reading.findings import Beginning, Findings
from converter.core.reply.reply_notes import notes_of
from converter.extras.page.remedy import apply_remedy, as_arguments, remedy_of, reread
from tests.support.addon_flows import CHAT, EVENT_STREAM, response, streaming
from tests.support.frames import stream
from tests.support.kept_flows import kept, watched

THOUGHT, ANSWER = "I add them.\n", "\n\nIt is 5."
LONG = "<" + "x" * 60 + ">"


@pytest.mark.parametrize(
    ("findings", "options"),
    [
        (Findings(beginning=Beginning(correction=InitialState.THINKING)), {"start": ["thinking"]}),
        (Findings(beginning=Beginning(correction=InitialState.TEXT)), {"start": ["text"]}),
        (Findings(unread_tag=("<ponder>", "</ponder>")), {"tags": ["auto", "<ponder> </ponder>"]}),
        (Findings(unread_tag=(LONG, f"</{LONG[1:]}")), {"tags": ["auto", f"{LONG} </{LONG[1:]}"]}),
        (Findings(unclosed={0}), {}),
    ],
)
def test_each_kind_of_misreading_has_its_options(
    findings: Findings, options: dict[str, list[str]]
) -> None:
    """By the note as it stands in a comment, which holds its first words."""
    comment = " · ".join(["1 thoughts, 5 characters", *map(shorten_note, notes_of(findings))])
    assert remedy_of(comment) == options


def test_a_misread_reply_is_read_as_its_options_say() -> None:
    flow = kept(streaming(CHAT), response(EVENT_STREAM), *stream(f"{THOUGHT}</think>{ANSWER}"))
    assert remedy_of(flow.comment) == {"start": ["thinking"]}
    assert reread(flow) == {"thinking": THOUGHT.strip(), "text": ANSWER.strip()}


def test_a_mark_that_no_family_reads_is_read_with_the_families_of_before() -> None:
    flow = kept(
        streaming(CHAT), response(EVENT_STREAM), *stream(f"<mythink>{THOUGHT}</mythink>{ANSWER}")
    )
    assert reread(flow) == {"thinking": THOUGHT.strip(), "text": ANSWER.strip()}


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (f"{THOUGHT}</think>{ANSWER}", "think_start", "thinking"),
        (f"<mythink>{THOUGHT}</mythink>So.", "think_tags", ["auto", "<mythink> </mythink>"]),
    ],
)
def test_a_remedy_is_set_for_all_replies_from_now_on(text: str, name: str, value: object) -> None:
    with watched() as there:
        flow = there.answer(streaming(CHAT), response(EVENT_STREAM), *stream(text))
        assert as_arguments(remedy_of(flow.comment)) in apply_remedy(flow)
        assert getattr(there.options, name) == value
