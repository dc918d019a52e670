"""`think-addon` and `python -m converter.command`: start the proxy, or do another job."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from converter.command import doctor, saved_reply, start
from converter.command.addresses import CommandError
from converter.recordings import __main__ as recording

FAILED, INTERRUPTED, PIPE_CLOSED = 1, 130, 141
"""Exit codes beside 0; the last two are those of the shell for the signals."""
COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "doctor": doctor.main,
    "read": saved_reply.main,
    "record": lambda arguments: recording.main(list(arguments), "think-addon record"),
}
"""What the first word may ask for; without one of them the proxy starts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    command = COMMANDS.get(words[0]) if words else None
    try:
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


if __name__ == "__main__":
    sys.exit(main())
