"""Content that waits while a tool call is open, and blanks that wait for words: of both so much."""

from converter.events import Event, Text, Thinking
from converter.limits import TooMuchError

DELAYED_LIMIT = 1 << 20
"""Characters of text and thinking that come within a tool call; they are told behind it."""
_LEAST = 64
"""Characters that an event counts as: it costs memory whatever it says."""
BLANKS_LIMIT = 4096
"""Characters of blanks before an answer: more of them begin it, as models write no such number."""


class Delayed[Content: Event]:
    """Events that wait, up to a limit."""

    def __init__(self) -> None:
        self._events: list[Content] = []
        self._length = 0

    def add(self, event: Content) -> None:
        """Take one more. Raises TooMuchError."""
        said = event.text if isinstance(event, Text | Thinking) else ""
        self._length += max(_LEAST, len(said))
        if self._length > DELAYED_LIMIT:
            raise TooMuchError("text within a tool call", DELAYED_LIMIT)
        self._events.append(event)

    def take(self) -> list[Content]:
        """Return what waited."""
        events, self._events, self._length = self._events, [], 0
        return events


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
