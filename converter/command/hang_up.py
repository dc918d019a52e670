"""The terminal in which the proxy runs, and its end."""

import asyncio
import select

SECONDS_BETWEEN_LOOKS = 1.0


def is_gone(file: int) -> bool:
    """Tell whether the terminal, pipe or socket of a file descriptor has hung up."""
    watch = select.poll()
    watch.register(file, 0)
    return any(happened & (select.POLLHUP | select.POLLERR) for _, happened in watch.poll(0))


async def hung_up(file: int) -> None:
    """Return when the terminal is gone.

    The signal that says so does not reach a child of GNU make when make leads the session, as in
    `tmux new -d 'make run'`: make waits for its children to end by themselves (4.3).
    """
    while not is_gone(file):
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
