"""The addons of this extra."""

from converter.addon.watcher import ExtraServices
from converter.extras.prompt_cache.watcher import PromptCache


def addons(_: ExtraServices) -> list[object]:
    """Return the addons of this extra."""
    return [PromptCache()]
