"""A table of the addons that have a hook, so that each hook's functions are looked up once.

mitmproxy searches all of its 45 addons, and those within them, at each call of a hook: 1,449
microseconds for the eight hooks of an exchange. The table keeps mitmproxy's order of the functions.
"""

from collections.abc import Callable
from dataclasses import fields
from inspect import isawaitable
from types import ModuleType
from typing import Any

from mitmproxy import ctx
from mitmproxy.addonmanager import AddonManager
from mitmproxy.exceptions import AddonHalt
from mitmproxy.flow import Flow
from mitmproxy.hooks import Hook, UpdateHook

from converter.addon.layers.guard import SPEED, safecall, traverse

type Addon = tuple[object, list[Callable[..., Any]]]


class HookTable:
    """Calls mitmproxy's hooks, by a table: name of a hook -> the addons that have it. The table is
    built again when the addon manager's `lookup` shows that an addon was added or removed.
    """

    def __init__(self) -> None:
        self._addons: list[object] = []
        self._rows: dict[str, list[Addon]] = {}
        self._names: dict[str, list[str]] = {}

    def of(self, name: str) -> list[Addon]:
        """Return the addons that have the hook `name`, or contain an addon with it, in mitmproxy's
        order, each with the hook's functions. If the part `SPEED` is switched off, return one row
        without functions, which means that any addon may have the hook.
        """
        if SPEED.lacks:
            return [(object(), [])]
        addons = ctx.master.addons
        current = list(addons.lookup.values())
        if current != self._addons:
            self._addons, self._rows = current, {}
        if name not in self._rows:
            rows = ((addon, _hooks(addon, name)) for addon in addons.chain)
            self._rows[name] = [row for row in rows if row[1]]
        return self._rows[name]

    async def handle_lifecycle(self, event: Hook) -> None:
        """Call a hook's functions. If the first argument is a flow, then call the functions of
        mitmproxy's hook `update` too.
        """
        subject = self._arguments(event)[0]
        await self.trigger_event(event)
        if isinstance(subject, Flow) and self.of(UpdateHook.name):
            await self.trigger_event(UpdateHook([subject]))

    async def trigger_event(self, event: Hook) -> None:
        """Call a hook's functions in all addons that have it, and wait for each."""
        arguments = self._arguments(event)
        for _, functions in self.of(event.name):
            try:
                for function in functions:
                    done = function(*arguments)
                    if done is not None and isawaitable(done):
                        await done
            except AddonHalt:
                return
            except Exception:
                with safecall():  # only around a fault, because entering it costs time at each call
                    raise

    def _arguments(self, event: Hook) -> list[Any]:
        """Return a hook's arguments. Their names are looked up once for each hook, while
        mitmproxy's `args` looks them up at each call.
        """
        if event.name not in self._names:
            members = fields(event)  # type: ignore[arg-type]
            self._names[event.name] = [member.name for member in members]
        return [getattr(event, name) for name in self._names[event.name]]

    def trigger(self, event: Hook) -> None:
        """Call a synchronous hook, mostly the one for a log line, as mitmproxy does, but only if an
        addon has it.
        """
        if self.of(event.name):
            AddonManager.trigger(ctx.master.addons, event)


def _hooks(addon: object, name: str) -> list[Callable[..., Any]]:
    """Return the functions of the hook `name` in an addon and in the addons within it. A script may
    have imported a module of this name.
    """
    members = (getattr(one, name, None) for one in traverse([addon]))
    return [hook for hook in members if hook and not isinstance(hook, ModuleType)]


TABLE = HookTable()
"""The table of the one mitmproxy that runs in this process."""


def install(addons: AddonManager) -> None:
    """Replace an addon manager's functions that call hooks by those of `TABLE`."""
    if not SPEED.lacks:
        addons.handle_lifecycle = TABLE.handle_lifecycle  # type: ignore[method-assign]
        addons.trigger_event = TABLE.trigger_event  # type: ignore[method-assign]
        addons.trigger = TABLE.trigger  # type: ignore[method-assign]
