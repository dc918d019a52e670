"""Content that waits while a tool call is open, and blanks that wait for words: of both so much."""

from collections.abc import Iterator

from converter.dialects.tool_pieces import ToolCalls, ToolPiece
from converter.model.events import Event, Text, Thinking, ToolCall
from converter.wire.limits import TooMuchError

DELAYED_LIMIT = 1 << 20
"""Characters of text and thinking that come within a tool call; they are told behind it."""
_LEAST = 64
"""Characters that an event counts as: it costs memory whatever it says."""
BLANKS_LIMIT = 4096
"""Characters of blanks before an answer: more of them begin it, as models write no such number."""


class InOrder[Content: Event]:
    """Content and pieces of tool calls in, the same out in the order in which blocks can be
    written: content that comes within a call would tear it apart, so it waits for the call's end.
    """

    def __init__(self) -> None:
        self.calls = ToolCalls()
        self._waiting: list[Content] = []
        self._length = 0

    def feed(self, event: Content | ToolCall) -> Iterator[Content | ToolPiece]:
        """Yield what can be written by now. Raises TooMuchError."""
        if isinstance(event, ToolCall):
            yield from self.calls.feed(event)
            yield from self._released()
        elif self.calls.open:
            self._hold(event)
        else:
            yield event

    def end(self, whole: bool = True) -> Iterator[Content | ToolPiece]:
        """Yield the rest of every call, and what waited for it. `whole`: the reply was not cut
        short.
        """
        yield from self.calls.end(whole)
        yield from self._released()

    def _hold(self, event: Content) -> None:
        said = event.text if isinstance(event, (Text, Thinking)) else ""
        self._length += max(_LEAST, len(said))
        if self._length > DELAYED_LIMIT:
            raise TooMuchError("text within a tool call", DELAYED_LIMIT)
        self._waiting.append(event)

    def _released(self) -> list[Content]:
        if self.calls.open:
            return []
        released, self._waiting, self._length = self._waiting, [], 0
        return released


class Blanks:
    """Blanks before an answer, in one text."""

    def __init__(self) -> None:
        self._held = ""

    def with_words(self, text: str) -> str:
        """Return the text with the blanks before it, once it says something; until then nothing."""
        held = self._held + text
        waits = not held or (held.isspace() and len(held) <= BLANKS_LIMIT)
        self._held = held if waits else ""
        return "" if waits else held

    def clear(self) -> None:
        """Forget them: something else begins."""
        self._held = ""
