"""`think-addon record`: keep, list, show, bless, check and serve recordings."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace

from converter.recordings import expectation, flow_file, listing, server
from converter.recordings.arguments import BAD_USE, FAILED, INTERRUPTED, parser, with_options
from converter.recordings.expectation import Expectation
from converter.recordings.golden import golden, one_line
from converter.recordings.library import Library
from converter.recordings.recording import Recording, RecordingError
from converter.recordings.replay import dialects_of


def main(arguments: list[str] | None = None, name: str = "think-addon record") -> int:
    """Do as the arguments say; return the exit status. `name`: what its user calls it."""
    chosen = parser(name).parse_args(arguments)
    try:
        return _COMMANDS[chosen.command](Library(chosen.dir), chosen)
    except RecordingError as error:
        _complain(error)
        return BAD_USE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # or Python complains once more as it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _complain(error: Exception) -> None:
    print(one_line(str(error)), file=sys.stderr)


def _safe(words: str) -> str:
    """Return lines with nothing in them that a terminal would act on."""
    return "\n".join(map(one_line, words.split("\n")))


def _add(library: Library, chosen: argparse.Namespace) -> int:
    library.path(chosen.name)  # a bad name is said before the file is read
    recordings = list(flow_file.read_all(chosen.file, chosen.name))
    if chosen.flow is None and len(recordings) > 1:
        _complain(
            RecordingError(
                f"{chosen.file} holds {len(recordings)} exchanges; choose one with --flow N:"
            )
        )
        print(
            "".join(
                f"{number:3}  {_described(recording)}\n"
                for number, recording in enumerate(recordings, 1)
            ),
            end="",
            file=sys.stderr,
        )
        return BAD_USE
    number = chosen.flow or 1
    if not 1 <= number <= len(recordings):
        raise RecordingError(f"{chosen.file} has no exchange {number}: it holds {len(recordings)}")
    recording = recordings[number - 1]
    path = library.keep(recording, chosen.replace)
    print(path)
    if chosen.expect_thinking is not None or chosen.expect_text is not None:
        expected = Expectation(chosen.expect_thinking, chosen.expect_text)
        print(expectation.keep(path, recording, expected))
    return 0


def _described(recording: Recording) -> str:
    line = f"{recording.asked.method} {recording.asked.path}"
    sizes = f"{len(recording.chunks)} chunks, {len(recording.body):,} bytes"
    columns = (line, str(recording.answered.status), sizes, recording.ended)
    return one_line("  ".join(columns).rstrip())


def _tried[Made](names: Iterable[str], make: Callable[[str], Made]) -> tuple[list[Made], int]:
    """Return the result of each recording, and an exit status; one that cannot be read costs a
    line.
    """
    made, status = [], 0
    for name in names:
        try:
            made.append(make(name))
        except RecordingError as error:
            _complain(error)
            status = BAD_USE
    return made, status


def _names(library: Library, named: list[str]) -> list[str]:
    names = named or library.names()
    if not names:
        raise RecordingError(
            f"no recordings in {library.folder}; "
            "--dir names another folder, `add` keeps the first one"
        )
    return names


def _list(library: Library, chosen: argparse.Namespace) -> int:
    rows, status = _tried(
        _names(library, chosen.names), lambda name: listing.row(library.load(name))
    )
    print(listing.table(rows), end="")
    return status


def _show(library: Library, chosen: argparse.Namespace) -> int:
    recording = library.load(chosen.name)
    if chosen.request:
        print(server.request_of(recording))
        return 0
    dialects = [
        dialect for dialect in dialects_of(recording) if chosen.client in (None, dialect.name)
    ]
    if not dialects:
        raise RecordingError(f"{chosen.name} is for {recording.client.label.title} clients only")
    print("\n".join(golden(recording, dialect) for dialect in dialects), end="")
    return 0


def _bless(library: Library, chosen: argparse.Namespace) -> int:
    def bless(name: str) -> bool:
        recording = library.load(name)
        if chosen.set:
            options = with_options(recording.options, chosen.set)
            recording = replace(recording, options=options)
        print(library.bless(recording, bool(chosen.set)), end="")
        if unmet := library.unmet(recording):
            print(_safe(unmet), file=sys.stderr)
        return bool(unmet)

    unmet, status = _tried(_names(library, chosen.names), bless)
    if chosen.set and not status:
        print("The proxy that runs needs the same --set.")
    return status or (FAILED if any(unmet) else 0)


def _check(library: Library, chosen: argparse.Namespace) -> int:
    from laws import laws  # noqa: PLC0415  # it needs more than the other commands do

    names = _names(library, chosen.names)
    failing = 0
    for name in names:
        faults = library.check(name, laws.check)
        failing += bool(faults)
        for wrong in faults:
            print(_safe(wrong.message), flush=True)
    print(f"{len(names) - failing} of {len(names)} recordings are as they should be")
    return FAILED if failing else 0


def _serve(library: Library, chosen: argparse.Namespace) -> int:
    served = Library(chosen.folder) if chosen.folder else library
    try:
        speed = server.read_pace(chosen.pace)
    except ValueError as error:
        raise RecordingError(f"--pace: {error}") from None
    recordings, _ = _tried(_names(served, []), served.load)
    try:
        server.serve(recordings, chosen.port, speed)
    except (OSError, OverflowError) as error:
        raise RecordingError(f"port {chosen.port}: {error}") from None
    return 0


_COMMANDS = {
    "add": _add,
    "list": _list,
    "show": _show,
    "bless": _bless,
    "check": _check,
    "serve": _serve,
}

if __name__ == "__main__":
    sys.exit(main())
