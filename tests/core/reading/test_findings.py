"""Notes on one reply."""

from converter.core.reading.findings import Findings


def test_two_replies_share_no_notes() -> None:
    first, second = Findings(), Findings()
    first.unclosed.add(0)
    assert not second.unclosed


def test_nothing_is_noted_at_first() -> None:
    assert Findings() == Findings(native=False, has_thinking=False)
