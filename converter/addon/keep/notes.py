"""Notes of a flow: how the server's body was cut, and what decided its reading, as one JSON text in
the flow's metadata. Recordings are made of it, and people look at it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from converter.addon.servers.profiles import by_name
from converter.core.model.initial_state import InitialState

METADATA = "think"
"""The field of a flow's metadata that holds the notes."""
VERSION = 1
LET_GO = "let_go"
"""The note of a flow whose server's bytes are not kept any more, to bound the memory."""
_UNREADABLE = "what the addon noted of the flow cannot be read"

type Cuts = Sequence[tuple[int, float]]
"""Each chunk's length, and the seconds after which it came."""
type Noted = tuple[Cuts, str, Mapping[str, object], NotedFacts]
"""A reply's chunks, why it broke off, the options in force, and what was found out before."""


class NotesError(ValueError):
    """Notes that cannot be read, or a flow without a kept reply; one line says why."""


@dataclass(frozen=True, slots=True)
class NotedFacts:
    """Facts that the addon had found out about the server and the reply's beginning."""

    server: str = "generic"
    parses: bool = False
    begins: str = InitialState.TEXT.value
    counted: int | None = None
    prompted: bool = False


def read_notes(text: object) -> Noted:
    """Read the notes of a flow. Raises NotesError, also for those of another version."""
    try:
        noted = json.loads(str(text))
        version = noted["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise NotesError(_UNREADABLE) from None
    if version != VERSION:
        raise NotesError(
            f"expected notes of version {VERSION}, got {version!r}: "
            "the flow was kept by another version of the addon"
        )
    if noted.get(LET_GO):
        raise NotesError("the server's own bytes were let go, to keep memory bounded")
    try:
        cuts = [(int(length), float(at)) for length, at in noted["chunks"]]
        return cuts, str(noted["ended"]), dict(noted["options"]), _read_facts(noted)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise NotesError(f"{_UNREADABLE}: {type(error).__name__}: {error}") from None


def _read_facts(noted: Mapping[str, Any]) -> NotedFacts:
    counted = noted["counted"]
    return NotedFacts(
        by_name(str(noted["server"])).name,
        bool(noted["parses"]),
        InitialState(noted["begins"]).value,
        None if counted is None else int(counted),
        bool(noted["prompted"]),
    )


def without_chunks(text: str) -> str:
    """Return the notes of a flow without the server's chunks, which are not kept any more."""
    return json.dumps({**json.loads(text), "chunks": [], LET_GO: True})


def write_notes(noted: Noted, summary: Mapping[str, object], **more: object) -> str:
    """Return the notes as a flow holds them, with the reply's summary and whatever `more` is for
    looking at.

    In ASCII: a flow file has no place for half a surrogate pair, which servers can send.
    """
    cuts, ended, options, facts = noted
    values = {
        "version": VERSION,
        "chunks": cuts,
        "ended": ended,
        "options": dict(options),
        **asdict(facts),
        **more,
        "summary": summary,
    }
    return json.dumps(values)
