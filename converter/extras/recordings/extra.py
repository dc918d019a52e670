"""Returns the addon of the extra `recordings`: `Recorder` (`recorder.py`), which keeps exchanges as
recordings.
"""

from converter.addon.watcher import ExtraServices
from converter.extras.recordings.recorder import Recorder


def addons(_: ExtraServices) -> list[object]:
    """Return the addon that writes recordings."""
    return [Recorder()]
