"""Notes on an exchange beside the two messages: how the server's body was cut, and the grounds of
its reading.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from typing import Any

from converter.exchange import settings
from converter.model.initial_state import InitialState
from converter.recordings.recording import Chunk, Found, RecordingError
from converter.servers.profiles import by_name

METADATA = "think"
"""The field of a flow's metadata that holds the notes."""
VERSION = 1
LET_GO = "let_go"
"""The note of a flow whose server's bytes are not kept any more, to bound the memory."""
_UNREADABLE = "what the addon noted of the flow cannot be read"


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of one flow. `cuts`: each chunk's length, and the seconds after which it came."""

    cuts: Sequence[tuple[int, float]]
    ended: str
    options: Mapping[str, object]
    found: Found

    def cut(self, body: bytes) -> tuple[Chunk, ...]:
        """Return the body in its chunks. Raises RecordingError when it is another one's."""
        ends = list(accumulate((length for length, _ in self.cuts), initial=0))
        if ends[-1] != len(body):
            raise RecordingError(
                f"the server's reply is of {len(body)} bytes, but its chunks are {ends[-1]}"
            )
        return tuple(
            Chunk(at, body[start:end])
            for (_, at), (start, end) in zip(self.cuts, pairwise(ends), strict=True)
        )


def read(text: object) -> Notes:
    """Read the notes of a flow. Raises RecordingError, also for those of another version."""
    try:
        noted = json.loads(str(text))
        version = noted["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise RecordingError(_UNREADABLE) from None
    if version != VERSION:
        raise RecordingError(
            f"expected notes of version {VERSION}, got {version!r}: "
            "the flow was kept by another version of the addon"
        )
    if noted.get(LET_GO):
        raise RecordingError("the server's own bytes were let go, to keep memory bounded")
    try:
        return _notes(noted)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise RecordingError(f"{_UNREADABLE}: {type(error).__name__}: {error}") from None


def _notes(noted: Mapping[str, Any]) -> Notes:
    cuts = [(int(length), float(at)) for length, at in noted["chunks"]]
    return Notes(cuts, str(noted["ended"]), settings.renamed(noted["options"]), _found(noted))


def _found(noted: Mapping[str, Any]) -> Found:
    counted = noted["counted"]
    return Found(
        by_name(str(noted["server"])).name,
        bool(noted["parses"]),
        InitialState(noted["begins"]).value,
        None if counted is None else int(counted),
        bool(noted["prompted"]),
    )


def without_chunks(text: str) -> str:
    """Return the notes of a flow without the server's chunks, which are not kept any more."""
    return json.dumps({**json.loads(text), "chunks": [], LET_GO: True})


def write(noted: Notes, summary: Mapping[str, object], **more: object) -> str:
    """Return the notes as a flow holds them, with the reply's summary and whatever `more` is for
    looking at.

    In ASCII: a flow file has no place for half a surrogate pair, which servers can send.
    """
    values = {
        "version": VERSION,
        "chunks": noted.cuts,
        "ended": noted.ended,
        "options": dict(noted.options),
        **asdict(noted.found),
        **more,
        "summary": summary,
    }
    return json.dumps(values)
