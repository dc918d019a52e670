"""The turns that come back without folded thoughts."""

import pytest

from converter.core.reading.earlier_folds import remove_folds
from converter.core.reading.folding import CLOSER, OPENER

FOLD = f"{OPENER}deep{CLOSER}"


def test_the_turns_that_come_back_have_no_folds() -> None:
    user = {"role": "user", "content": FOLD}
    body = {"messages": [user, {"role": "assistant", "content": f"a{FOLD}b{FOLD}"}]}
    assert remove_folds(body) == {"messages": [user, {"role": "assistant", "content": "ab"}]}


def test_folds_in_parts_of_a_turn_are_taken_out_too() -> None:
    picture = {"type": "image_url"}
    parts = [{"type": "text", "text": f"{FOLD}b"}, picture]
    body = {"messages": [{"role": "assistant", "content": parts}]}
    items = [{"type": "text", "text": "b"}, picture]
    assert remove_folds(body) == {"messages": [{"role": "assistant", "content": items}]}


@pytest.mark.parametrize("body", [{}, {"messages": [1, {"role": "assistant", "content": None}]}])
def test_a_request_without_folds_is_itself(body: dict[str, object]) -> None:
    assert remove_folds(body) is body
