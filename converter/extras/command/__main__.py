"""`main` of `think-addon` and `python -m converter.command`: runs the function that the table
`COMMANDS` has for a subcommand (`doctor`, `record`, `claude` ...), or starts the proxy (`start`).
"""

import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module

from converter.addon.shell_lines import UnprintableError
from converter.extras.command.addresses import CommandError, UsageError

FAILED, WRONG_USE, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141
"""Exit codes of failures. The last two are a shell's codes for a program that SIGINT or SIGPIPE
ended.
"""
CLIENTS = ("claude", "codex", "opencode", "aider", "llm", "run")
"""The subcommands that start a client."""
COMMANDS: Mapping[str, tuple[str, str]] = {
    "doctor": ("converter.extras.command.doctor", "main"),
    "record": ("converter.extras.recordings.commands", "main"),
    "env": ("converter.extras.command.launch", "print_environment"),
    **dict.fromkeys(CLIENTS, ("converter.extras.command.launch", "main")),
}
"""Subcommand -> its module and function. A command line without a subcommand starts the proxy.
A module is imported when its subcommand runs, because the import of mitmproxy alone takes a second.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    line = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _run(line)
    except (CommandError, UnprintableError) as error:
        print(f"think-addon: {error}", file=sys.stderr)
        return WRONG_USE if isinstance(error, UsageError) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed the pipe. Output goes to /dev/null from now on,
        # because Python's flush at exit would raise BrokenPipeError again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def _run(line: Sequence[str]) -> int:
    """Run the subcommand with which the command line begins, else start the proxy; return the exit
    status.
    """
    word = line[0] if line else ""
    if word in COMMANDS:
        module, name = COMMANDS[word]
        function = getattr(import_module(module), name)
        return int(function(word, line[1:]) if word in CLIENTS else function(line[1:]))
    # A start of the proxy would take a misspelt subcommand (`docter`) for a server's host name.
    meant = get_close_matches(word, COMMANDS, 1, 0.7) if word.isalpha() else []
    if meant and word != "localhost":
        raise UsageError(f"there is no command {word!r}: did you mean `think-addon {meant[0]}`?")
    return int(import_module("converter.extras.command.start").main(line))


if __name__ == "__main__":
    sys.exit(main())
