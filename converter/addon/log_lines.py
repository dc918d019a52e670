"""Writes lines of the log (`report`, `announce`), shortens notes for a flow's comment, and drops
mitmproxy's own lines that nobody reads. `bounded` in `converter/core/wire/printable.py` makes the
texts of clients and servers printable.
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
"""The most characters of a header, a path or an address in a line of the log."""
LONGEST_LINE = 2000
"""The most characters of one line about a reply, because a server may send long texts."""

_LONGEST_NOTE = 120
"""The most characters of a note in a flow's comment, which mitmweb shows in one cell of a table."""
_REDUNDANT_START = "the server's reply was "
"""Words at the beginning of some notes. A flow's comment leaves them out, because mitmweb shows it
in a narrow column.
"""

_log = logging.getLogger(__name__)


def path_of(request: Request) -> str:
    """Return a request's path without its query, shortened and printable."""
    return bounded(request.path.partition("?")[0], LONGEST)


def method_and_path(request: Request) -> str:
    """Return a request's method and path, shortened and printable."""
    return bounded(f"{request.method} {path_of(request)}", LONGEST)


def report(request: Request, texts: Sequence[str], level: int = logging.WARNING) -> list[str]:
    """Log the notes `texts`, which are about a client's request or its reply, in one line. Return
    each note as it is shown in the flow's comment, shortened. Empty texts are left out.
    """
    if notes := [note for note in texts if note]:
        line = bounded("; ".join(notes), LONGEST_LINE)
        _log.log(level, "think: %s: %s", method_and_path(request), line)
    return [shorten_note(note) for note in notes]


def shorten_note(note: str) -> str:
    """Return a note as it is shown in a flow's comment: the text before its first colon, without
    the words `the server's reply was ` at its beginning. mitmweb shows the comment in a narrow
    column, which has room only for the first words.
    """
    short = " ".join(note.split()).removeprefix(_REDUNDANT_START).partition(": ")[0]
    return bounded(short, _LONGEST_NOTE)


def announce(text: str) -> None:
    """Show the result of a command to its user: in mitmproxy's console as an alert, because its
    screen shows no other lines of the log; else as a log line, because mitmweb's page shows no
    alerts.
    """
    _log.log(ALERT if hasattr(ctx.master, "keymap") else logging.INFO, text)


def is_logged(level: int) -> bool:
    """Return True if somebody reads lines of this level: a handler of the log that shows them, or
    an addon with the hook `add_log`, which gets lines of all levels. The result is always True if
    the part `SPEED` of our layers is switched off.
    """
    handlers = logging.getLogger().handlers
    shown = any(handler.level <= level and not is_legacy_log(handler) for handler in handlers)
    return shown or bool(TABLE.addons_with("add_log"))


def write_each_line_at_once() -> None:
    """Have Python flush standard output after each line. mitmproxy (12.3) does not flush, so Python
    would write to a file or a pipe only every 8 kB, which is the log of some ninety replies.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def _is_wanted(line: logging.LogRecord) -> bool:
    """Return True if a line that mitmproxy logs about a connection is to be shown.

    Warnings and errors always are. The other lines are shown in mitmdump unless `flow_detail` is 0;
    in mitmweb and the console only with `termlog_verbosity=debug`, because these show connections
    elsewhere, and would log four lines for each reply.
    """
    options = ctx.options
    if "flow_detail" in options:
        wanted = options.flow_detail != 0
    else:
        wanted = getattr(options, "termlog_verbosity", "") == "debug"
    return line.levelno > logging.INFO or wanted


logging.getLogger("mitmproxy.proxy.server").addFilter(_is_wanted)


def log_if_read(handler: Any) -> None:
    """Have mitmproxy's handler of a client's connection log a line only if somebody reads the line.

    A client that connects and sends one request causes five lines. Even if `termlog_verbosity`
    hides them, mitmproxy formats each and passes it to all addons by the deprecated hook `add_log`,
    which takes a tenth of such an exchange's time.
    """
    write = handler.log

    def log(message: str, level: int = logging.INFO, exc_info: Any = None) -> None:
        """Log a line if somebody reads it. The parameters are those of mitmproxy's method."""
        if is_logged(level):
            write(message, level, exc_info)

    handler.log = log
