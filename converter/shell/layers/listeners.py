"""The addons that have a hook: mitmproxy asks all of its 45, and those within them, each time."""

from mitmproxy import ctx
from mitmproxy.addonmanager import traverse


class Listeners:
    """Addons by the names of their hooks; found anew when addons come or go, which mitmproxy notes
    in its `lookup`, whoever manages them.
    """

    def __init__(self) -> None:
        self._known: list[object] = []
        self._found: dict[str, list[list[object]]] = {}

    def of(self, name: str) -> list[list[object]]:
        """Return those that have a hook, in order; together those that are within each other."""
        addons = ctx.master.addons
        known = list(addons.lookup.values())
        if known != self._known:
            self._known, self._found = known, {}
        if name not in self._found:
            families = map(traverse, ([addon] for addon in addons.chain))
            having = ([addon for addon in family if hasattr(addon, name)] for family in families)
            self._found[name] = list(filter(None, having))
        return self._found[name]


LISTENERS = Listeners()
"""Of the one mitmproxy that runs in this process."""
