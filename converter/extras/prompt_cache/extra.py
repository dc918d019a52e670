"""The addons of this extra."""

from converter.addon.watcher import House
from converter.extras.prompt_cache.watcher import PromptCache


def addons(_: House) -> list[object]:
    """Return the addons."""
    return [PromptCache()]
