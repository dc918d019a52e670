"""The hook table (`TABLE`), by which mitmproxy's hooks are called. For each hook it has the addons
with this hook (`addons_with`), so that they are searched for once, and not at each call.

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
    """Calls mitmproxy's hooks by a table: name of a hook -> the addons that have it, with their
    functions. The table is emptied when the addon manager's `lookup` shows that an addon was added
    or removed.
    """

    def __init__(self) -> None:
        self._all_addons: list[object] = []
        self._rows: dict[str, list[Addon]] = {}
        self._field_names: dict[str, list[str]] = {}

    def addons_with(self, name: str) -> list[Addon]:
        """Return the addons that have the hook `name`, themselves or in an addon within them, each
        with the hook's functions, in mitmproxy's order. If the part `SPEED` is switched off, return
        one row without functions, so that the caller assumes that some addon has the hook.
        """
        if SPEED.lacks:
            return [(object(), [])]
        addons = ctx.master.addons
        current = list(addons.lookup.values())
        if current != self._all_addons:
            self._all_addons, self._rows = current, {}
        if name not in self._rows:
            rows = ((addon, _hook_functions(addon, name)) for addon in addons.chain)
            self._rows[name] = [row for row in rows if row[1]]
        return self._rows[name]

    async def handle_lifecycle(self, event: Hook) -> None:
        """Call a hook's functions, as mitmproxy's method of this name does. If the hook's first
        argument is a flow, then call the functions of the hook `update` too.
        """
        subject = self._arguments(event)[0]
        await self.trigger_event(event)
        if isinstance(subject, Flow) and self.addons_with(UpdateHook.name):
            await self.trigger_event(UpdateHook([subject]))

    async def trigger_event(self, event: Hook) -> None:
        """Call a hook's functions in all addons that have it, one after another, and wait for each
        that is asynchronous. If an addon raises an error, log it and call the next addon; after an
        `AddonHalt` call no further addon.
        """
        arguments = self._arguments(event)
        for _, functions in self.addons_with(event.name):
            try:
                for function in functions:
                    done = function(*arguments)
                    if done is not None and isawaitable(done):
                        await done
            except AddonHalt:
                return
            except Exception:
                with safecall():  # logs the error; a `safecall` around each call would cost time
                    raise

    def _arguments(self, event: Hook) -> list[Any]:
        """Return the arguments of a hook's functions. The names of the hook's fields are looked up
        once for each hook; mitmproxy's `args` looks them up at each call.
        """
        if event.name not in self._field_names:
            members = fields(event)  # type: ignore[arg-type]
            self._field_names[event.name] = [member.name for member in members]
        return [getattr(event, name) for name in self._field_names[event.name]]

    def trigger(self, event: Hook) -> None:
        """Call a hook without waiting, as mitmproxy's method of this name does, but only if an
        addon has the hook. Most of these calls offer a line of the log to the addons.
        """
        if self.addons_with(event.name):
            AddonManager.trigger(ctx.master.addons, event)


def _hook_functions(addon: object, name: str) -> list[Callable[..., Any]]:
    """Return the functions of the hook `name` in an addon and in the addons within it. A module of
    this name, which a script may have imported, is no hook.
    """
    members = (getattr(one, name, None) for one in traverse([addon]))
    return [hook for hook in members if hook and not isinstance(hook, ModuleType)]


TABLE = HookTable()
"""The only hook table, because a process runs one mitmproxy."""


def install(addons: AddonManager) -> None:
    """Have mitmproxy's addon manager call hooks by `TABLE`, unless the part `SPEED` is switched
    off.
    """
    if not SPEED.lacks:
        addons.handle_lifecycle = TABLE.handle_lifecycle  # type: ignore[method-assign]
        addons.trigger_event = TABLE.trigger_event  # type: ignore[method-assign]
        addons.trigger = TABLE.trigger  # type: ignore[method-assign]
