"""`Terminal`, an addon, logs a line for each reply to a chat request, and with `think_print` prints
a reply while it comes. `converter.addon.transcript.terminal` has colours and the bar of
thoughts.

The output goes to mitmdump's or mitmweb's terminal. mitmproxy's console draws the whole screen
itself: there the lines go to the event log, and no content is printed.
"""

import logging
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Event as Signal
from threading import Thread
from time import sleep
from typing import TextIO

from mitmproxy import ctx

from converter.addon.keep.flow_record import FlowRecord, client_left
from converter.addon.log_lines import LONGEST, LONGEST_LINE, is_logged, path_of
from converter.addon.mitmproxy_internals import value_of
from converter.addon.transcript.accumulator import Accumulator
from converter.addon.transcript.terminal import TerminalWriter, shows_colours
from converter.addon.transcript.turns import Field
from converter.addon.watcher import Watcher
from converter.core.model.events import Event, Start, model_text
from converter.core.reply.summary import describe_thinking
from converter.core.wire.bounds import Bound
from converter.core.wire.printable import bounded

TERMINAL_LIMIT = Bound(
    512 << 10,
    "characters",
    "text of replies that waits for the terminal",
    "not printed, and a line says how many",
)
"""There is a bound, because a terminal that accepts no output must not fill the memory."""

_log = logging.getLogger(__name__)
_PATIENCE = 0.02
"""The most seconds that a line of the log waits until earlier text of replies is written."""
_LAST_PATIENCE = 1.0
"""The most seconds that mitmproxy, when it ends, waits for a terminal that accepts no output."""
_PIECE = 1 << 12
"""The most bytes of one write. A pipe takes 4,096 bytes as one piece (PIPE_BUF of Linux), so no
line of the log can come between them.
"""
_PAUSE = 0.05
"""Seconds until a write to a full, non-blocking file is tried again."""
_STEP = 500
"""While a call is held, the number of its characters is printed each time that another 500 have
come. A slow model needs 15 s for them.
"""
_LINE = re.compile(r"\n(?=[^\n])")
"""Matches a line feed before a line that is not empty: `MARGIN` is added after it."""
MARGIN = "  "
"""The text before each line of a reply, so that a reply cannot forge a line of the log."""
_LONGEST_NAME = 200
"""The most characters of the path, and of the model, in the line above a reply."""


class Terminal(Watcher):
    """An addon that prints replies as they come (`think_print`), and logs a line for each finished
    chat request. Control characters of a reply are printed as visible text.
    """

    name = "think-terminal"

    def __init__(self) -> None:
        self._printer: Printer | None = None
        self._printed: dict[str, int] = {}
        """The id of a flow whose reply is printed -> the number of characters of its held call
        that was printed last; 0 if no call is held.
        """

    def asked(self, seen: FlowRecord) -> None:
        """Remember that the exchange's reply is to be printed as it comes, if `think_print` is on
        now and the program is not mitmproxy's console.
        """
        if value_of("think_print") and self._log_handler():
            self._printed[seen.flow.id] = 0

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        """Print the content that was sent to the client, and the size of a held call."""
        name = seen.flow.id
        if name not in self._printed:
            return
        held = seen.rewriter.summary.calling // _STEP * _STEP if seen.rewriter else 0
        before, self._printed[name] = self._printed[name], held
        progress = f"{held:,}" if held > before else ""
        if events or progress:
            self._printer = self._printer or self._new_printer()
            self._printer.queue_events(name, path_of(seen.client_request), events, progress)

    def ended(self, seen: FlowRecord) -> None:
        """Print the rest of the reply's text. Log the exchange's line (`reply_line`) if the request
        was a chat request.
        """
        self._printed.pop(seen.flow.id, None)
        if self._printer:
            self._printer.queue_end(seen.flow.id)
            self._end_open_line()  # mitmdump is about to print its own line for the flow.
        if seen.exchange.endpoint.is_chat and is_logged(logging.INFO):
            _log.info("reply: %s", reply_line(seen))

    def done(self) -> None:
        """Print the text that waits, and print nothing from then on."""
        if self._printer:
            self._printer.close(_LAST_PATIENCE)
        if handler := self._log_handler():
            handler.removeFilter(self._end_open_line)
        self._printer = None
        # This addon prints no more: after a reload, the new script's `Terminal` prints.
        self._printed.clear()

    def _new_printer(self) -> "Printer":
        """Return a printer for the file to which mitmproxy writes its log. Also have the file write
        each line of the log at once, on a line of its own.
        """
        handler = self._log_handler()
        file: TextIO = getattr(handler, "file", None) or sys.stdout
        if hasattr(file, "reconfigure"):
            # The printer writes to the file below Python's text layer. Without line buffering,
            # lines of the log would wait in this layer, and come late and cut in two.
            file.reconfigure(line_buffering=True)
        if handler:
            handler.addFilter(self._end_open_line)
        return Printer(file, shows_colours(file))

    def _end_open_line(self, _: logging.LogRecord | None = None) -> bool:
        """End a reply's open line, so that a log line begins on a line of its own. Return True, so
        that this filter of the log lets every line pass.
        """
        if self._printer:
            self._printer.end_open_line(_PATIENCE)
        return True

    def _log_handler(self) -> logging.Handler | None:
        """Return the handler that prints the log on the terminal, None in mitmproxy's console."""
        termlog = ctx.master.addons.get("termlog")
        return termlog.logger if termlog else None


class _Reply:
    """Collects the text of a reply that is to be printed. `names`: the reply's number and path,
    which are printed with the model as a line above it. `coloured`: True for colours.
    """

    def __init__(self, names: Sequence[str], coloured: bool) -> None:
        self.waiting = 0
        """The number of characters that have come and are not yet printed."""
        self.over = False
        """True if the reply has ended."""
        self._names = names
        self._coloured = coloured
        self._begun = False
        self._writer = TerminalWriter(coloured)
        self._accumulator = Accumulator()
        self._text: list[str] = []

    def add_events(self, events: Sequence[Event], progress: str) -> None:
        """Add new events. Only the first choice is printed. `progress`: the number of characters of
        a held call, as text to print; empty to print no number.
        """
        for event in events:
            if isinstance(event, Start) and event.model:
                self._names = (*self._names[:2], event.model[:_LONGEST_NAME])
            if getattr(event, "choice", 0) == 0:
                self._text.append(self._writer.feed(self._accumulator.feed(event)))
        if progress:
            self._text.append(self._writer.progress_text("calling a tool, characters:", progress))

    def close(self) -> None:
        """End the reply: add the text that was held until now. Fields that belong to no text,
        thought or call (`Field`) are known now too, but are not printed.
        """
        news = [each for each in self._accumulator.close() if not isinstance(each.part, Field)]
        self._text += self._writer.feed(news), self._writer.close()
        self.over = True

    def take_new_text(self) -> tuple[str, str]:
        """Return the line to print above the reply, and the text that has come since the last call.
        The line is returned once, with the first text of the reply. All other calls return an empty
        line.
        """
        text, self._text, self.waiting = "".join(self._text), [], 0
        if not text or self._begun:
            return "", text
        self._begun = True
        return TerminalWriter(self._coloured).role_line(f"── {' '.join(self._names)} ──"), text


class Printer:
    """Prints replies one after another, in the order in which they began; later replies wait.

    A thread formats and writes them, because a terminal may be slow or accept nothing. If more than
    `TERMINAL_LIMIT` characters wait, new ones are left out, and a line says how many.
    """

    def __init__(self, file: TextIO, coloured: bool) -> None:
        # The raw file, not Python's text layer: a thread that waits in the text layer holds a lock
        # that the log's lines need.
        binary = file.buffer
        self._raw = getattr(binary, "raw", binary)
        self._encoding = file.encoding or "utf-8"
        self._coloured = coloured
        # How many characters were put into the queue, and how many were left out since the last
        # line that says so. Only mitmproxy's loop changes these numbers. `_taken`, the number of
        # characters taken from the queue, is changed by the thread alone.
        self._queued = self._left_out = 0
        self._taken = 0
        self._settled = Signal()
        self._settled.set()
        self._replies: dict[str, _Reply] = {}
        self._count = 0
        self._open = False
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # A daemon thread: a terminal that accepts nothing must not keep the program from ending.
        Thread(target=self._run_queued_work, name="think-terminal", daemon=True).start()

    def queue_events(
        self, name: str, path: str, events: Sequence[Event], progress: str = ""
    ) -> None:
        """Queue events of the reply to the request at `path`. `name`: the flow's id. `progress`:
        the number of characters of a held call, as text to print; empty to print no number.
        """
        size = len(progress) + sum(map(len, map(model_text, events)))
        if self._queued - self._taken + size > TERMINAL_LIMIT:
            self._left_out += size
            return
        if self._left_out:
            self._work.put(partial(self._print_left_out, f"{self._left_out:,} characters"))
            self._left_out = 0
        self._queued += size
        self._work.put(partial(self._add_events, name, path, events, progress, size))

    def queue_end(self, name: str) -> None:
        """Queue the end of the reply whose flow has the id `name`."""
        self._work.put(partial(self._end_reply, name))

    def end_open_line(self, seconds: float) -> bool:
        """End the line that is being printed, so that another line can follow. Wait at most
        `seconds` until all queued text is written; return True if it is written by then. If an
        earlier call has given up its wait, and its text is still not written, return False at once.
        """
        if self._settled.is_set():
            self._settled = Signal()
            self._work.put(self._end_line)
            self._work.put(self._settled.set)
            self._settled.wait(seconds)
        return self._settled.is_set()

    def close(self, seconds: float) -> None:
        """Write the text that waits, for at most `seconds`, and end the thread."""
        self.end_open_line(seconds)
        self._work.put(None)

    def _run_queued_work(self) -> None:
        """Do the queued work in its order, until `None` is queued. The thread of the printer runs
        this.
        """
        while work := self._work.get():
            try:
                work()
            except Exception:  # Our own fault must not end the thread.
                _log.exception("think: a reply could not be printed")

    def _add_events(
        self, name: str, path: str, events: Sequence[Event], progress: str, size: int
    ) -> None:
        """Add events to the reply of the flow with the id `name`, and print their text if the reply
        is the oldest one. `path`: the path of the request. `progress`: the number of characters of
        a held call, as text to print; empty to print no number. `size`: the number of characters
        that these events and `progress` took in the queue.
        """
        if name not in self._replies:
            self._count += 1
            names = f"#{self._count}", path[:_LONGEST_NAME]
            self._replies[name] = _Reply(names, self._coloured)
        self._replies[name].waiting += size
        self._replies[name].add_events(events, progress)
        self._print_new_text()

    def _end_reply(self, name: str) -> None:
        """End the reply of the flow with the id `name`, and print the text at its end."""
        if name in self._replies:
            self._replies[name].close()
            self._print_new_text()

    def _print_new_text(self) -> None:
        """Print the new text of the oldest reply; when it has ended, go on with the next reply."""
        while self._replies:
            name, reply = next(iter(self._replies.items()))
            size, (head, text) = reply.waiting, reply.take_new_text()
            begins = "" if self._open else "\n"
            self._write_text(head + _LINE.sub(f"\n{MARGIN}", begins + text)[len(begins) :])
            self._open = not text.endswith("\n") if text else self._open
            self._taken += size
            if not reply.over:
                return
            del self._replies[name]
            self._end_line()

    def _print_left_out(self, amount: str) -> None:
        """Print a line about text that was left out. `amount`: how much, such as `5,000
        characters`.
        """
        self._end_line()
        self._write_text(f"[{amount} were not printed: the terminal did not take them]\n")

    def _end_line(self) -> None:
        """End the line that is being printed; do nothing if none is."""
        if self._open:
            self._open = False
            self._write_text("\n")

    def _write_text(self, text: str) -> None:
        """Write a text to the file; wait while the terminal or pipe accepts no more bytes."""
        data = memoryview(text.encode(self._encoding, "backslashreplace"))
        # The error of a closed terminal is ignored here: mitmproxy gets it too, when it prints its
        # own lines.
        with suppress(OSError, ValueError):
            while data:
                written = self._raw.write(data[:_PIECE])
                # `None` means that nothing was written: another program has made the file
                # non-blocking, and the file accepts no more bytes now.
                if written is None:
                    sleep(_PAUSE)
                data = data[written or 0 :]


def reply_line(record: FlowRecord) -> str:
    """Return the line of an exchange: `/v1/messages tiny-think · 2 thoughts, 90 chars in 3.1 s ·
    first byte 0.20 s, whole 4.00 s · stop`. A part that is unknown is left out.
    """
    flow, summary = record.flow, record.reply_summary
    model = str(summary.get("model") or record.request.requested_model)
    thoughts = describe_thinking(summary) if record.rewriter else ""
    status = flow.response.status_code if flow.response else 0
    failed = f"status {status}" if status >= 400 else ""
    first, end = summary.get("first_byte"), summary.get("end")
    times = ""
    if isinstance(first, (int, float)) and isinstance(end, (int, float)):
        times = f"first byte {first:.2f} s, whole {end:.2f} s" if end > first else f"{end:.2f} s"
    ended = str(summary.get("failure") or summary.get("finish") or "")
    if flow.error and not (ended and client_left(flow)):
        ended = flow.error.msg
    head = f"{path_of(flow.request)} {bounded(model, LONGEST)}"
    parts = (head, thoughts, times, failed, ended)
    return bounded(" · ".join(part.strip() for part in parts if part.strip()), LONGEST_LINE)
