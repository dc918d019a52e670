"""The output on mitmdump's or mitmweb's terminal: a line for each exchange, and with `think_print`
the reply's content while it comes.

mitmproxy's console draws the whole screen by itself: there the lines go to its event log, and
nothing is printed.
"""

import logging
import re
import sys
from collections.abc import Callable, Mapping, Sequence
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
    "words of replies that wait for the terminal",
    "not printed, and a line says how many",
)
"""One that takes nothing must not fill the memory; nobody reads more at once."""

_log = logging.getLogger(__name__)
_PATIENCE = 0.02
"""Seconds that a line of the log waits, at most, for earlier output."""
_LAST_PATIENCE = 1.0
"""Seconds that mitmproxy's end waits, at most, for a terminal that takes no more output."""
_PIECE = 1 << 12
"""Bytes per write: no more than every pipe takes at once, so that a line of the log never lands
inside one.
"""
_PAUSE = 0.05
"""Seconds until a full file that does not block is tried again."""
_STEP = 500
"""Characters of a held call from one printed number to the next: 15 s of a slow model."""
_LINE = re.compile(r"\n(?=[^\n])")
MARGIN = "  "
"""Stands before each line of a reply, so that none passes for a line of the log."""
_LONGEST_NAME = 200
"""Characters of a path and of a model in a head."""


class Terminal(Watcher):
    """An addon that prints replies. No character of a reply can act on the terminal."""

    name = "think-terminal"

    def __init__(self) -> None:
        self._printer: Printer | None = None
        self._over = False
        self._printed: dict[str, int] = {}
        """By flow: the characters of its held call, as printed last."""

    @property
    def prints(self) -> bool:
        """True if replies are to be printed as they come: the option is on, and mitmproxy does not
        draw on the terminal.
        """
        return bool(value_of("think_print")) and self._log_handler() is not None

    def asked(self, seen: FlowRecord) -> None:
        """Note a reply that is to be printed."""
        if self.prints:
            self._printed[seen.flow.id] = 0

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        """Print the content that was sent to the client, and how much of a call is held."""
        name = seen.flow.id
        if name not in self._printed or self._over:
            return
        held = seen.rewriter.summary.calling // _STEP * _STEP if seen.rewriter else 0
        before, self._printed[name] = self._printed[name], held
        progress = f"{held:,}" if held > before else ""
        if events or progress:
            self._printer = self._printer or self._opened()
            self._printer.hear(name, path_of(seen.client_request), events, progress)

    def ended(self, seen: FlowRecord) -> None:
        """Print the line of an exchange that is over."""
        self._printed.pop(seen.flow.id, None)
        if self._printer:
            self._printer.end(seen.flow.id)
            self._make_room()  # mitmdump prints a line of its own after ours
        if seen.exchange.endpoint.is_chat and is_logged(logging.INFO):
            _log.info("reply: %s", reply_line(seen))

    def done(self) -> None:
        """Print the rest, and stop."""
        if self._printer:
            self._printer.close(_LAST_PATIENCE)
        if handler := self._log_handler():
            handler.removeFilter(self._make_room)
        self._printer = None
        self._over = True  # a script that is loaded anew has a terminal of its own

    def _opened(self) -> "Printer":
        handler = self._log_handler()
        file: TextIO = getattr(handler, "file", None) or sys.stdout
        if hasattr(file, "reconfigure"):
            # or lines of the log would come late, and cut in two
            file.reconfigure(line_buffering=True)
        if handler:
            handler.addFilter(self._make_room)
        return Printer(file, shows_colours(file))

    def _make_room(self, _: logging.LogRecord | None = None) -> bool:
        """End the open line before another line is printed."""
        if self._printer:
            self._printer.make_room(_PATIENCE)
        return True

    def _log_handler(self) -> logging.Handler | None:
        """Return the handler that prints the log on the terminal; mitmproxy's console has none."""
        termlog = ctx.master.addons.get("termlog")
        return termlog.logger if termlog else None


class _Reply:
    """A reply to be printed: its content behind a margin, below a head of `names`. `waiting`: the
    number of characters that came and are not printed.
    """

    def __init__(self, names: Sequence[str], coloured: bool) -> None:
        self.waiting = 0
        self.over = False
        self._names = names
        self._coloured = coloured
        self._begun = False
        self._writer = TerminalWriter(coloured)
        self._accumulator = Accumulator()
        self._text: list[str] = []

    def hear(self, events: Sequence[Event], progress: str) -> None:
        """Take new events; of several choices the first is printed. `progress`: the number of
        characters of a call that is held, or empty.
        """
        for event in events:
            if isinstance(event, Start) and event.model:
                self._names = (*self._names[:2], event.model[:_LONGEST_NAME])
            if getattr(event, "choice", 0) == 0:
                self._text.append(self._writer.feed(self._accumulator.feed(event)))
        if progress:
            self._text.append(self._writer.progress("calling a tool, characters:", progress))

    def close(self) -> None:
        """Take the end of the reply. Fields of the server's own, which come now, are not
        printed.
        """
        news = [each for each in self._accumulator.close() if not isinstance(each.part, Field)]
        self._text += self._writer.feed(news), self._writer.close()
        self.over = True

    def take(self) -> tuple[str, str]:
        """Return the head, once, and the text that is not printed yet."""
        text, self._text, self.waiting = "".join(self._text), [], 0
        if not text or self._begun:
            return "", text
        self._begun = True
        return TerminalWriter(self._coloured).role(f"── {' '.join(self._names)} ──"), text


class Printer:
    """Prints replies one at a time, in the order in which they began; the others wait. A thread
    formats and writes them, because a terminal may be slow, or not read at all. Characters beyond
    the bound are left out, and a line has their number.
    """

    def __init__(self, file: TextIO, coloured: bool) -> None:
        binary = file.buffer  # a thread that waits in the text layer would block the log's lines
        self._raw = getattr(binary, "raw", binary)
        self._encoding = file.encoding or "utf-8"
        self._coloured = coloured
        self._queued = self._left_out = 0  # characters, counted in mitmproxy's loop
        self._taken = 0  # counted in the thread
        self._settled = Signal()
        self._settled.set()
        self._replies: dict[str, _Reply] = {}
        self._count = 0
        self._open = False
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # A daemon: a terminal that never takes the rest must not keep the program from ending.
        Thread(target=self._run, name="think-terminal", daemon=True).start()

    def hear(self, name: str, path: str, events: Sequence[Event], progress: str = "") -> None:
        """Queue the events of the reply `name`, and the progress of its held call."""
        size = len(progress) + sum(map(len, map(model_text, events)))
        if self._queued - self._taken + size > TERMINAL_LIMIT:
            self._left_out += size
            return
        if self._left_out:
            self._work.put(partial(self._note, f"{self._left_out:,} characters"))
            self._left_out = 0
        self._queued += size
        self._work.put(partial(self._hear, name, path, events, progress, size))

    def end(self, name: str) -> None:
        """Queue the end of a reply."""
        self._work.put(partial(self._end, name))

    def make_room(self, seconds: float) -> bool:
        """End an open line, and wait until all is written, at most so long; return True if it is.
        While an earlier wait is not over, return False at once.
        """
        if self._settled.is_set():
            self._settled = Signal()
            self._work.put(self._end_line)
            self._work.put(self._settled.set)
            self._settled.wait(seconds)
        return self._settled.is_set()

    def close(self, seconds: float) -> None:
        """Write the rest, for at most so many seconds, and end."""
        self.make_room(seconds)
        self._work.put(None)

    def _run(self) -> None:
        while work := self._work.get():
            try:
                work()
            except Exception:  # a fault of the addon costs only this output
                _log.exception("think: a reply could not be printed")

    def _hear(
        self, name: str, path: str, events: Sequence[Event], progress: str, size: int
    ) -> None:
        if name not in self._replies:
            self._count += 1
            names = f"#{self._count}", path[:_LONGEST_NAME]
            self._replies[name] = _Reply(names, self._coloured)
        self._replies[name].waiting += size
        self._replies[name].hear(events, progress)
        self._show()

    def _end(self, name: str) -> None:
        if name in self._replies:
            self._replies[name].close()
            self._show()

    def _show(self) -> None:
        """Print the new text of the first reply, and of the next one when the first is over."""
        while self._replies:
            name, reply = next(iter(self._replies.items()))
            size, (head, text) = reply.waiting, reply.take()
            begins = "" if self._open else "\n"
            self._put(head + _LINE.sub(f"\n{MARGIN}", begins + text)[len(begins) :])
            self._open = not text.endswith("\n") if text else self._open
            self._taken += size
            if not reply.over:
                return
            del self._replies[name]
            self._end_line()

    def _note(self, much: str) -> None:
        self._end_line()
        self._put(f"[{much} were not printed: the terminal did not take them]\n")

    def _end_line(self) -> None:
        if self._open:
            self._open = False
            self._put("\n")

    def _put(self, text: str) -> None:
        data = memoryview(text.encode(self._encoding, "backslashreplace"))
        # the reader may have gone, which mitmproxy notices by its own lines
        with suppress(OSError, ValueError):
            while data:
                written = self._raw.write(data[:_PIECE])
                if written is None:  # full, and another program has made it non-blocking
                    sleep(_PAUSE)
                data = data[written or 0 :]


def reply_line(record: FlowRecord) -> str:
    """Return the line of an exchange: `/v1/messages tiny-think · 2 thoughts, 90 chars · first byte
    0.2 s, whole 4 s · stop`.
    """
    flow, summary = record.flow, record.reply_summary
    model = str(summary.get("model") or record.model)
    thoughts = describe_thinking(summary) if record.rewriter else ""
    status = flow.response.status_code if flow.response else 0
    failed = f"status {status}" if status >= 400 else ""
    ended = str(summary.get("failure") or summary.get("finish") or "")
    if flow.error and not (ended and client_left(flow)):
        ended = flow.error.msg
    parts = [
        f"{path_of(flow.request)} {bounded(model, LONGEST)}",
        thoughts,
        _times(summary),
        failed,
        ended,
    ]
    return bounded(" · ".join(part.strip() for part in parts if part.strip()), LONGEST_LINE)


def _times(summary: Mapping[str, object]) -> str:
    first, end = summary.get("first_byte"), summary.get("end")
    if not isinstance(first, (int, float)) or not isinstance(end, (int, float)):
        return ""
    return f"first byte {first:.2f} s, whole {end:.2f} s" if end > first else f"{end:.2f} s"
