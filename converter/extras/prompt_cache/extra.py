"""Returns the addon of the extra `prompt_cache`: `PromptCache` (`watcher.py`), which reports where
a cached prompt breaks.
"""

from converter.addon.watcher import ExtraServices
from converter.extras.prompt_cache.watcher import PromptCache


def addons(_: ExtraServices) -> list[object]:
    """Return the addon that reports breaks of prompt caches."""
    return [PromptCache()]
