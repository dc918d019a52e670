"""`ThoughtEvents`, an addon, passes each ended thought to any addon's `thought` hook, and writes it
to the file of `think_events`. `converter.core.reply.thought_events` makes the events.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mitmproxy import ctx
from mitmproxy.hooks import Hook

from converter.addon.aside import begin_aside
from converter.addon.exchange.settings import Settings
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.layers.hook_table import TABLE
from converter.addon.watcher import Watcher
from converter.core.model.events import Event
from converter.core.reply.thought_events import ThoughtEvent
from converter.core.wire import json_text
from converter.core.wire.bounds import Bound

MOST_HOOKS = Bound(1000, "calls", "calls of other addons' `thought` hooks under way", "not called")
"""There is a bound, because a hook that never ends must not fill the memory."""

_log = logging.getLogger(__name__)


AT_A_TIME = 50
"""The most thoughts of one reply that are passed to the hooks before mitmproxy's loop runs other
tasks. Hooks that do little take 5 milliseconds for 50 thoughts.
"""


@dataclass
class ThoughtHook(Hook):
    """mitmproxy's hook for a thought that has ended: it calls the method `thought(self, event)` of
    all addons that have it.
    """

    name = "thought"
    event: ThoughtEvent
    """The thought, with the id of its exchange, as the hook's method gets it."""


class ThoughtEvents(Watcher):
    """An addon that writes each ended thought to the file of `think_events`, and calls the
    `thought` hooks of other addons. For thoughts of one exchange it calls them in order: the next
    call waits for the end of the one before. `chosen`: a function that returns the settings in
    force.
    """

    name = "think-thoughts"

    def __init__(self, chosen: Callable[[], Settings]) -> None:
        self._chosen = chosen
        self._tasks: dict[asyncio.Future[None], object] = {}
        """A task that calls hooks -> the id of its exchange, in the order in which the tasks
        began.
        """

    def heard(self, seen: FlowRecord, _: Sequence[Event]) -> None:
        """Write the thoughts that have just ended to the file, and call the hooks."""
        if seen.rewriter and (thoughts := seen.rewriter.thoughts):
            if path := self._chosen().events:
                size = sum(len(str(event["thought"])) for event in thoughts)
                begin_aside(size, partial(append_events, path, thoughts))
            self.call_hooks(thoughts)

    def call_hooks(self, events: Sequence[ThoughtEvent]) -> None:
        """Begin a task that calls the `thought` hooks of other addons for ended thoughts of one
        exchange. Do nothing if `MOST_HOOKS` such tasks are under way, or if no addon has the hook.
        """
        if events and len(self._tasks) < MOST_HOOKS and TABLE.addons_with(ThoughtHook.name):
            exchange = events[0]["taskId"]
            before = [
                task for task, its_exchange in self._tasks.items() if its_exchange == exchange
            ]
            task = asyncio.ensure_future(_call_hooks(events, before[-1:]))
            self._tasks[task] = exchange
            task.add_done_callback(self._tasks.pop)


async def _call_hooks(events: Sequence[ThoughtEvent], before: list[asyncio.Future[None]]) -> None:
    """Call the hooks for ended thoughts of one exchange. First wait for the task in `before`, which
    calls the hooks for the exchange's earlier thoughts; the list is empty if no such task runs.
    """
    if before:
        await asyncio.wait(before)
    for number, event in enumerate(events, 1):
        await ctx.master.addons.trigger_event(ThoughtHook(event))
        if number % AT_A_TIME == 0:
            await asyncio.sleep(0)


def append_events(path: str, events: Sequence[ThoughtEvent]) -> None:
    """Append a line of JSON for each ended thought to the file or pipe at `path`. If it cannot be
    written, or no program reads the pipe, log an error: the reply must go on.
    """
    lines = b"".join(json_text.write(event) + b"\n" for event in events)
    try:
        with open(path, "ab", buffering=0, opener=_open_at_once) as file:
            if (file.write(lines) or 0) < len(lines):
                _log.error("think: think_events: %s is full", path)
    except OSError as error:
        _log.error("think: think_events: %s", error)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting: opening a pipe that has no reader then raises OSError."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
