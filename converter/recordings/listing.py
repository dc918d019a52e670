"""Recordings at a glance: one row each, told from the files themselves."""

from collections.abc import Iterable, Sequence

from converter.dialects.table import COMMON
from converter.recordings.golden import one_line
from converter.recordings.recording import Recording
from converter.recordings.replay import Replay, replayed

HEADINGS = ("recording", "server", "client", "form", "what it shows", "chunks", "bytes")
LONGEST = 60
"""Characters of a server's own words in a row."""


def row(recording: Recording) -> tuple[str, ...]:
    """Return a recording's row. Raises RecordingError for one that this version cannot read."""
    replay = replayed(recording, recording.client)
    client, server = recording.client, recording.server_dialect
    native = ", native" if client is server is not COMMON else ""
    return (
        recording.name,
        recording.found.server,
        client.label.title + native,
        recording.server_form.name.lower(),
        one_line(_shows(recording, replay)),
        str(len(recording.chunks)),
        f"{len(recording.body):,}",
    )


def _shows(recording: Recording, replay: Replay) -> str:
    """Return the content of a reply in a few words."""
    status, summary = recording.answered.status, replay.summary
    if not 200 <= status < 300:
        return f"{'error' if status >= 400 else 'status'} {status}"
    kinds = [
        _counted(summary.thoughts, "thought"),
        "text" if summary.text else "",
        _counted(summary.calls, "call"),
    ]
    end = _short(recording.ended or summary.failure or summary.finish)
    return "; ".join(part for part in (", ".join(filter(None, kinds)), end) if part) or _wordless(
        recording
    )


def _wordless(recording: Recording) -> str:
    listed = recording.exchange().endpoint.lists_models
    return "a list" if listed else "no reply that can be read"


def _short(words: str) -> str:
    return words if len(words) <= LONGEST else words[: LONGEST - 1].rstrip() + "…"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count > 1 else ''}" if count else ""


def table(rows: Iterable[Sequence[str]]) -> str:
    """Return the rows for a terminal, in columns."""
    lines = [HEADINGS, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )
