"""The addons of this extra."""

from collections import Counter

from converter.addon.watcher import ExtraServices
from converter.extras.traces.traces import Traces


def addons(services: ExtraServices) -> list[object]:
    """Return the addons. The metrics include the counts of spans, if that extra is there."""
    return [Traces(services.chosen, services.counts.setdefault("spans", Counter()))]
