"""The table of addons by hook: each hook's functions are looked up once.

mitmproxy asks all of its 45 addons, and those within them, for each hook: 1,449 microseconds for
the eight hooks of an exchange. The functions are called in mitmproxy's order, and its task and turn
around a hook stay.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from inspect import isawaitable
from types import ModuleType
from typing import Any

from mitmproxy import ctx
from mitmproxy.addonmanager import AddonManager
from mitmproxy.exceptions import AddonHalt, AddonManagerError
from mitmproxy.flow import Flow
from mitmproxy.hooks import Hook, UpdateHook

from converter.addon.layers.guard import SPEED, safecall, traverse

type Addon = tuple[object, list[Callable[..., Any]]]


class HookTable:
    """Addons by the names of their hooks. The table is built anew when addons come or go, which
    mitmproxy notes in its `lookup`.
    """

    def __init__(self) -> None:
        self._addons: list[object] = []
        self._rows: dict[str, list[Addon]] = {}
        self._names: dict[str, list[str]] = {}

    def of(self, name: str) -> list[Addon]:
        """Return the addons of the chain that have a hook, or contain an addon with it, in order,
        each with the hook's functions. Without mitmproxy's members return a stand-in.
        """
        if SPEED.lacks:
            return [(object(), [])]
        addons = ctx.master.addons
        current = list(addons.lookup.values())
        if current != self._addons:
            self._addons, self._rows = current, {}
        if name not in self._rows:
            rows = ((addon, _functions(addon, name)) for addon in addons.chain)
            self._rows[name] = [row for row in rows if row[1]]
        return self._rows[name]

    async def handle_lifecycle(self, event: Hook) -> None:
        """Call a hook of the addons that have it, then the update hook for its flow."""
        subject = self._arguments(event)[0]
        await self.trigger_event(event)
        if isinstance(subject, Flow) and self.of(UpdateHook.name):
            await self.trigger_event(UpdateHook([subject]))

    async def trigger_event(self, event: Hook) -> None:
        """Call a hook of the addons that have it."""
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
                with safecall():  # entered only for a fault, because few calls have one
                    raise

    def _arguments(self, event: Hook) -> list[Any]:
        """Return a hook's arguments. mitmproxy's `args` looks their names up at each call."""
        if event.name not in self._names:
            members = fields(event)  # type: ignore[arg-type]
            self._names[event.name] = [member.name for member in members]
        return [getattr(event, name) for name in self._names[event.name]]

    def trigger(self, event: Hook) -> None:
        """Have mitmproxy call a hook that waits for nothing, mostly a log line's, if any addon has
        it.
        """
        if self.of(event.name):
            AddonManager.trigger(ctx.master.addons, event)


def _functions(addon: object, name: str) -> list[Callable[..., Any]]:
    """Return the functions with a hook's name in an addon and the addons within it."""
    members = ((one, getattr(one, name, None)) for one in traverse([addon]))
    hooks = [(one, hook) for one, hook in members if hook and not isinstance(hook, ModuleType)]
    return [hook if callable(hook) else partial(_refuse, name, one) for one, hook in hooks]


def _refuse(name: str, addon: object, *_: object) -> None:
    """Raise mitmproxy's own error for a hook that is no function."""
    raise AddonManagerError(f"Addon handler {name} ({addon}) not callable")


TABLE = HookTable()
"""The table of the one mitmproxy that runs in this process."""


def install(addons: AddonManager) -> None:
    """Have an addon manager use the table."""
    if not SPEED.lacks:
        addons.handle_lifecycle = TABLE.handle_lifecycle  # type: ignore[method-assign]
        addons.trigger_event = TABLE.trigger_event  # type: ignore[method-assign]
        addons.trigger = TABLE.trigger  # type: ignore[method-assign]
