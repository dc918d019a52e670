"""The laws of words over two replies that the client gets as one."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.keep.notes import NotedFacts
from converter.core.model.events import Event, Text
from converter.core.reading import thought_ender
from converter.core.reply.continuation import SecondReply
from converter.extras.recordings.recording import Recording
from laws import laws
from laws.client_view import view_of
from laws.joined import joined
from laws.variants import variants
from tests.support.frames import ROLE, delta, finish, text
from tests.support.recordings_of import recording, two_replies
from tests.support.strategies import every_so_many, law, share_of

ENOUGH = "Now I answer."
LLAMA = NotedFacts("llama.cpp")
TEXT = st.text("ab é.\n", min_size=1, max_size=6)


def ended(
    thought: Sequence[str],
    answer: Sequence[str] = ("The ", "answer."),
    *,
    field: str = "",
    budget: int = 2,
    facts: NotedFacts = LLAMA,
    **fields: Any,
) -> Recording:
    """Two replies, of which the first spends its budget in its last frame."""
    opened = [delta(**{field: piece}) for piece in thought] if field else text("<think>", *thought)
    options = {"budget": "enforce", "budget_tokens": str(budget), "enough": ENOUGH}
    if facts is LLAMA:
        return two_replies(*opened, answer=answer, options=options, **fields)
    return recording(b"".join([ROLE, *opened]), options=options, facts=facts, **fields)


def broken(of: Recording) -> list[str]:
    return [str(each) for each in laws.check(of, share_of(2))]


FIELDS = ["", "reasoning_content"]
PATHS = ["/v1/chat/completions", "/v1/messages"]


@pytest.mark.parametrize(
    ("path", "field", "facts"), every_so_many(list(product(PATHS, FIELDS, [LLAMA, NotedFacts()])))
)
def test_two_replies_keep_all_laws(field: str, facts: NotedFacts, path: str) -> None:
    both = ended(["I ne", "ed ", "to think"], field=field, facts=facts, path=path)
    assert joined(both)
    # what its server did not end has no whole form
    numbers = [number for number in range(1, 10) if facts is LLAMA or number not in (3, 9)]
    assert [law.number for law in laws.laws_of(both)] == numbers
    assert broken(both) == []


@law(20)
@given(st.lists(TEXT, max_size=4), st.lists(TEXT, max_size=4), st.booleans())
def test_so_do_drawn_ones(thought: list[str], answer: list[str], native: bool) -> None:
    budget = len("".join(thought).lstrip("\n").encode()) // 4 + 1
    field = "reasoning_content" if native else ""
    both = ended([*thought, "and so on"], answer, budget=budget, field=field)
    assert joined(both)
    for each in laws.OF_CONTENT:
        assert laws.check_one(each, both, 1) == []


def alone(*thought: bytes, answer: Sequence[str] = ("It is ", "5.")) -> Recording:
    """Two replies, of which the first is a thought and no answer."""
    return two_replies(*thought, finish(), answer=answer, options={"unanswered": "ask"})


ALONE = {
    "closed": text("<think>I know ", "it.</think>", "\n\n"),
    "open": text("<think>I know ", "it."),
    "in a field": [delta(reasoning_content=piece) for piece in ("I know ", "it.")],
}


TOKENS = {"closed": (6, 0), "open": (4, 0), "in a field": (2, 4)}
"""Tokens of the first reply, and of the thought's end. Large frames hold several."""


@pytest.mark.parametrize("name", ALONE)
def test_a_reply_behind_a_thought_alone_keeps_all_laws(name: str) -> None:
    fields = alone(*ALONE[name])
    both = joined(fields)
    assert both
    assert (both.written, both.added) == TOKENS[name]
    assert [law.number for law in laws.laws_of(fields)] == [*range(1, 10)]
    assert broken(fields) == []


@pytest.mark.parametrize(
    "more", [text("An answer."), [delta(tool_calls=[{"function": {"name": "f"}, "index": 0}])]]
)
def test_a_reply_with_an_answer_is_no_thought_alone(more: list[bytes]) -> None:
    assert joined(alone(*ALONE["closed"], *more)) is None


def test_marks_that_are_counted_as_the_prompt_break_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thought_ender, "MARK_TOKENS", 1)
    assert {each[:30] for each in broken(alone(*ALONE["in a field"]))} != set()


def test_a_sentence_at_another_offset_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thought_ender, "JOINT", " ")
    assert any("law 4" in each or "law 5" in each for each in broken(ended(["I need to think"])))


def test_text_that_the_second_reply_loses_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = SecondReply.feed

    def losing(self: SecondReply, events: Sequence[Event]) -> list[Event]:
        return [each for each in feed(self, events) if each != Text("The ")]

    monkeypatch.setattr(SecondReply, "feed", losing)
    assert {each[:30] for each in broken(ended(["I need to think"]))} != set()


PIECE = "ab cd ef gh "


def looped(**options: str) -> Recording:
    """Two replies, the first of which repeats itself, up to the frame in which that shows."""
    first = text("<think>", "abc ", *[PIECE] * 64)
    return two_replies(*first, answer=["The ", "answer."], options={**options, "enough": ENOUGH})


@pytest.mark.slow
def test_a_loop_is_ended_as_a_budget_is() -> None:
    """A budget that ends at the same letter gives the same, and is the one for the laws."""
    loop, budget = looped(loops="end"), looped(budget="enforce", budget_tokens="192")
    assert joined(budget)
    assert broken(budget) == []
    for variant in variants(loop):
        view = view_of(loop, variant)
        assert view == view_of(budget, variant)
        assert ENOUGH in str(view)
        assert "answer" in str(view)


def test_a_second_end_is_final() -> None:
    twice = ended(["I ne", "ed to think"], ["<think>", "and on and on"])
    for variant in variants(twice):
        view = str(view_of(twice, variant))
        assert "and on a\\n\\nNow I answer." in view  # and no letter behind the second budget
        assert "'length'" in view or "'max_tokens'" in view
