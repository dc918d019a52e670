"""mitmproxy's hooks, called where the exchange stands.

mitmproxy makes a task of each hook, runs two generators, a coroutine and a context manager for each
of its addons (about 45), and goes on in a later turn of its loop. That is 140 microseconds a hook,
and with the `update` that follows each a third of a small whole reply. Here an addon that has no
such hook is passed over, which mitmproxy's own code finds out last, and an exchange in whose hook
nobody waits goes on at once. Who is called, in which order, and what becomes of errors is mitmproxy's
own code still.
"""

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from mitmproxy import ctx
from mitmproxy.exceptions import AddonHalt
from mitmproxy.flow import Flow
from mitmproxy.hooks import Hook, UpdateHook
from mitmproxy.proxy.commands import StartHook
from mitmproxy.proxy.layer import CommandGenerator

from converter.shell.mitmproxy_internals import create_task, safecall


@dataclass
class UnfinishedHook(StartHook):
    """Wait for a hook in which some addon waits. mitmproxy resumes the exchange after it."""

    name = "think_unfinished_hook"
    task: asyncio.Task[None]


class HookCaller:
    """Calls the hooks of one client's exchanges. `handler`: what moves its bytes."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    def through(self, handling: CommandGenerator[None]) -> Generator[Any, Any, None]:
        """Pass on all commands but hooks; those are called here."""
        answer = None
        while True:
            try:
                command = handling.send(answer)
            except StopIteration:
                return
            if not isinstance(command, StartHook):
                answer = yield command
            elif unfinished := self._call(command):
                answer = yield unfinished
            else:
                answer = None

    def _call(self, hook: StartHook) -> UnfinishedHook | None:
        """Call a hook; return what to wait for, if it is not over."""
        client = self._handler.client.peername
        name = f"handle_hook({hook.name})"
        task = create_task(self._called(hook), name=name, keep_ref=True, client=client)
        if not task.done():
            return UnfinishedHook(task)
        task.result()  # an error that mitmproxy lets through
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
    """Call a hook of all addons that have it."""
    addons = ctx.master.addons
    for addon in addons.chain:
        if hasattr(addon, hook.name) or hasattr(addon, "addons"):
            try:
                with safecall():
                    await addons.invoke_addon(addon, hook)
            except AddonHalt:
                return
