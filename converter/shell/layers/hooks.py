"""mitmproxy's hooks, called where the exchange stands.

mitmproxy makes a task of each hook, runs two generators, a coroutine and a context manager for each
of its addons (about 45), and goes on in a later turn of its loop. With the `update` that follows
each hook that is a third of a small whole reply. Here the addons are called in one loop, in the
same order and with the same care for errors, those without the hook are left out, and an exchange
in whose hook nobody waits goes on at once.
"""

import asyncio
import inspect
from collections.abc import Generator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from mitmproxy.exceptions import AddonHalt
from mitmproxy.flow import Flow
from mitmproxy.hooks import Hook, UpdateHook
from mitmproxy.proxy.commands import StartHook
from mitmproxy.proxy.layer import CommandGenerator

from converter.shell.layers.listeners import LISTENERS
from converter.shell.mitmproxy_internals import safecall


@dataclass
class UnfinishedHook(StartHook):
    """Wait for a hook in which some addon waits. mitmproxy resumes the exchange after it."""

    name = "think_unfinished_hook"
    task: asyncio.Future[Any]


class HookCaller:
    """Calls the hooks of one client: of its exchanges, and of its connections to servers, which
    `handler` calls, that moves its bytes.
    """

    def __init__(self, handler: Any) -> None:
        self._at_an_end = False
        self._handler = handler
        handler.handle_hook = self._called

    def through(self, handling: CommandGenerator[None]) -> Generator[Any, Any, None]:
        """Pass on all commands but hooks; those are called here. Those of a layer within, such as a
        WebSocket's, are not: that layer waits by itself, for mitmproxy's word that they are over.
        """
        answer = None
        while True:
            try:
                command = handling.send(answer)
            except StopIteration:
                return
            if not isinstance(command, StartHook) or command.blocking is not True:
                answer = yield command
            elif unfinished := self._call(command):
                answer = yield unfinished
            else:
                answer = None

    def ending(self, handling: CommandGenerator[None]) -> CommandGenerator[None]:
        """Pass on the commands of a reply's end: the client's next request may begin within."""
        self._at_an_end = True
        try:
            yield from handling
        finally:
            self._at_an_end = False

    def _call(self, hook: StartHook) -> UnfinishedHook | None:
        """Call a hook; return what to wait for, if it is not over. That of a request which came
        before the last one's reply was at its end waits till the server's connection knows of that.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.Task(self._called(hook), loop=loop, eager_start=not self._at_an_end)
        if not task.done():
            return UnfinishedHook(task)
        task.result()  # raises an error that mitmproxy lets through
        return None

    async def _called(self, hook: StartHook) -> None:
        """Do what mitmproxy's connection handler does for a hook."""
        with self._handler.timeout_watchdog.disarm():
            (data,) = hook.args()
            await tell(hook)
            if isinstance(data, Flow):
                await tell(UpdateHook([data]))
                await data.wait_for_resume()


async def tell(hook: Hook) -> None:
    """Call a hook of all addons that have it, as mitmproxy's `trigger_event` does."""
    listeners = LISTENERS.of(hook.name)
    arguments = hook.args() if listeners else []
    for group in listeners:
        try:
            for addon in group:
                called = getattr(addon, hook.name, None)
                if not called or isinstance(called, ModuleType):
                    continue  # a script may import `log`, say
                result = called(*arguments)
                if result is not None and inspect.isawaitable(result):
                    await result
        except AddonHalt:
            return
        except Exception:
            with safecall():  # which says it in the log
                raise
