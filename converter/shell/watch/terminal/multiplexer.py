"""Several replies on one terminal, readable: one has it, and is printed as it comes; the others
wait.

A reply that ends while another has the terminal is printed then, as a whole, under its own head.
When the one that has the terminal ends, the oldest that waits gets it, with all that has come of it
so far.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO

from converter.model.events import Event, Start
from converter.observe.printable import one_line
from converter.shell.watch.terminal.margin import Margin
from converter.transcript.accumulator import Accumulator, News
from converter.transcript.terminal import TerminalWriter
from converter.transcript.turns import Field, Text, Thinking, ToolCall

_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


_LONGEST_NAME = 200
"""Characters of a path and of a model in a head."""
WAITING_LIMIT = 1 << 19
"""Characters of a reply that wait for the terminal; of a longer one the rest is not printed. Half
of what its writer lets wait: it takes all of them, or none.
"""
MOST_AT_ONCE = 1 << 15
"""Characters that are printed of what is heard at once: 20 milliseconds where each is of another
kind, in which others wait. A model writes few at a time; only a long frame has more.
"""
_REST = "\n(the rest is not printed)\n"


class _Reply:
    """A reply that is being said. `path` and `model` are in its head."""

    def __init__(self, path: str, number: int, coloured: bool, width: int) -> None:
        self._margin = Margin(width)
        self._path = path[:_LONGEST_NAME]
        self._number = number
        self._model = ""
        self._writer = TerminalWriter(coloured)
        self._choices: dict[int, Accumulator] = {}
        self._later: dict[int, list[News]] = defaultdict(list)
        self._waiting = StringIO(newline="")

    def restart(self) -> None:
        """Go on at the left edge: somebody else has ended the line."""
        self._margin.restart()

    def hear(self, events: Sequence[Event]) -> None:
        """Take what is new. Of several choices the first is printed as it comes, the others after
        it.
        """
        room = MOST_AT_ONCE
        for event in events:
            if isinstance(event, Start):
                self._model = event.model[:_LONGEST_NAME] or self._model
            choice = getattr(event, "choice", 0)
            accumulator = self._choices.setdefault(choice, Accumulator(choice))
            said = [_bounded(news, room) for news in accumulator.feed(event)]
            room -= sum(map(_length, said))
            self._say(choice, said)

    def close(self) -> None:
        """Take the end; fields of the server's own, told now, are nothing to print."""
        for choice, accumulator in self._choices.items():
            self._say(
                choice,
                [
                    _bounded(said, MOST_AT_ONCE)
                    for said in accumulator.close()
                    if not isinstance(said.part, Field)
                ],
            )
        for _, later in sorted(self._later.items()):
            self._wait(self._writer.feed(later))
        self._wait(self._writer.close())

    def head(self, goes_on: bool) -> str:
        """Return the line above its words."""
        name = " ".join(
            filter(
                None, (f"#{self._number}", self._path, self._model, "goes on" if goes_on else "")
            )
        )
        return f"── {one_line(name)} ──"

    def _wait(self, text: str) -> None:
        """Have text printed as soon as the terminal is free. It gets its margin now: that of all
        that waits would take a tenth of a second.
        """
        room = WAITING_LIMIT - self._waiting.tell()
        if 0 < room < len(text):
            text = text[:room].rpartition("\n")[0] + _REST
        self._waiting.write(self._margin.feed(text) if room > 0 else "")

    def take(self) -> str:
        """Return what could not be printed yet, once."""
        text, self._waiting = self._waiting.getvalue(), StringIO(newline="")
        return text

    def _say(self, choice: int, said: list[News]) -> None:
        if choice == min(self._choices):
            self._wait(self._writer.feed(said))
        else:
            self._later[choice] += said


def _bounded(news: News, room: int) -> News:
    """Return news with so many characters at most, or what it says in their place."""
    if _length(news) <= max(0, room):
        return news
    part = news.part
    rest = _REST if room > 0 else ""  # it says so once
    match part:
        case Text() | Thinking():
            part = replace(part, text=part.text[: max(0, room)] + rest)
        case ToolCall():
            part = replace(part, arguments=part.arguments[: max(0, room)] + rest)
    return replace(news, part=part)


def _length(news: News) -> int:
    match news.part:
        case Text() | Thinking():
            return len(news.part.text)
        case ToolCall():
            return len(news.part.arguments)
    return 0


class Multiplexer:
    """Told what each reply says, returns what to print. `width`: the terminal's; 0: unknown."""

    def __init__(self, coloured: bool, width: int = 0) -> None:
        self._coloured, self._width = coloured, width
        self._replies: dict[str, _Reply] = {}
        self._begun: set[str] = set()
        self._owner = ""
        self._last = ""
        self._open = False
        self._count = 0

    def hear(self, name: str, path: str, events: Sequence[Event]) -> str:
        """Return what to print now that the reply `name` has said more."""
        if name not in self._replies:
            self._count += 1
            self._replies[name] = _Reply(path, self._count, self._coloured, self._width)
        self._owner = self._owner or name
        self._go_on(name).hear(events)
        return self._shown(name) if self._owner == name else ""

    def end(self, name: str) -> str:
        """Return what to print now that the reply is over."""
        if name not in self._replies:
            return ""
        self._go_on(name).close()
        out = self._shown(name) + self.interrupt()
        del self._replies[name]
        self._begun.discard(name)
        if self._owner == name:
            self._owner = next(iter(self._replies), "")
            out += self._shown(self._owner) if self._owner else ""
        return out

    def interrupt(self) -> str:
        """Return what ends a line that is still open, so that others may print theirs."""
        was, self._open = self._open, False
        return "\n" if was else ""

    def _go_on(self, name: str) -> _Reply:
        """Return a reply that says more: one that is being printed may have to begin a line."""
        reply = self._replies[name]
        if self._owner == name and (name != self._last or not self._open):
            reply.restart()
        return reply

    def _shown(self, name: str) -> str:
        reply = self._replies[name]
        text = reply.take()
        if not text:
            return ""
        head = self._head(name, reply) if name != self._last else ""
        self._last = name
        self._begun.add(name)
        self._open = not text.removesuffix(_PLAIN).endswith("\n")
        return head + text

    def _head(self, name: str, reply: _Reply) -> str:
        line = reply.head(name in self._begun)
        return self.interrupt() + (f"{_BOLD}{line}{_PLAIN}\n" if self._coloured else f"{line}\n")
