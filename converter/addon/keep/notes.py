"""The notes of a flow, one JSON text in its metadata: the lengths and times of the server's chunks,
and the facts by which the reply was read. Recordings are made from the notes, and the page and
views show them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from converter.addon.servers.profiles import by_name
from converter.core.model.initial_state import InitialState

METADATA = "think"
"""The key of the notes in a flow's metadata."""
VERSION = 1
LET_GO = "let_go"
"""The key of the note that the server's side of the flow was removed to save memory."""
_UNREADABLE = "the addon's notes of the flow cannot be read"

type Cuts = Sequence[tuple[int, float]]
"""The length of each chunk, and the chunk's seconds after the request."""
type Noted = tuple[Cuts, str, Mapping[str, object], NotedFacts]
"""A reply's `Cuts`, why the reply broke off (empty if it did not), the options in force, and the
facts by which the reply was read.
"""


class NotesError(ValueError):
    """The reason, in one line, why a flow's notes cannot be read or its reply is not kept."""


@dataclass(frozen=True, slots=True)
class NotedFacts:
    """Facts about the server and the reply's beginning, as they were when the reply was rewritten.

    Attributes:
        server: the name of the server's profile.
        parses: True if the server itself takes thinking out of the text.
        begins: the initial state of the reply.
        counted: the number of tokens of a prompt that the server refused as too long, else None.
        prompted: True if the addon added a text to the prompt that asks the model to think.
    """

    server: str = "generic"
    parses: bool = False
    begins: str = InitialState.TEXT.value
    counted: int | None = None
    prompted: bool = False


def read_notes(text: object) -> Noted:
    """Read the notes of a flow. Raises NotesError, also for notes of another version."""
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
        raise NotesError("the server's own bytes were dropped to bound the memory")
    try:
        cuts = [(int(length), float(at)) for length, at in noted["chunks"]]
        counted = noted["counted"]
        facts = NotedFacts(
            by_name(str(noted["server"])).name,
            bool(noted["parses"]),
            InitialState(noted["begins"]).value,
            None if counted is None else int(counted),
            bool(noted["prompted"]),
        )
        return cuts, str(noted["ended"]), dict(noted["options"]), facts
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise NotesError(f"{_UNREADABLE}: {type(error).__name__}: {error}") from None


def without_chunks(text: str) -> str:
    """Return the notes `text` without chunks, for a flow whose server's side is removed."""
    return json.dumps({**json.loads(text), "chunks": [], LET_GO: True})


def write_notes(noted: Noted, summary: Mapping[str, object], **more: object) -> str:
    """Return the notes as JSON text, with the reply's summary and the values of `more`.

    The text is ASCII, because servers may send lone surrogates, which a flow file cannot hold.
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
