"""Writes and reads a flow's notes, one JSON text in its metadata: the lengths and times of the
server's chunks, the options, the facts by which the reply was read (`NotedFacts`), and the reply's
summary. Recordings are made from them; the page and the views read them by `flow_record.notes_of`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from converter.addon.servers.profiles import by_name
from converter.core.model.initial_state import InitialState

METADATA = "think"
"""The key of the notes in a flow's metadata."""
VERSION = 1
"""The version of the notes' format. Notes of another version cannot be read."""
LET_GO = "let_go"
"""A key of the notes. Its value is true if the server's side of the flow was removed to save
memory, or was not kept whole because the stream was too long.
"""
_UNREADABLE = "the addon's notes of the flow cannot be read"
"""The message of a `NotesError` about notes that are no JSON, or that lack a fact."""

type Cuts = Sequence[tuple[int, float]]
"""For each chunk its length, and the seconds from the request to its arrival."""
type Noted = tuple[Cuts, str, Mapping[str, object], NotedFacts]
"""A reply's `Cuts`, why the reply broke off (empty if it did not), the options in force, and the
facts by which the reply was read.
"""


class NotesError(ValueError):
    """Raised if a flow's notes cannot be read or its reply is not kept. The message is the reason,
    in one line.
    """


@dataclass(frozen=True, slots=True)
class NotedFacts:
    """The facts by which a reply was read, for a later replay that reads it in the same way."""

    server: str = "generic"
    """The name of the server's profile."""
    parses: bool = False
    """True if the server itself takes thinking out of the text."""
    begins: str = InitialState.TEXT.value
    """The value of the reply's `InitialState`, such as `thinking`."""
    counted: int | None = None
    """The number of a prompt's tokens, if the server refused the prompt as too long; else None."""
    prompted: bool = False
    """True if the addon added a text to the prompt that asks the model to think."""


def read_notes(text: object) -> Noted:
    """Return the facts in a flow's notes, which are a JSON text. Raises NotesError if they cannot
    be read, are of another version, or lack the chunks (`LET_GO`).
    """
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
    """Return the notes in the JSON `text` without the list of chunks, and with `LET_GO`: for a flow
    whose server's side is not kept.
    """
    return json.dumps({**json.loads(text), "chunks": [], LET_GO: True})


def write_notes(noted: Noted, summary: Mapping[str, object], **more: object) -> str:
    """Return the notes of a flow as JSON text. `summary`: the reply's counts and times. `more`:
    further keys and values.

    The text is ASCII, because servers may send half surrogate pairs (`"\\ud83d"` alone), which a
    flow file cannot hold.
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
