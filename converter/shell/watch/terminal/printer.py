"""The lines that a person at mitmdump's or mitmweb's terminal sees: a line per exchange, and with
`think_print` the model's words, live.

mitmproxy's console draws the whole screen by itself: there the lines go to its event log, and
nothing is printed.
"""

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.model.events import Event
from converter.observe.printable import bounded
from converter.observe.statistics import CountedReply
from converter.observe.summary import in_words
from converter.shell.heard_lines import is_heard
from converter.shell.keep.flow_record import FlowRecord, client_left, notes_of
from converter.shell.log_lines import LONGEST, LONGEST_LINE, path_of
from converter.shell.watch.terminal.multiplexer import Multiplexer
from converter.shell.watch.terminal.writer import Writer

_log = logging.getLogger(__name__)
_PATIENCE = 0.05
"""Seconds that a line of the log waits, at most, for what was printed before it."""
_LAST_PATIENCE = 1.0
"""Seconds that mitmproxy's end waits, at most, for a terminal that does not take the rest."""


class Terminal:
    """An addon of its own. Told of each reply as it comes and ends; prints nothing by which a model
    could act on the terminal.
    """

    name = "think-terminal"

    def __init__(self) -> None:
        self._screen: Multiplexer | None = None
        self._writer: Writer | None = None
        self._over = False

    @property
    def prints(self) -> bool:
        """Tell whether replies are to be printed as they come: asked for, and there is a terminal
        that nobody draws on.
        """
        return bool(ctx.options.think_print) and self._log_handler() is not None

    def heard(self, flow: HTTPFlow, events: Sequence[Event]) -> None:
        """Print what the client was told."""
        if events and not self._over:
            screen, writer = self._opened()
            writer.write(screen.hear(flow.id, path_of(flow), events))

    def ended(self, flow: HTTPFlow, record: FlowRecord) -> None:
        """Print the line of an exchange that is over."""
        if self._screen and self._writer:
            self._writer.write(self._screen.end(flow.id))
            self._make_room()  # mitmdump prints a line of its own after ours
        if record.exchange.endpoint.is_chat and is_heard(logging.INFO):
            _log.info("reply: %s", reply_line(flow, record))

    def done(self) -> None:
        """Give the terminal back."""
        if self._screen and self._writer:
            self._writer.write(self._screen.interrupt())
            self._writer.close(_LAST_PATIENCE)
        if handler := self._log_handler():
            handler.removeFilter(self._make_room)
        self._screen = self._writer = None
        self._over = True  # a script that is loaded anew has a terminal of its own

    def _opened(self) -> tuple[Multiplexer, Writer]:
        if self._screen is None or self._writer is None:
            handler = self._log_handler()
            file: TextIO = getattr(handler, "file", None) or sys.stdout
            if hasattr(file, "reconfigure"):
                # or lines of the log would come late, and cut in two
                file.reconfigure(line_buffering=True)
            self._screen, self._writer = Multiplexer(_coloured(file), _columns(file)), Writer(file)
            if handler:
                handler.addFilter(self._make_room)
        return self._screen, self._writer

    def _make_room(self, _: logging.LogRecord | None = None) -> bool:
        """End the open line before somebody else prints one."""
        if self._screen and self._writer:
            self._writer.write(self._screen.interrupt())
            self._writer.settle(_PATIENCE)
        return True

    def _log_handler(self) -> logging.Handler | None:
        """Return what prints the log on the terminal; mitmproxy's console has none."""
        termlog = ctx.master.addons.get("termlog")
        return termlog.logger if termlog else None


def reply_line(flow: HTTPFlow, record: FlowRecord) -> str:
    """Return an exchange in a few words: `/v1/messages tiny-think · 2 thoughts, 90 chars · first
    byte 0.2 s, whole 4 s · stop`.
    """
    summary = record.rewriter.summary.told() if record.rewriter else {}
    request = record.request
    model = str(
        summary.get("model") or (request and (request.model or request.body.get("model"))) or ""
    )
    thoughts = in_words(summary) if record.rewriter else ""
    status = flow.response.status_code if flow.response else 0
    failed = f"status {status}" if status >= 400 else ""
    ended = str(summary.get("failure") or summary.get("finish") or "")
    if flow.error and not (ended and client_left(flow)):
        ended = flow.error.msg
    parts = [f"{path_of(flow)} {bounded(model, LONGEST)}", thoughts, _times(summary), failed, ended]
    return bounded(" · ".join(part.strip() for part in parts if part.strip()), LONGEST_LINE)


def _times(summary: Mapping[str, object]) -> str:
    first, end = summary.get("first_byte"), summary.get("end")
    if not isinstance(first, (int, float)) or not isinstance(end, (int, float)):
        return ""
    return f"first byte {first:.2f} s, whole {end:.2f} s" if end > first else f"{end:.2f} s"


def reply_of(flow: HTTPFlow) -> CountedReply | None:
    """Return what is known of a reply that the addon has rewritten and kept."""
    noted = notes_of(flow)
    summary = noted.get("summary")
    return (
        CountedReply(summary, address_of(flow), str(noted.get("server") or ""))
        if isinstance(summary, dict) and summary
        else None
    )


def address_of(flow: HTTPFlow) -> str:
    """Return where a reply came from."""
    return f"{flow.request.host}:{flow.request.port}"


def _columns(file: TextIO) -> int:
    """Return the terminal's width as the reply begins; 0 where there is none."""
    try:
        return os.get_terminal_size(file.fileno()).columns
    except (OSError, ValueError):
        return 0


def _coloured(file: TextIO) -> bool:
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
