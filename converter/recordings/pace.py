"""The pace at which a recorded reply is sent again."""

from collections.abc import Iterator, Sequence
from time import monotonic, sleep

from converter.recordings.recording import Chunk

FAST = float("inf")
_PACES = {"recorded": 1.0, "fast": FAST}


def read_pace(written: str) -> float:
    """Return how many times as fast as recorded: `recorded` is 1, `fast` waits for nothing. Raises
    ValueError.
    """
    try:
        pace = _PACES.get(written) or float(written)
    except ValueError:
        pace = 0
    if not pace > 0:
        raise ValueError(
            f"{written!r} is no pace: recorded, fast, or how many times as fast as recorded"
        )
    return pace


def paced(chunks: Sequence[Chunk], arrived: float, pace: float) -> Iterator[bytes]:
    """Yield the chunks, each at its time. `arrived`: when the request came, monotonic."""
    for chunk in chunks:
        wait = arrived + chunk.at / pace - monotonic()
        if wait > 0:
            sleep(wait)
        yield chunk.data
