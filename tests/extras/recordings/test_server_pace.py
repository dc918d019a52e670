"""The pace of a recorded reply."""

from argparse import ArgumentTypeError

import pytest

from converter.extras.recordings.server import FAST, read_pace


@pytest.mark.parametrize(
    ("written", "pace"), [("recorded", 1), ("fast", FAST), ("2", 2), ("0.5", 0.5)]
)
def test_paces(written: str, pace: float) -> None:
    assert read_pace(written) == pace


@pytest.mark.parametrize("written", ["", "slow", "0", "-1", "nan"])
def test_what_is_no_pace_is_refused(written: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no pace"):
        read_pace(written)
