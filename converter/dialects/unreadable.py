"""Frames that are not in order, as decoders of all dialects read them."""

from converter.dialects.error_words import server_error
from converter.model.events import Event, Failure, OpaqueFrame, Own
from converter.wire.sse import Frame

MOST_TOKENS = 10**12
"""More than any model counts; JSON has numbers without end."""


def unreadable(frame: Frame, dialect: str) -> list[Event]:
    """Return what a frame is whose data is no JSON, to a decoder of this dialect."""
    text = (frame.data or b"").decode(errors="replace")
    if error := server_error(text, frame.event):
        return [Failure(error.message, error.kind, error.status)]
    return [OpaqueFrame(Own(dialect, raw=frame.raw), lost=True)]


class MisshapenError(Exception):
    """A frame of the dialect, but not of the shape that clients can read."""


def as_words(value: object) -> str:
    """Return the words of a field; null says nothing. Raises MisshapenError for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MisshapenError
    return value


def as_index(value: object, position: int | None = None) -> object:
    """Return the number that an index is: `"0"`, `0.0`, or the position where there is none."""
    if value is None:
        return position
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_count(fields: object, name: str) -> int | None:
    """Return the number of tokens in a field; None for anything that counts none."""
    value = fields.get(name) if isinstance(fields, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < MOST_TOKENS else None
