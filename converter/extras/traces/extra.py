"""Returns the addon of the extra `traces`: `Traces` (`traces.py`), which has OpenTelemetry spans
sent.
"""

from collections import Counter

from converter.addon.watcher import ExtraServices
from converter.extras.traces.traces import Traces


def addons(services: ExtraServices) -> list[object]:
    """Return the addon that sends spans. It counts them in `services.counters`, where the metrics
    of the extra `watch` read these counts.
    """
    return [Traces(services.settings, services.counters.setdefault("spans", Counter()))]
