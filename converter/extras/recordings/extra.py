"""The addons of this extra."""

from converter.addon.watcher import ExtraServices
from converter.extras.recordings.recorder import Recorder


def addons(_: ExtraServices) -> list[object]:
    """Return the addons."""
    return [Recorder()]
