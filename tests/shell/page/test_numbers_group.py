"""Counts over many replies."""

import pytest

from converter.shell.page.numbers import TIMES, counted, percentile

STREAMED = {"finish": "stop", "thinking": 30, "text": 10, "first_byte": 0.1, "end": 2.0}
WHOLE = {"finish": "stop", "thinking": 10, "text": 30, "first_byte": 3.0, "end": 3.0}
BROKEN = {"thinking": 0, "text": 0, "first_byte": 0.2, "end": 0.3}


def test_replies_failures_and_characters_are_added() -> None:
    numbers = counted([STREAMED, WHOLE, BROKEN, STREAMED | {"failure": "full"}])
    assert [numbers[name] for name in ("requests", "failed", "share")] == [4, 2, 70 / 120]


def test_times_are_of_streamed_replies() -> None:
    numbers = counted([STREAMED, WHOLE, BROKEN])
    assert [numbers[name] for name in TIMES] == [[0.1, 0.2], None, None]


@pytest.mark.parametrize(("share", "expected"), [(0.5, 10), (0.95, 19), (1.0, 20), (0.01, 1)])
def test_percentiles_are_values_that_came(share: float, expected: float) -> None:
    assert percentile([float(value) for value in range(20, 0, -1)], share) == expected
