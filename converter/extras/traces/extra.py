"""The addons of this extra."""

from collections import Counter

from converter.addon.watcher import ExtraServices
from converter.extras.traces.traces import Traces


def addons(services: ExtraServices) -> list[object]:
    """Return the addons of this extra. Its counts of spans are shared with the metrics of the extra
    `watch`.
    """
    return [Traces(services.chosen, services.counts.setdefault("spans", Counter()))]
