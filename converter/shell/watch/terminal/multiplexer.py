"""Replies on one terminal, readable: one at a time, in the order in which they began.

The first is printed as it comes. The others wait for their turn, with all that has come of them so
far; the page shows many at a time.
"""

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO

from converter.model.events import Event, Start
from converter.observe.printable import one_line
from converter.shell.watch.terminal.margin import Margin
from converter.transcript.accumulator import Accumulator, News
from converter.transcript.terminal import TerminalWriter
from converter.transcript.turns import CallPart, Field, TextPart, ThinkingPart
from converter.wire.bounds import MOST_PRINTED, PRINTED_LIMIT

_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


_LONGEST_NAME = 200
"""Characters of a path and of a model in a head."""
MOST_AT_ONCE = 1 << 15
"""Characters that are printed of what is heard at once: 20 milliseconds where each is of another
kind, in which others wait. A model writes few at a time; only a long frame has more.
"""
_REST = "\n(the rest is not printed)\n"


class _Reply:
    """A reply that is being said. `path` and `model` are in its head; `begun`: this is printed.
    `over`: its end has come.
    """

    def __init__(self, path: str, number: int, coloured: bool, width: int) -> None:
        self.begun = self.over = False
        self._margin = Margin(width)
        self._path = path[:_LONGEST_NAME]
        self._number = number
        self._model = ""
        self._writer = TerminalWriter(coloured)
        self._accumulator = Accumulator()
        self._waiting = StringIO(newline="")
        self._full = False

    def restart(self) -> None:
        """Go on at the left edge: somebody else has ended the line."""
        self._margin.restart()

    def hear(self, events: Sequence[Event]) -> None:
        """Take what is new; of several choices the first is printed."""
        room = MOST_AT_ONCE
        for event in events:
            if isinstance(event, Start):
                self._model = event.model[:_LONGEST_NAME] or self._model
            if getattr(event, "choice", 0) == 0:
                news = [_bounded(each, room) for each in self._accumulator.feed(event)]
                room -= sum(map(_length, news))
                self._wait(self._writer.feed(news))

    def close(self) -> None:
        """Take the end; fields of the server's own, told now, are nothing to print."""
        news = [each for each in self._accumulator.close() if not isinstance(each.part, Field)]
        self._wait(self._writer.feed(_bounded(each, MOST_AT_ONCE) for each in news))
        self._wait(self._writer.close())
        self.over = True

    def head(self) -> str:
        """Return the line above its words."""
        name = " ".join(filter(None, (f"#{self._number}", self._path, self._model)))
        return f"── {one_line(name)} ──"

    def _wait(self, text: str) -> None:
        """Have text printed as soon as the terminal is free. It gets its margin now: that of all
        that waits would take a tenth of a second.
        """
        room = 0 if self._full else PRINTED_LIMIT - self._waiting.tell()
        if len(text) > room:
            text = "" if self._full else text[:room].rpartition("\n")[0] + _REST
            self._full = True
        self._waiting.write(self._margin.feed(text))

    def take(self) -> str:
        """Return what could not be printed yet, once."""
        self._full = False
        text, self._waiting = self._waiting.getvalue(), StringIO(newline="")
        return text


def _bounded(news: News, room: int) -> News:
    """Return news with so many characters at most, or what it says in their place."""
    if _length(news) <= max(0, room):
        return news
    part = news.part
    rest = _REST if room > 0 else ""  # it says so once
    match part:
        case TextPart() | ThinkingPart():
            part = replace(part, text=part.text[: max(0, room)] + rest)
        case CallPart():
            part = replace(part, arguments=part.arguments[: max(0, room)] + rest)
    return replace(news, part=part)


def _length(news: News) -> int:
    match news.part:
        case TextPart() | ThinkingPart():
            return len(news.part.text)
        case CallPart():
            return len(news.part.arguments)
    return 0


class Multiplexer:
    """Told what each reply says, returns what to print. `width`: the terminal's; 0: unknown."""

    def __init__(self, coloured: bool, width: int = 0) -> None:
        self._coloured, self._width = coloured, width
        self._replies: dict[str, _Reply] = {}
        self._passed_over: set[str] = set()
        self._open = False
        self._count = 0

    def hear(self, name: str, path: str, events: Sequence[Event]) -> str:
        """Return what to print now that the reply `name` has said more."""
        if reply := self._replies.get(name) or self._begin(name, path):
            reply.hear(events)
        return self._shown()

    def end(self, name: str) -> str:
        """Return what to print now that the reply is over."""
        self._passed_over.discard(name)
        if name not in self._replies:
            return ""
        self._replies[name].close()
        out = self._shown()
        while self._replies and self._first.over:
            out += self.interrupt()
            del self._replies[next(iter(self._replies))]
            out += self._shown()
        return out

    def interrupt(self) -> str:
        """Return what ends a line that is still open, so that others may print theirs."""
        if not self._open:
            return ""
        self._open = False
        self._first.restart()
        return "\n"

    @property
    def _first(self) -> _Reply:
        return next(iter(self._replies.values()))

    def _begin(self, name: str, path: str) -> _Reply | None:
        """Return a new reply; None for one that has come while too many waited."""
        self._count += name not in self._passed_over
        if name in self._passed_over or len(self._replies) > MOST_PRINTED:
            self._passed_over.add(name)
            return None
        self._replies[name] = _Reply(path, self._count, self._coloured, self._width)
        return self._replies[name]

    def _shown(self) -> str:
        """Return what the first reply has to say, under its head."""
        text = self._first.take() if self._replies else ""
        if not text:
            return ""
        head = "" if self._first.begun else self._head(self._first.head())
        self._first.begun = True
        self._open = not text.removesuffix(_PLAIN).endswith("\n")
        return head + text

    def _head(self, line: str) -> str:
        return f"{_BOLD}{line}{_PLAIN}\n" if self._coloured else f"{line}\n"
