"""Lines for people to paste into a shell, made of texts that others have written: models' names and
addresses.
"""

import shlex
from collections.abc import Iterable, Mapping


class UnprintableError(ValueError):
    """A text has a character that no line for a shell may have."""


def word(text: str) -> str:
    """Return the text as one word for a shell. Raises UnprintableError for a character that cannot
    be printed: at a line break in a model's name a comment would end, and the rest would be run.
    """
    if not text.isprintable():
        expected = "expected characters that can be printed"
        raise UnprintableError(f"{expected}, got {text!r}: a shell would run the rest")
    return shlex.quote(text)


def line(parts: Iterable[str], variables: Mapping[str, str] | None = None) -> str:
    """Return a command line, with the variables that it is started with before it."""
    set_first = (f"{name}={word(value)}" for name, value in (variables or {}).items())
    return " ".join([*set_first, *map(word, parts)])
