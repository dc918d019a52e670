"""The end of a terminal is noticed."""

import os
import pty
import threading

import pytest

from converter.extras.command import announcement

pytestmark = pytest.mark.slow


def test_a_terminal_is_gone_when_its_other_side_is_closed() -> None:
    ours, theirs = pty.openpty()
    ended = threading.Event()
    try:
        announcement.watch_terminal(theirs, ended.set)
        assert not ended.wait(0.05)
        os.close(ours)
        assert ended.wait(5)
    finally:
        os.close(theirs)
