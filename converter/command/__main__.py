"""`think-addon` and `python -m converter.command`: start the proxy, or do another job."""

import sys
from collections.abc import Callable, Mapping, Sequence

from converter import __main__ as reading
from converter.command import doctor, start
from converter.command.addresses import CommandError
from converter.recordings import __main__ as recording

FAILED, INTERRUPTED = 1, 130
COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "doctor": doctor.main,
    "read": lambda arguments: reading.main(arguments, "think-addon read"),
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


if __name__ == "__main__":
    sys.exit(main())
