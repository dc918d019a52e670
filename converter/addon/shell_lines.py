"""Functions that build command lines from texts of servers, such as models' names, so that people
can paste them safely into a shell. `start_lines` and `converter/extras/command` choose the
commands.
"""

import shlex
from collections.abc import Iterable, Mapping


class UnprintableError(ValueError):
    """The error for a text with an unprintable character, which a user cannot paste safely."""


def quoted(text: str) -> str:
    """Return the text quoted as one word for a shell: `it's` -> `'it'"'"'s'`. Raises
    UnprintableError for a text with an unprintable character: in a command line that is shown as a
    comment, a line break would end the comment, and the shell would run the rest.
    """
    if not text.isprintable():
        expected = "expected characters that can be printed"
        raise UnprintableError(f"{expected}, got {text!r}: a shell would run the rest")
    return shlex.quote(text)


def command(parts: Iterable[str], variables: Mapping[str, str] | None = None) -> str:
    """Return a command line that first sets `variables`: `NAME=value command argument`."""
    set_first = (f"{name}={quoted(value)}" for name, value in (variables or {}).items())
    return " ".join([*set_first, *map(quoted, parts)])
