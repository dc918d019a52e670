"""`think-addon` and `python -m converter.command`: start the proxy, or do another job."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module

from converter.addon.shell_lines import UnprintableError
from converter.extras.command.addresses import CommandError, UsageError

FAILED, WRONG_USE, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141
"""Exit codes beside 0; the last two are those of the shell for the signals."""
CLIENTS = ("claude", "codex", "opencode", "aider", "llm", "run")
COMMANDS: Mapping[str, tuple[str, str]] = {
    "doctor": ("converter.extras.command.doctor", "main"),
    "record": ("converter.extras.recordings.commands", "main"),
    "env": ("converter.extras.command.launch", "show"),
    **dict.fromkeys(CLIENTS, ("converter.extras.command.launch", "main")),
}
"""The module and function of each first argument; without one of these the proxy starts. None is
imported before it is needed, because mitmproxy alone takes a second.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do as the command line says; return the exit status."""
    line = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _command(line[0] if line else "")(line)
    except (CommandError, UnprintableError) as error:
        print(f"think-addon: {error}", file=sys.stderr)
        return WRONG_USE if isinstance(error, UsageError) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of the pipe has ended; without this the flush at exit raises again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def _command(word: str) -> Callable[[Sequence[str]], int]:
    """Return the parser of a command line that begins with `word`."""
    if word not in COMMANDS:
        _check_spelling(word)
        start = import_module("converter.extras.command.start")
        return lambda line: int(start.main(line))
    module, name = COMMANDS[word]
    function = getattr(import_module(module), name)
    return lambda line: int(function(*[word] * (word in CLIENTS), line[1:]))


def _check_spelling(word: str) -> None:
    """Raise UsageError for a word that is nearly one of the commands, because no host is meant."""
    meant = get_close_matches(word, COMMANDS, 1, 0.7) if word.isalpha() else []
    if meant and word != "localhost":
        raise UsageError(f"there is no command {word!r}: did you mean `think-addon {meant[0]}`?")


if __name__ == "__main__":
    sys.exit(main())
