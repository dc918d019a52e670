"""Who hears of thoughts: any addon with a `thought` hook, and the file of `think_events`."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from mitmproxy import ctx
from mitmproxy.hooks import Hook

from converter import json_text
from converter.rewriter import Rewriter
from converter.thoughts import ThoughtEvent

_log = logging.getLogger(__name__)


@dataclass
class ThoughtHook(Hook):
    """A thought has ended: any addon may have a method `thought(self, event)`."""

    name = "thought"
    event: ThoughtEvent


class Telling:
    """Passes on thoughts that have ended, at once; `path` is the file, empty for none."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[None]] = set()

    def tell(self, rewriter: Rewriter, path: str) -> None:
        """Pass on what has ended since the last time."""
        told, rewriter.stage.told = rewriter.stage.told, []
        for event in told:
            task = asyncio.ensure_future(ctx.master.addons.trigger_event(ThoughtHook(event)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if path:
                _append(path, event)


def _append(path: str, event: ThoughtEvent) -> None:
    """Write one line, at once; a file that cannot be written costs a log line and no reply."""
    try:
        with Path(path).expanduser().open("ab") as file:
            file.write(json_text.write(event) + b"\n")
    except OSError as error:
        _log.error("think: think_events: %s", error)
