"""The table of addons by hook, because mitmproxy asks all of its 45, and those within them, each
time: eight hooks of an exchange take 1,449 microseconds so.

The addons that have a hook are called by mitmproxy, in its order; what is around a hook, such as
its task and its turn, stays mitmproxy's.
"""

from mitmproxy import ctx
from mitmproxy.addonmanager import AddonManager
from mitmproxy.exceptions import AddonHalt
from mitmproxy.hooks import Hook

from converter.addon.layers.guard import SPEED, safecall, traverse


class HookTable:
    """Addons by the names of their hooks; found anew when addons come or go, which mitmproxy notes
    in its `lookup`, whoever manages them.
    """

    def __init__(self) -> None:
        self._known: list[object] = []
        self._found: dict[str, list[object]] = {}

    def of(self, name: str) -> list[object]:
        """Return those of the chain that have a hook or hold one that has it, in order. Where
        nobody can know, somebody has it.
        """
        if SPEED.lacks:
            return [object()]
        addons = ctx.master.addons
        known = list(addons.lookup.values())
        if known != self._known:
            self._known, self._found = known, {}
        if name not in self._found:
            self._found[name] = [addon for addon in addons.chain if _has(addon, name)]
        return self._found[name]

    async def trigger_event(self, event: Hook) -> None:
        """Have mitmproxy call a hook of the addons that have it."""
        for addon in self.of(event.name):
            try:
                with safecall():
                    await ctx.master.addons.invoke_addon(addon, event)
            except AddonHalt:
                return

    def trigger(self, event: Hook) -> None:
        """Have mitmproxy call a hook that waits for nothing, a log line's mostly, if anybody has
        it.
        """
        if self.of(event.name):
            AddonManager.trigger(ctx.master.addons, event)


def _has(addon: object, name: str) -> bool:
    return any(hasattr(one, name) for one in traverse([addon]))


TABLE = HookTable()
"""Of the one mitmproxy that runs in this process."""


def put_in_place(addons: AddonManager) -> None:
    """Have an addon manager go by the table."""
    if not SPEED.lacks:
        addons.trigger_event = TABLE.trigger_event  # type: ignore[method-assign]
        addons.trigger = TABLE.trigger  # type: ignore[method-assign]
