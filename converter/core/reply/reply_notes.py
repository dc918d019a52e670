"""Notes on a reply: a line for each thing that a person should know."""

from collections.abc import Sequence

from converter.core.model.events import Event, Failure, OpaqueFrame
from converter.core.model.initial_state import InitialState
from converter.core.reading.findings import Findings
from converter.core.wire import json_text
from converter.core.wire.printable import bounded
from converter.core.wire.sse import Frame

_CORRECTIONS = {
    InitialState.THINKING: (
        "opener missing: the reply began inside a thought, and its closer stayed in the text"
    ),
    InitialState.TEXT: (
        "closer missing: the reply was read as beginning inside a thought, and no closer came"
    ),
}
_UNREAD = (
    "{opener} begins the text, and no family reads it, "
    "try --set think_tags=auto --set think_tags='{opener} {closer}'"
)
_UNREAD_AS = (OpaqueFrame, Failure)
"""Events of frames that may be no JSON."""
MISREAD = ("opener missing", "closer missing", "no family reads it")
"""Words of the notes on a reply that was read wrongly."""
_CUT = "the reply ends at a thought, as `length`: it could not go on behind it"
NO_ANSWER = "the reply holds a thought and no answer, and its finish is `stop`"
_SAMPLE = 200
"""Bytes of an unread frame that a note quotes."""


class SpoiledFrames:
    """A count of the frames that cannot be read as they should."""

    def __init__(self) -> None:
        self._unread = 0
        self._first = b""
        self._no_utf8 = 0
        self._mended = 0

    def count(self, frame: Frame, mended: Frame, read: Sequence[Event]) -> None:
        """Take note of a frame, of the frame read in its place if it was not in order, and of the
        events that were read. A frame in order was read strictly, and is not looked at again.
        """
        if mended is frame and not any(isinstance(event, _UNREAD_AS) for event in read):
            return
        self._no_utf8 += not _is_utf8(frame.data or b"")
        if mended is not frame:
            strict = json_text.readable(frame.data or b"", json_text.read_strictly)
            self._mended += not strict
        for event in read:
            match event:
                # of one that is lost the client hears
                case OpaqueFrame(comment=False, lost=False) if event.own.raw.strip():
                    self._first = self._first or event.own.raw[:_SAMPLE]
                    self._unread += 1

    def notes(self, done: str) -> list[str]:
        """Return the notes. `done`: the fate of unreadable bytes."""
        notes = []
        if self._unread:
            first = f"the first: {self._first!r}"
            notes.append(f"{self._unread} frames cannot be read: {done}; {first}")
        if self._no_utf8:
            notes.append(f"{self._no_utf8} frames hold bytes that are no UTF-8")
        elif self._mended:
            notes.append(f"{self._mended} frames are not quite JSON and were mended")
        return notes


def notes_of(findings: Findings) -> list[str]:
    """Return the notes on the reading of the reply."""
    notes = [_CORRECTIONS[findings.correction]] if findings.correction else []
    if findings.unread and not findings.thought:
        notes.append(_UNREAD.format(opener=findings.unread[0], closer=findings.unread[1]))
    if findings.unclosed:
        notes.append("a thought that a phrase began ended with the reply")
    if findings.withheld:
        notes.append(f"{findings.withheld} characters of thinking beyond the budget were withheld")
    if findings.loop:
        words = bounded(" ".join(findings.loop), _SAMPLE)
        place = f"was ended behind {findings.ended_at} characters of thinking, because it repeats"
        done = place if "loop" in findings.ended else "repeats"
        notes.append(f"a thought {done} itself: {len(findings.loop)} words three times: {words}")
    if findings.ended and (len(findings.ended) > 1 or not findings.turn):
        notes.append(_CUT)
    return [*notes, *findings.calls.notes]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
