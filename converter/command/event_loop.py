"""Changes to the event loop that mitmproxy has no options for, made before it starts.

mitmproxy 12 opens its port with `asyncio.start_server`, runs by `asyncio.run`, and takes its task
factory from `asyncio.eager_task_factory`. It looks all three up when it needs them, so a process
that is to have others replaces them first.
"""

import asyncio
import functools
import importlib
import socket
import sys
from collections.abc import Coroutine
from types import ModuleType
from typing import Any


def can_share_port() -> bool:
    """Tell whether processes that listen on one port share its connections: macOS lets them listen,
    and one gets all.
    """
    return sys.platform == "linux" and hasattr(socket, "SO_REUSEPORT")


def share_port() -> None:
    """Let other processes listen on the same port; the kernel divides new connections."""
    asyncio.start_server = functools.partial(asyncio.start_server, reuse_port=True)


def use_uvloop() -> bool:
    """Run on uvloop, if it is installed, because a chunk costs less then. Tell whether it is."""
    uvloop = _uvloop()
    if uvloop is None:
        return False
    asyncio.run = functools.partial(_run, uvloop.new_event_loop)
    asyncio.eager_task_factory = _eager_task_factory(asyncio.eager_task_factory)
    return True


def _uvloop() -> ModuleType | None:
    try:
        return importlib.import_module("uvloop")
    except ImportError:
        return None


def _run[T](loop_factory: Any, main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(main)


def _eager_task_factory(factory: Any) -> Any:
    """uvloop 0.23 passes `eager_start`, which the factory of Python 3.13.0 does not take."""

    def made(loop: Any, coroutine: Any, *, eager_start: bool = True, **options: Any) -> Any:
        del eager_start  # it always is
        return factory(loop, coroutine, **options)

    return made
