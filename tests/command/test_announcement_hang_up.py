"""The end of a terminal is noticed."""

import asyncio
import os
import pty

import pytest

from converter.command import announcement

pytestmark = pytest.mark.slow


def test_a_terminal_is_gone_when_its_other_side_is_closed() -> None:
    ours, theirs = pty.openpty()
    try:
        assert not announcement.is_gone(theirs)
        os.close(ours)
        assert announcement.is_gone(theirs)
    finally:
        os.close(theirs)


def test_the_end_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcement, "SECONDS_BETWEEN_LOOKS", 0.01)
    ours, theirs = pty.openpty()

    async def wait() -> bool:
        waiting = asyncio.ensure_future(announcement.hung_up(theirs))
        await asyncio.sleep(0.05)
        early = waiting.done()
        os.close(ours)
        await asyncio.wait_for(waiting, 5)
        return early

    try:
        assert not asyncio.run(wait())
    finally:
        os.close(theirs)
