"""The addons of this extra."""

from collections import Counter

from converter.addon.watcher import House
from converter.extras.traces.traces import Traces


def addons(house: House) -> list[object]:
    """Return the addons. The metrics include the counts of spans, if that extra is there."""
    return [Traces(house.chosen, house.counts.setdefault("spans", Counter()))]
