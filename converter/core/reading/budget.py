"""A budget of thinking, kept at the proxy: when it is spent the thought ends for the client, and
only the answer goes on.

The model thinks on all the same; this hides words, it saves none. A stage behind the think stage:
events in, events out.
"""

from dataclasses import replace

from converter.core.model.events import (
    BYTES_PER_TOKEN,
    Event,
    Finish,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    WordKind,
)
from converter.core.reading.findings import Findings


class ThinkingBudget:
    """Events of one choice in, events out: thinking of up to `tokens`, all its thoughts together;
    everything else untouched.

    Cut anywhere, the same message: what passes are the first whole characters that the budget pays
    for.
    """

    def __init__(self, tokens: int, findings: Findings) -> None:
        self._left = max(tokens, 0) * BYTES_PER_TOKEN
        self._is_open = False  # a thought went out and has not ended
        self._is_spent = False  # a word of thinking was withheld
        self._findings = findings

    def feed(self, event: Event) -> list[Event]:
        """Return the client's part of `event`."""
        match event:
            case Thinking():
                return self._think(event)
            case ThinkingEnd():
                self._is_open = False
                # one that has ended for the client, or was never begun, has no second end
                return [] if self._is_spent else [event]
            case Text() | ToolCall() | Finish():
                self._is_open = False  # native thinking has no other end
        return [event]

    def close(self) -> list[Event]:
        """Return nothing: words in time went out, later ones stay away."""
        return []

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return words of none but a thought, which have a price."""
        return None if kind is Thinking else (kind, "")

    def _think(self, event: Thinking) -> list[Event]:
        paid, self._left = spend(event.text, 0 if self._is_spent else self._left)
        self._is_open = self._is_open or bool(paid)
        if len(paid) == len(event.text):
            return [] if self._is_spent else [event]
        self._findings.withheld += len(event.text) - len(paid)
        out: list[Event] = [shortened(event, paid)] if paid else []
        if self._is_open:
            # a server's signature would be that of the whole thought
            out.append(ThinkingEnd(event.choice))
        self._is_open, self._is_spent = False, True
        return out


def shortened(event: Thinking, text: str) -> Thinking:
    """Return the beginning of a thought, without the fields that tell all of it in another form
    than as a string.
    """
    if event.own is None:
        return replace(event, text=text)
    words = {name: text for name, value in event.own.fields.items() if isinstance(value, str)}
    return replace(event, text=text, own=replace(event.own, fields=words))


def spend(text: str, left: int) -> tuple[str, int]:
    """Return the whole characters that `left` bytes pay for, and the bytes that are left then."""
    written = text.encode(errors="surrogatepass")  # JSON can say half a character
    end = min(left, len(written))
    while 0 < end < len(written) and written[end] & 0xC0 == 0x80:  # in the middle of a character
        end -= 1
    return written[:end].decode(errors="surrogatepass"), left - end


class ThinkingHider:
    """Events of one choice in, events out: no thinking among them, because nobody asked for it."""

    def feed(self, event: Event) -> list[Event]:
        """Return the event, unless it is of a thought."""
        return [] if isinstance(event, (Thinking, ThinkingEnd)) else [event]

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return words of none but a thought, which do not come out."""
        return None if kind is Thinking else (kind, "")

    def close(self) -> list[Event]:
        """Return nothing: nothing is held."""
        return []
