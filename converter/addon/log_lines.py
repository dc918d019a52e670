"""Lines of the log: texts of clients and servers stand in them bounded and printable. A line that
nobody reads is not made.
"""

import logging
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any

from mitmproxy import ctx
from mitmproxy.http import Request
from mitmproxy.log import ALERT

from converter.addon.layers.hook_table import TABLE
from converter.addon.mitmproxy_internals import is_legacy_log
from converter.core.wire.printable import bounded

LONGEST = 200
"""Characters of a header, a path or an address in a line of the log."""
LONGEST_LINE = 2000
"""Characters of one line about a reply, because a server may send long texts, and a terminal shows
few lines.
"""

_LONGEST_NOTE = 120
"""Characters of a note in a comment, which is one cell of a table."""
_POINTLESS = "the server's reply was "

_log = logging.getLogger(__name__)


def path_of(request: Request) -> str:
    """Return a request's path without its query."""
    return bounded(request.path.partition("?")[0], LONGEST)


def in_a_line(request: Request) -> str:
    """Return a request's method and path."""
    return bounded(f"{request.method} {path_of(request)}", LONGEST)


def report(request: Request, texts: Sequence[str], level: int = logging.WARNING) -> list[str]:
    """Log in one line what a person should know of the client's request; return each note in a few
    words for the flow's comment.
    """
    if notes := [note for note in texts if note]:  # some quote the server
        _log.log(
            level, "think: %s: %s", in_a_line(request), bounded("; ".join(notes), LONGEST_LINE)
        )
    return [in_short(note) for note in notes]


def in_short(note: str) -> str:
    """Return the words of a note before its colon, as a comment may hold them. A narrow column
    shows only the first words, so nothing stands before the point.
    """
    short = " ".join(note.split()).removeprefix(_POINTLESS).partition(": ")[0]
    return bounded(short, _LONGEST_NOTE)


def announce(text: str) -> None:
    """Show the result of a command to the person who gave it. mitmweb's page shows no alerts, the
    console nothing else.
    """
    _log.log(ALERT if hasattr(ctx.master, "keymap") else logging.INFO, text)


def is_logged(level: int) -> bool:
    """Return True if anybody gets lines of this level: a handler, or an addon with `add_log`."""
    handlers = logging.getLogger().handlers
    shown = any(handler.level <= level and not is_legacy_log(handler) for handler in handlers)
    return shown or bool(TABLE.of("add_log"))


def write_each_line_at_once() -> None:
    """Flush standard output at each line, where it is a file or a pipe. Python keeps 8 kB there,
    which is the log of some ninety replies, and mitmproxy flushes nothing (12.3).
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def _is_wanted(line: logging.LogRecord) -> bool:
    """Return True if a line about a connection is wanted. It is not where mitmdump's user wants no
    lines about flows.

    mitmweb and the console show flows elsewhere, and would write four lines for each reply;
    `termlog_verbosity=debug` shows these lines.
    """
    options = ctx.options
    if "flow_detail" in options:
        wanted = options.flow_detail != 0
    else:
        wanted = getattr(options, "termlog_verbosity", "") == "debug"
    return line.levelno > logging.INFO or wanted


logging.getLogger("mitmproxy.proxy.server").addFilter(_is_wanted)


def log_if_read(handler: Any) -> None:
    """Have mitmproxy's connection handler log its lines on one client only if anybody gets these
    lines.

    A client that connects and sends one request makes five lines. Each is formatted, and passed
    through mitmproxy's loop to all addons as the deprecated `add_log` hook: a tenth of such an
    exchange's cost, also where `termlog_verbosity` shows none of them.
    """
    write = handler.log

    def log(message: str, level: int = logging.INFO, exc_info: Any = None) -> None:
        if is_logged(level):
            write(message, level, exc_info)

    handler.log = log
