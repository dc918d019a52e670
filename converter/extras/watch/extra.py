"""Returns the addons of the extra `watch`: `Views`, `LiveView`, `Terminal`, `ThoughtEvents`
(`thought_hook.py`), `MetricsEndpoint` and `Show`, each in a file of its own.
"""

from collections import Counter

from converter.addon.watcher import ExtraServices
from converter.extras.watch.live_view import LiveView
from converter.extras.watch.metrics_endpoint import MetricsEndpoint
from converter.extras.watch.show import Show
from converter.extras.watch.terminal import Terminal
from converter.extras.watch.thought_hook import ThoughtEvents
from converter.extras.watch.views import Views


def addons(services: ExtraServices) -> list[object]:
    """Return the addons that show, print and count replies, and pass thoughts to programs."""
    metrics = MetricsEndpoint(services.settings, services.counters.setdefault("spans", Counter()))
    return [ThoughtEvents(services.settings), Views(), LiveView(), Terminal(), metrics, Show()]
