"""An expectation: a person's word for the reading of a recording, kept as NAME.expected.json beside
NAME.mitm.

It is about the first choice as its own client gets it. Thoughts are one text, with a blank line
between two; so are the texts.
Line ends around either count for nothing. A recording that was misread fails its test until the
reading is mended.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from difflib import unified_diff
from pathlib import Path

from converter.recordings.recording import Recording, RecordingError, write_whole
from converter.recordings.redact.redactor import redacted_words
from converter.transcript import reply
from converter.transcript.turns import TextPart, ThinkingPart, Transcript

SUFFIX = ".expected.json"
JOINT = "\n\n"
_DIFF_LINES = 40
_HINTED = re.compile(r"--set think_.*")


@dataclass(frozen=True, slots=True)
class Expectation:
    """The thinking and the text that a client should get; None: nobody asks. `why`: a line
    for people.
    """

    thinking: str | None = None
    text: str | None = None
    why: str = ""


def path_of(recording_file: Path) -> Path:
    """Return where a recording's expectation is, or would be."""
    return recording_file.with_suffix(SUFFIX)


def load(recording_file: Path) -> Expectation | None:
    """Return the expectation of a recording, None where there is none. Raises RecordingError."""
    path = path_of(recording_file)
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from None
    if not isinstance(written, dict) or not all(
        isinstance(written.get(name, ""), str) for name in ("thinking", "text", "why")
    ):
        raise RecordingError(
            f'{path}: expected {{"thinking": "...", "text": "...", "why": "..."}}, '
            "each as it is needed"
        )
    return Expectation(written.get("thinking"), written.get("text"), written.get("why", ""))


def keep(recording_file: Path, recording: Recording, expected: Expectation) -> Path:
    """Write an expectation beside a recording's file, with the secrets that were taken from the
    recording taken from it as well.
    """
    written = {
        name: redacted_words(recording, words) for name, words in asdict(expected).items() if words
    }
    written |= {name: "" for name in ("thinking", "text") if getattr(expected, name) == ""}
    path = path_of(recording_file)
    write_whole(path, (json.dumps(written, indent=2) + "\n").encode())
    return path


def said_by(transcript: Transcript) -> Expectation:
    """Return the thinking and the text of a reply's first choice."""
    parts = [part for turn in transcript.turns if turn.choice == 0 for part in turn.parts]
    thoughts = [part.text.strip("\r\n") for part in parts if isinstance(part, ThinkingPart)]
    texts = [part.text.strip("\r\n") for part in parts if isinstance(part, TextPart)]
    return Expectation(JOINT.join(filter(None, thoughts)), JOINT.join(filter(None, texts)))


def unmet(recording: Recording, expected: Expectation) -> str:
    """Return how what is read now differs from what is expected, in lines; empty where it does not.

    Raises RecordingError for a recording that this version cannot read.
    """
    body = recording.replayed().body
    read = said_by(reply.read(body, reply.AS_WRITTEN, recording.got.content_type))
    why = [f"expected, because {expected.why}:"] if expected.why else []
    lines = [
        line
        for name in ("thinking", "text")
        for line in _differing(name, getattr(expected, name), getattr(read, name))
    ]
    return "\n".join([*why, *lines]) if lines else ""


def hinted_options(recording: Recording) -> str:
    """Return the options that a note on the reply names, as a command line has them."""
    notes = recording.replayed().notes
    return next((hint[0] for note in notes if (hint := _HINTED.search(note))), "")


def _differing(name: str, expected: str | None, actual: str) -> Iterator[str]:
    if expected is None or (wanted := _lines(expected)) == (read := _lines(actual)):
        return
    names = f"expected {name}", f"{name} as it is read"
    lines = list(unified_diff(wanted, read, *names, lineterm="", n=2))
    yield from lines[:_DIFF_LINES]
    if len(lines) > _DIFF_LINES:
        yield f"... and {len(lines) - _DIFF_LINES} lines more"


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").strip("\r\n").split("\n")
