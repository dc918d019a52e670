"""The addons of the extra `traces`."""

from collections import Counter

from converter.addon.watcher import ExtraServices
from converter.extras.traces.traces import Traces


def addons(services: ExtraServices) -> list[object]:
    """Return the addon that sends spans. It counts them in `services.counts`, where the metrics of
    the extra `watch` read these counts.
    """
    return [Traces(services.chosen, services.counts.setdefault("spans", Counter()))]
