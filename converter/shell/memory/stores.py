"""The store that the settings name."""

import time

from converter.exchange.settings import Settings
from converter.model.memory import ProcessStore, Store


def open_store(settings: Settings) -> Store:
    """Return the store; nobody is asked before there is something to keep."""
    bounds = (settings.limits.replies, settings.limits.reply_bytes)
    return ProcessStore(*bounds, now=time.monotonic)
