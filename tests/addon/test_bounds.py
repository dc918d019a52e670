"""The bounds of a live proxy say what they bound."""

from converter.addon import bounds
from converter.core.wire import bounds as of_replies


def test_each_bound_has_its_text() -> None:
    both = [*bounds.TABLE, *of_replies.TABLE]
    assert len({bound.what for bound in both}) == len(both)
    assert bounds.TABLE
    assert all(bound.beyond for bound in bounds.TABLE)
