"""`Library` keeps, finds, loads, blesses and checks the recordings of a folder, with their goldens
and with what a person expects of a reply (`Expectation`). `flow_file.py` reads and writes a
recording's file, `golden.py` writes a golden's text.

The files of a recording are in the folder itself or in its folder NAME/:

- `NAME.mitm`: the recording.
- `NAME.openai.txt` and so on: its goldens, one for each dialect of a client.
- `NAME.expected.json`: the expectation, if a person has written one.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from difflib import unified_diff
from pathlib import Path

from converter.addon.files import FileError, write_whole
from converter.addon.transcript import reply
from converter.core.dialects.table import DIALECTS, Dialect
from converter.core.model.conversation import TextBlock, ThinkingBlock
from converter.extras.recordings import flow_file
from converter.extras.recordings.golden import golden
from converter.extras.recordings.recording import Recording, RecordingError
from converter.extras.recordings.redact.redactor import redacted, redacted_text

_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,100}")
"""Matches a recording's name, which is also a file's name."""
_DIFF_LINES = 40
"""The most lines of a diff that a failure shows; `bless` shows all of it."""
_COMPARED_BLOCKS: Mapping[str, type[ThinkingBlock | TextBlock]] = {
    "thinking": ThinkingBlock,
    "text": TextBlock,
}
"""Field of an `Expectation` -> the kind of blocks of a reply that are compared with it."""
_HINTED_OPTION = re.compile(r"--set think_.*")
"""Matches the option that a note on a misread reply recommends."""


type Laws = Callable[[Recording, str], Iterable[str]]
"""A function of a recording and a command line that the user may run next. It returns a message for
each law that the recording breaks; each message ends with that command line.
"""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The thinking and the text that the recorded client should get, as a person wrote them.

    Thinking and text are compared with the first choice of the reply. The choice's thoughts are
    joined, with a blank line between two, and so are its texts. Line ends at the beginning and end
    are ignored. The test of a recording fails while its reply differs from the expectation.
    """

    thinking: str | None = None
    """The thinking that the client should get; None if thinking is not compared."""
    text: str | None = None
    """The text that the client should get; None if text is not compared."""
    why: str = ""
    """The person's reason, which is printed with a difference."""


class Library:
    """Reads, writes and checks the recordings of one folder. The methods that return or open files
    raise RecordingError for a text that cannot be a recording's name; `check` returns the error.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """Return the names of all recordings, sorted. A `.mitm` file is ignored if its name has
        other characters than a recording's name may have.
        """
        files = {*self.folder.glob("*.mitm"), *self._files_in_own_folders()}
        return sorted({path.stem for path in files if _NAME.fullmatch(path.stem)})

    def path(self, name: str) -> Path:
        """Return the path of a recording's file, `NAME.mitm` or `NAME/NAME.mitm`. A new recording
        gets a folder of its own, NAME/, if any other recording of the library has its own.
        """
        if not _NAME.fullmatch(name):
            raise RecordingError(
                "expected a name of at most 100 letters, digits, _ and, but for the first, -, "
                f"got {name!r}"
            )
        file = self.folder / f"{name}.mitm"
        own = self.folder / name / file.name
        if own.exists() or (not file.exists() and any(self._files_in_own_folders())):
            return own
        return file

    def load(self, name: str) -> Recording:
        """Return the recording of this name. Raises RecordingError if there is no readable one."""
        return flow_file.load(self.path(name))

    def keep(self, recording: Recording, replace: bool = False) -> Path:
        """Redact a recording, write its file and its goldens, and return the file's path. Raises
        RecordingError if another recording has the name, unless `replace`.
        """
        path, clean = self.path(recording.name), redacted(recording)
        data = flow_file.dumps(clean)
        if not replace and path.exists() and path.read_bytes() != data:
            raise RecordingError(
                f"{path} is another recording; --replace puts this one in its place"
            )
        goldens = self._golden_texts(clean)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{path.parent}: {error.strerror}") from None
        write_whole(path, data)
        _write_goldens(goldens)
        return path

    def bless(self, recording: Recording, changed: bool = False) -> str:
        """Write a recording's goldens anew, and return their changes as a diff. `changed`: the
        recording has new options, so its own file is written anew too.
        """
        recording = redacted(recording) if changed else recording
        goldens = self._golden_texts(recording)
        if changed:
            write_whole(self.path(recording.name), flow_file.dumps(recording))
        return _write_goldens(goldens)

    def check(self, name: str, laws: Laws) -> list[str]:
        """Return a message for each fault of a recording: an unreadable or unredacted file, an
        unmet expectation, a broken law, a golden that differs from the output now.
        """
        try:
            recording = self.load(name)
            clean = redacted(recording)
            stale = [self.golden_difference(recording, dialect) for dialect in recording.dialects]
            faults = [self.expectation_difference(recording)]
        except RecordingError as error:
            return [f"{name}: {error}"]
        if recording != clean:
            faults.insert(0, f"{name} holds what no recording may: `add` it again")
        try:
            faults += laws(recording, self.command_line("check", name))
        # A fault in a law must not end the check of the next recordings.
        except Exception as error:
            faults += [f"{name} cannot be judged: {type(error).__name__}: {error}"]
        return [*filter(None, [*faults, *stale])]

    def golden_difference(self, recording: Recording, dialect: Dialect) -> str:
        """Return how the output for clients of `dialect` now differs from the accepted golden, and
        the command that accepts the output. Return an empty text if they are equal.
        """
        path, new = self.golden_path(recording.name, dialect), golden(recording, dialect)
        old = _read_golden(path)
        if old == new:
            return ""
        lines = [f"{path} is not there"]
        if old:
            lines = _diff(old, new, f"accepted/{path.name}", f"now/{path.name}")
        return "\n".join([*lines, self.command_line("bless", recording.name)])

    def expectation_path(self, name: str) -> Path:
        """Return the path of a recording's expectation."""
        return self.path(name).with_suffix(".expected.json")

    def write_expectation(self, recording: Recording, expected: Expectation) -> Path:
        """Redact an expectation as the recording is redacted, write it, and return the file's
        path.
        """
        written = {
            name: redacted_text(recording, text)
            for name, text in asdict(expected).items()
            if text or (text == "" and name in _COMPARED_BLOCKS)
        }
        path = self.expectation_path(recording.name)
        write_whole(path, (json.dumps(written, indent=2) + "\n").encode())
        return path

    def read_expectation(self, name: str) -> Expectation | None:
        """Return the expectation of a recording, None if no person has written one. Raises
        RecordingError if its file cannot be read.
        """
        path = self.expectation_path(name)
        try:
            written = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise RecordingError(f"{path} cannot be read: {error}") from None
        if not isinstance(written, dict) or not all(
            isinstance(written.get(name, ""), str) for name in (*_COMPARED_BLOCKS, "why")
        ):
            raise RecordingError(
                f'{path}: expected {{"thinking": "...", "text": "...", "why": "..."}}, '
                "each as it is needed"
            )
        return Expectation(written.get("thinking"), written.get("text"), written.get("why", ""))

    def expectation_difference(self, recording: Recording) -> str:
        """Return how a recording's reply differs from its expectation, and a command that changes
        the options by which the reply is read. Return an empty text if the expectation is met.
        """
        name = recording.name
        expected = self.read_expectation(name)
        unmet = expectation_diffs(recording, expected) if expected else ""
        if not unmet:
            return ""
        hints = map(_HINTED_OPTION.search, recording.replayed().notes)
        options = next((hint[0] for hint in hints if hint), "")
        why = "" if options else "Find the option that reads it so in docs/options.md, then:\n"
        command = f"{self.command_line('bless', name)} {options or '--set think_NAME=VALUE'}"
        also = "The proxy that runs needs the same --set."
        return f"{name} is not read as expected\n{unmet}\n{why}{command}\n{also}"

    def command_line(self, verb: str, name: str) -> str:
        """Return the command line of the subcommand `verb` for a recording of this folder."""
        return f"think-addon record {verb} {name} --dir {shlex.quote(str(self.folder))}"

    def golden_path(self, name: str, dialect: Dialect) -> Path:
        """Return the path of a recording's golden for clients of `dialect`."""
        return self.path(name).with_suffix(f".{dialect.name}.txt")

    def _files_in_own_folders(self) -> Iterator[Path]:
        """Return the `.mitm` files of the recordings that have a folder of their own, NAME/."""
        return (path for path in self.folder.glob("*/*.mitm") if path.stem == path.parent.name)

    def _golden_texts(self, recording: Recording) -> dict[Path, str]:
        """Return a mapping: path of a golden -> its text. The text is empty for a dialect in which
        the reply cannot be written.
        """
        return {
            self.golden_path(recording.name, dialect): golden(recording, dialect)
            if dialect in recording.dialects
            else ""
            for dialect in DIALECTS
        }


def _write_goldens(goldens: Mapping[Path, str]) -> str:
    """Write each golden whose text has changed; delete the file of a golden without text. Return
    the changes as a diff.
    """
    lines = list[str]()
    for path, text in goldens.items():
        old = _read_golden(path)
        lines += _diff(old, text, f"before/{path.name}", f"now/{path.name}", None)
        if not text:
            path.unlink(missing_ok=True)
        elif text != old:
            write_whole(path, text.encode())
    return "".join(f"{line}\n" for line in lines)


def _read_golden(path: Path) -> str:
    """Return a golden's text, empty for a file that is missing or is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return ""


def _diff(
    old: str, new: str, old_title: str, new_title: str, most: int | None = _DIFF_LINES
) -> list[str]:
    """Return the first `most` lines of a diff of two texts, and a line that says how many more
    there are. If `most` is None, return all lines. The titles stand in the diff's head.
    """
    lines = [
        *unified_diff(old.split("\n"), new.split("\n"), old_title, new_title, n=2, lineterm="")
    ]
    more = len(lines) - len(lines[:most])
    return [*lines[:most], f"... and {more} lines more"] if more else lines


def expectation_diffs(recording: Recording, expected: Expectation) -> str:
    """Return how a recording's reply differs from the expectation, as diffs of the thinking and of
    the text. Return an empty text if it does not differ.

    Raises RecordingError for a recording that this version cannot read.
    """
    body = recording.replayed().body
    turns = reply.read(body, reply.AS_WRITTEN, recording.client_reply.content_type).turns
    parts = [part for turn in turns if turn.choice == 0 for part in turn.parts]
    why = [f"expected, because {expected.why}:"] if expected.why else []
    lines = list[str]()
    for name, kind in _COMPARED_BLOCKS.items():
        texts = (part.text.strip("\r\n") for part in parts if isinstance(part, kind))
        actual = _trim_line_ends("\n\n".join(filter(None, texts)))
        wanted: str | None = getattr(expected, name)
        if wanted is not None and _trim_line_ends(wanted) != actual:
            titles = (f"expected {name}", f"{name} as it is read")
            lines += _diff(_trim_line_ends(wanted), actual, *titles)
    return "\n".join([*why, *lines]) if lines else ""


def _trim_line_ends(text: str) -> str:
    """Return a text with line feeds as its line ends, and with none at its beginning and end."""
    return text.replace("\r\n", "\n").strip("\r\n")
