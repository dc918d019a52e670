"""The addons of this extra."""

from converter.addon.watcher import House
from converter.extras.recordings.record_command import RecordCommand
from converter.extras.recordings.recorder import Recorder


def addons(_: House) -> list[object]:
    """Return the addons."""
    recorder = Recorder()
    return [recorder, RecordCommand(recorder)]
