"""`think-addon` and `python -m converter.command`: start the proxy, or do another job."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial

from converter.command import doctor, launch, saved_reply, start
from converter.command.addresses import CommandError
from converter.recordings import __main__ as recording

FAILED, INTERRUPTED, PIPE_CLOSED = 1, 130, 141
"""Exit codes beside 0; the last two are those of the shell for the signals."""
COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "doctor": doctor.main,
    "read": saved_reply.main,
    "record": lambda arguments: recording.main(list(arguments), "think-addon record"),
    "env": launch.show,
    **{name: partial(launch.main, name) for name in launch.CLIENTS},
}
"""What the first word may ask for; without one of them the proxy starts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    command = COMMANDS.get(words[0]) if words else None
    try:
        if words and not command:
            _check_spelling(words[0])
        return (command or start.main)(words[1:] if command else words)
    except CommandError as error:
        print(f"think-addon: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # whoever read it has seen enough; the flush at exit would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def _check_spelling(word: str) -> None:
    """Raise CommandError for a word that is nearly one of the commands: no host is meant."""
    meant = get_close_matches(word, COMMANDS, 1, 0.7) if word.isalpha() else []
    if meant and word != "localhost":
        raise CommandError(f"there is no command {word!r}: did you mean `think-addon {meant[0]}`?")


if __name__ == "__main__":
    sys.exit(main())
