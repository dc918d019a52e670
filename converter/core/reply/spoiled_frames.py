"""`SpoiledFrames` counts, for notes in the log, a reply's frames that were mended, and those that
gave no event although they are no comments and held no text. `frame_reader` mends frames.
"""

from collections.abc import Sequence

from converter.core.model.events import Event, OpaqueFrame
from converter.core.wire import json_text
from converter.core.wire.sse import Frame

_LONGEST_QUOTE = 200
"""How many bytes of an unreadable frame a note quotes."""


class SpoiledFrames:
    """The counts of a reply's frames that the decoder could not read (frames that may have held
    text do not count), and of those that were mended because they are not quite JSON.
    """

    def __init__(self) -> None:
        self._unread = self._mended = 0
        self._first = b""

    def count(self, frame: Frame, mended: Frame, read: Sequence[Event]) -> None:
        """Count `frame` if it could not be read and held no text, or if it was mended and is not
        quite JSON.

        Arguments:
            frame: the frame as it came.
            mended: the frame that was decoded: `frame` itself, or a mended one in its place.
            read: the events that the decoder returned for `mended`.
        """
        if mended is not frame:
            strict = json_text.readable(frame.data or b"", json_text.read_strictly)
            self._mended += not strict
        for event in read:
            match event:
                # A frame that may have held text (`lost`) needs no note: the client gets an error,
                # or the reply is whole without the frame.
                case OpaqueFrame(comment=False, lost=False) if event.own.raw.strip():
                    self._first = self._first or event.own.raw[:_LONGEST_QUOTE]
                    self._unread += 1

    def notes(self, done: str) -> list[str]:
        """Return a note on the unreadable frames and one on the mended frames; no note if there
        were none. `done`: what was done with unreadable frames, such as `left out`.
        """
        notes = []
        if self._unread:
            first = f"the first: {self._first!r}"
            notes.append(f"{self._unread} frames cannot be read: {done}; {first}")
        if self._mended:
            notes.append(f"{self._mended} frames are not quite JSON and were mended")
        return notes
