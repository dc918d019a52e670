"""The arguments of `think-addon record`, and options as they write them."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from converter.dialects.table import DIALECTS
from converter.exchange import settings
from converter.recordings.recording import RecordingError

_PREFIX = "think_"
_OPTIONS = {option.name: option for option in settings.OPTIONS}
FAILED, BAD_USE, INTERRUPTED = 1, 2, 130
"""Exit statuses: a recording breaks a law; the task cannot be done; Ctrl-C."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USE, f"{message}; see {self.prog} --help\n")


def parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of the program that its user calls `name`."""
    made = _Parser(name, description="Keep exchanges as recordings, and check them.")
    _add_folder(made, Path("recordings"))
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command, (does, add_arguments) in _COMMANDS.items():
        add_arguments(each := commands.add_parser(command, help=does))
        _add_folder(each, argparse.SUPPRESS)
    return made


def _add(add: argparse.ArgumentParser) -> None:
    flows = "flows that passed the addon, as mitmdump -w and mitmweb save them"
    add.add_argument("file", type=Path, metavar="FILE", help=flows)
    add.add_argument("name", metavar="NAME", help="what to call it")
    add.add_argument("--flow", type=int, metavar="N", help="which one, of a file of several")
    instead = "put it in the place of another one of that name"
    add.add_argument("--replace", action="store_true", help=instead)
    for kind in ("thinking", "text"):
        should = f"the {kind} that a client should get"
        add.add_argument(f"--expect-{kind}", metavar="WORDS", help=should)


def _show(show: argparse.ArgumentParser) -> None:
    show.add_argument("name", metavar="NAME")
    clients = [dialect.name for dialect in DIALECTS]
    show.add_argument("--for", dest="client", choices=clients, help="one client only")
    asks = "a curl command that asks `serve` for it"
    show.add_argument("--request", action="store_true", help=asks)


def _names(named: argparse.ArgumentParser) -> None:
    named.add_argument("names", nargs="*", metavar="NAME")


def _bless(bless: argparse.ArgumentParser) -> None:
    _names(bless)
    options = "give it other options"
    bless.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=options)


def _serve(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("folder", type=Path, nargs="?", metavar="DIR")
    serve.add_argument("--port", type=int, default=8000, help="of 127.0.0.1 (8000)")
    pace = "recorded, fast, or how many times as fast as recorded"
    serve.add_argument("--pace", default="recorded", help=pace)


_COMMANDS = {
    "add": ("keep an exchange of a flow file, redacted", _add),
    "list": ("what there is", _names),
    "show": ("what came in and what goes out, chunk by chunk", _show),
    "bless": ("accept what comes out now as right", _bless),
    "check": ("hold recordings to all laws", _names),
    "serve": ("answer as the recorded servers did", _serve),
}


def _add_folder(parser: argparse.ArgumentParser, default: object) -> None:
    """Add `--dir`, before the command or behind it: where it stands last, it is read last."""
    folder = "folder of the recordings (recordings)"
    parser.add_argument("--dir", type=Path, default=default, help=folder)


def with_options(known: Mapping[str, object], written: Sequence[str]) -> dict[str, object]:
    """Return the options with those that are written; of a sequence all that is written is its
    value. Raises RecordingError.
    """
    chosen = dict(known)
    given: dict[str, list[str]] = {}
    for words in written:
        name, equals, value = words.removeprefix(_PREFIX).partition("=")
        if name not in settings.RECORDED or not equals:
            allowed = ", ".join(_PREFIX + each for each in settings.RECORDED)
            hint = settings.REPLACED.get(name, f"expected NAME=VALUE with one of {allowed}")
            raise RecordingError(f"{hint}, got {words!r}")
        given.setdefault(name, []).append(value)
    chosen |= {name: _value(name, values) for name, values in given.items()}
    try:
        settings.read(chosen)
    except ValueError as error:
        raise RecordingError(str(error)) from None
    return chosen


def _value(name: str, values: list[str]) -> object:
    kind = _OPTIONS[name].type
    if kind is bool:
        return values[-1].lower() == "true"
    if kind is int:
        return int(values[-1]) if values[-1].isdecimal() else values[-1]
    return values[-1] if kind is str else [value for value in values if value]
