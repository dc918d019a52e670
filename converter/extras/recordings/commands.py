"""Runs `think-addon record`: reads the arguments of its subcommands (add, list, show, bless, check
and serve), and prints their output. `library.py`, `saved_reply.py` and `server.py` do the work.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from converter.addon.exchange import settings
from converter.addon.files import FileError
from converter.core.dialects.table import DIALECTS
from converter.core.wire.printable import one_line, visible
from converter.extras.recordings import flow_file, saved_reply, server
from converter.extras.recordings.golden import golden
from converter.extras.recordings.library import Expectation, Library
from converter.extras.recordings.recording import RecordingError

FAILED, BAD_USE = 1, 2
"""Exit codes: `FAILED` if `check` finds a fault in a recording, or `bless` leaves an expectation
unmet; `BAD_USE` if the command cannot be carried out.
"""
_OPTIONS = {option.name: option for option in settings.OPTIONS}
"""The addon's options by their names without `think_`."""


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand that the arguments name; return the exit code."""
    chosen = parser().parse_args(arguments)
    try:
        return int(chosen.run(Library(chosen.dir), chosen))
    except FileError as error:
        _print_error(error)
        return BAD_USE


def _print_error(error: Exception) -> None:
    """Print an error as one line on standard error."""
    print(one_line(str(error)), file=sys.stderr)


def _run_add(library: Library, chosen: argparse.Namespace) -> int:
    """Run `record add`: keep an exchange of a flow file as a recording; return the exit code."""
    # Called only for its error: a bad name raises RecordingError before a flow file is read.
    library.path(chosen.name)
    recordings = flow_file.read_all(chosen.file, chosen.name)
    if chosen.flow is None and len(recordings) > 1:
        many = f"{chosen.file} holds {len(recordings)} exchanges; choose one with --flow N:"
        _print_error(RecordingError(many))
        for number, each in enumerate(recordings, 1):
            line = f"{number:3}  {each.request.method} {each.request.path}"
            sizes = f"{len(each.chunks)} chunks, {len(each.body):,} bytes"
            columns = (line, str(each.server_reply.status), sizes, each.abort_reason)
            print(one_line("  ".join(columns).rstrip()), file=sys.stderr)
        return BAD_USE
    number = chosen.flow or 1
    if not 1 <= number <= len(recordings):
        raise RecordingError(f"{chosen.file} has no exchange {number}: it holds {len(recordings)}")
    recording = recordings[number - 1]
    path = library.keep(recording, chosen.replace)
    print(path)
    if chosen.expect_thinking is not None or chosen.expect_text is not None:
        expected = Expectation(chosen.expect_thinking, chosen.expect_text)
        print(library.write_expectation(recording, expected))
    return 0


def _for_each[Result](
    names: Iterable[str], work: Callable[[str], Result]
) -> tuple[list[Result], int]:
    """Call the command's function `work` for each name of a recording. Return its results and an
    exit code: 0, or `BAD_USE` if a call raised FileError. The error is printed, and the next
    recording follows.
    """
    results, status = [], 0
    for name in names:
        try:
            results.append(work(name))
        except FileError as error:
            _print_error(error)
            status = BAD_USE
    return results, status


def _named_or_all(library: Library, named: list[str]) -> list[str]:
    """Return the names in `named`, or the names of all recordings in the folder if `named` is
    empty. Raises RecordingError if both are empty.
    """
    names = named or library.names()
    if not names:
        raise RecordingError(
            f"no recordings in {library.folder}; "
            "--dir names another folder, `add` keeps the first one"
        )
    return names


def _run_list(library: Library, _: argparse.Namespace) -> int:
    """Run `record list`: print the names of all recordings; return the exit code."""
    print("\n".join(_named_or_all(library, [])))
    return 0


def _run_show(library: Library, chosen: argparse.Namespace) -> int:
    """Run `record show`: print a recording's goldens, its request as a curl command, or a saved
    reply; return the exit code.
    """
    file = Path(chosen.name)
    if chosen.name == saved_reply.STANDARD_INPUT or (file.is_file() and file.suffix != ".mitm"):
        options = settings.read(changed_options({}, chosen.set))
        dialect = next((each for each in DIALECTS if each.name == chosen.client), None)
        saved_reply.print_reply(chosen.name, options, dialect)
        return 0
    recording = library.load(chosen.name)
    if chosen.request:
        print(server.curl_command(recording))
        return 0
    dialects = [dialect for dialect in recording.dialects if chosen.client in (None, dialect.name)]
    if not dialects:
        raise RecordingError(f"{chosen.name} is for {recording.client.label.title} clients only")
    print("\n".join(golden(recording, dialect) for dialect in dialects), end="")
    return 0


def _run_bless(library: Library, chosen: argparse.Namespace) -> int:
    """Run `record bless`: write goldens anew, and thereby accept the replies of now; return the
    exit code.
    """

    def bless(name: str) -> bool:
        """Write a recording's goldens anew, with the options of `--set`, if any. Return True if
        the recording's reply still differs from its expectation.
        """
        recording = library.load(name)
        if chosen.set:
            recording = replace(recording, options=changed_options(recording.options, chosen.set))
        print(library.bless(recording, bool(chosen.set)), end="")
        if unmet := library.expectation_difference(recording):
            print(visible(unmet), file=sys.stderr)
        return bool(unmet)

    unmet, status = _for_each(_named_or_all(library, chosen.names), bless)
    if chosen.set and not status:
        print("The proxy that runs needs the same --set.")
    return status or (FAILED if any(unmet) else 0)


def _run_check(library: Library, chosen: argparse.Namespace) -> int:
    """Run `record check`: print each fault of the recordings; return the exit code."""
    laws = import_module("laws.laws")  # Imported here, because some installations lack `laws`.

    names = _named_or_all(library, chosen.names)
    failing = 0
    for name in names:
        faults = library.check(name, laws.messages)
        failing += bool(faults)
        for fault in faults:
            print(visible(fault), flush=True)
    print(f"{len(names) - failing} of {len(names)} recordings are as they should be")
    if not all(library.path(name).exists() for name in names):
        return BAD_USE
    return FAILED if failing else 0


def _run_serve(library: Library, chosen: argparse.Namespace) -> int:
    """Run `record serve`: answer requests from recordings until Ctrl-C; return the exit code."""
    served = Library(chosen.folder) if chosen.folder else library
    recordings, _ = _for_each(_named_or_all(served, []), served.load)
    try:
        server.serve(recordings, chosen.port, chosen.pace)
    except (OSError, OverflowError) as error:
        raise RecordingError(f"port {chosen.port}: {error}") from None
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser of command lines. An error in the command line ends the program with `BAD_USE`."""

    def error(self, message: str) -> NoReturn:
        """Print an error of the command line, and end the program."""
        self.exit(BAD_USE, f"{message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line of `think-addon record`."""
    parser = _Parser(
        "think-addon record", description="Keep exchanges as recordings, and check them."
    )
    _add_folder(parser, Path("recordings"))
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command, (does, run, takes) in _COMMANDS.items():
        each = commands.add_parser(command, help=does)
        for argument, how in takes.items():
            each.add_argument(argument, **how)
        each.set_defaults(run=run)
        _add_folder(each, argparse.SUPPRESS)
    return parser


def _add_folder(parser: argparse.ArgumentParser, default: object) -> None:
    """Add the option `--dir` to a parser: to the parser of the whole command, and to that of each
    subcommand, so that a user can write it before or after the subcommand. `default`: the folder if
    `--dir` is missing; SUPPRESS keeps the folder that the user named before the subcommand.
    """
    folder = "folder of the recordings (recordings)"
    parser.add_argument("--dir", type=Path, default=default, help=folder)


def changed_options(options: Mapping[str, object], assignments: Sequence[str]) -> dict[str, object]:
    """Return the addon's options, changed by `assignments`, the values of `--set`:
    `["think_start=text"]` sets `start` to `"text"`. If an option has several values, each has a
    `--set` of its own. Raises RecordingError for an unknown option or an unreadable value.
    """
    chosen = dict(options)
    by_name: dict[str, list[str]] = {}
    for option in assignments:
        name, equals, value = option.removeprefix(settings.PREFIX).partition("=")
        if name not in settings.RECORDED or not equals:
            allowed = ", ".join(settings.PREFIX + each for each in settings.RECORDED)
            raise RecordingError(f"expected NAME=VALUE with one of {allowed}, got {option!r}")
        by_name.setdefault(name, []).append(value)
    for name, values in by_name.items():
        kind = _OPTIONS[name].type
        if kind is bool:
            chosen[name] = values[-1].lower() == "true"
        else:
            chosen[name] = values[-1] if kind is str else [value for value in values if value]
    try:
        settings.read(chosen)
    except ValueError as error:
        raise RecordingError(str(error)) from None
    return chosen


_FLOWS_HELP = "flows that passed the addon, as mitmdump -w and mitmweb save them"
"""The help for the argument that names a flow file."""
_PACE_HELP = "recorded, fast, or how many times as fast as recorded"
"""The help for `--pace`."""
_NAME, _NAMES = {"metavar": "NAME"}, {"nargs": "*", "metavar": "NAME"}
_EXPECTED_TEXT = {"metavar": "WORDS", "help": "what a client should get"}
"""Keywords of `add_argument` for `--expect-thinking` and `--expect-text`."""
_SET_OPTION = {"action": "append", "default": [], "metavar": "NAME=VALUE", "help": "another option"}
"""Keywords of `add_argument` for `--set`."""
_DIALECT_NAMES = [dialect.name for dialect in DIALECTS]
"""The names of the dialects that a client may speak."""
_ARGUMENTS_OF_ADD = {
    "file": {"type": Path, "metavar": "FILE", "help": _FLOWS_HELP},
    "name": _NAME,
    "--flow": {"type": int, "metavar": "N", "help": "which one, of a file of several"},
    "--replace": {"action": "store_true", "help": "in the place of another one of that name"},
    "--expect-thinking": _EXPECTED_TEXT,
    "--expect-text": _EXPECTED_TEXT,
}
"""Argument of `record add` -> the keywords of `add_argument` for it."""
_ARGUMENTS_OF_SHOW = {
    "name": {"metavar": "NAME|FILE", "help": "a recording, or a file with a reply; - is stdin"},
    "--set": _SET_OPTION,
    "--for": {"dest": "client", "choices": _DIALECT_NAMES, "help": "one client only"},
    "--request": {"action": "store_true", "help": "a curl command that asks `serve` for it"},
}
"""Argument of `record show` -> the keywords of `add_argument` for it."""
_ARGUMENTS_OF_SERVE = {
    "folder": {"type": Path, "nargs": "?", "metavar": "DIR"},
    "--port": {"type": int, "default": 8000, "help": "of 127.0.0.1 (8000)"},
    "--pace": {"type": server.read_pace, "default": "recorded", "help": _PACE_HELP},
}
"""Argument of `record serve` -> the keywords of `add_argument` for it."""
_COMMANDS: Mapping[
    str, tuple[str, Callable[[Library, argparse.Namespace], int], Mapping[str, Any]]
] = {
    "add": ("keep an exchange of a flow file, redacted", _run_add, _ARGUMENTS_OF_ADD),
    "list": ("the names of all recordings", _run_list, {}),
    "show": ("what came in and what goes out, or a saved reply", _run_show, _ARGUMENTS_OF_SHOW),
    "bless": (
        "accept what comes out now as right",
        _run_bless,
        {"names": _NAMES, "--set": _SET_OPTION},
    ),
    "check": ("hold recordings to all laws", _run_check, {"names": _NAMES}),
    "serve": ("answer as the recorded servers did", _run_serve, _ARGUMENTS_OF_SERVE),
}
"""Subcommand -> its help, the function that runs it, and its arguments."""
