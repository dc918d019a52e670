"""Two replies that the client gets as one: the second goes on where a thought of the first was
ended. The words of the first are left out of the second, and both counts add up.
"""

from collections.abc import Sequence
from dataclasses import replace

from converter.model.events import End, Event, Finish, Opaque, Start, Usage

CUT: list[Event] = [Finish("length"), End()]
"""The end of a reply whose server cannot go on."""


class SecondReply:
    """Events of the second reply in, what the client gets of them out. `first`: what the first
    counted, if it did; `made`: the tokens of its words.
    """

    def __init__(self, first: Usage | None, made: int) -> None:
        self._first = first
        self._made = made
        self.begun = False

    def feed(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that go on."""
        heads = any(isinstance(event, Start) for event in events)
        kinds = (Start, Opaque) if heads else (Start,)  # beside a head stands only whose turn it is
        self.begun = self.begun or heads
        return [
            self._both(event) if isinstance(event, Usage) else event
            for event in events
            if not isinstance(event, kinds)
        ]

    def _both(self, second: Usage) -> Usage:
        """Return the count of both. The second was asked with all that the first had said, which
        the model made: so it counts as that, and the prompt is the rest.
        """
        first = self._first
        made = first.output if first else min(self._made, second.input)
        prompt = first.input if first else second.input - made
        return replace(
            second,
            input=prompt,
            output=made + second.output,
            cached=None if second.cached is None else min(second.cached, prompt),
            thinking=None if second.thinking is None else made + second.thinking,
            own=None,
        )
