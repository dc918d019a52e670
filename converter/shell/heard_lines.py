"""Lines of the log that nobody sees are not made.

mitmproxy writes five lines for a client that connects and asks once. Each is formatted, and passed
through its loop to all addons as the deprecated `add_log` hook: a tenth of such an exchange's cost,
also where `termlog_verbosity` shows none of them.
"""

import logging
from typing import Any

from mitmproxy import ctx

from converter.shell.mitmproxy_internals import is_legacy_log


def is_heard(level: int) -> bool:
    """Tell whether anybody gets lines of this level: a handler, or an addon with `add_log`."""
    handlers = logging.getLogger().handlers
    shown = any(handler.level <= level and not is_legacy_log(handler) for handler in handlers)
    return shown or any(hasattr(addon, "add_log") for addon in ctx.master.addons.lookup.values())


def _is_quiet() -> bool:
    """Tell whether mitmdump's user wants no lines on flows, and so none on connections."""
    options = ctx.options
    return "flow_detail" in options and options.flow_detail == 0


class HeardLines:
    """Writes what mitmproxy's connection handler says of one client, if anybody gets it."""

    def __init__(self, handler: Any) -> None:
        self._write = handler.log
        handler.log = self.log

    def log(self, message: str, level: int = logging.INFO, exc_info: Any = None) -> None:
        """Write a line."""
        if is_heard(level) and (level > logging.INFO or not _is_quiet()):
            self._write(message, level, exc_info)
