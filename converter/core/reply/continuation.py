"""A reply that goes on in a second one, behind a thought that was ended. The client gets both as
one.
"""

from collections.abc import Sequence
from dataclasses import replace

from converter.core.model.events import End, Event, Finish, Opaque, Start, Thinking, Usage
from converter.core.reading.findings import Findings
from converter.core.reply.thought_events import ThoughtEvent
from converter.core.reply.token_counts import TokenCounts

CUT: list[Event] = [Finish("length"), End()]
"""The end of a reply whose server cannot go on."""


class Continuation:
    """The state of one reply that may go on in a second one. The second reply goes on where the
    first is cut.

    Attributes:
        pauses: leave the rest of the bytes in which a thought was ended, `unused` of them, to the
            caller that asks for the second reply.
        stopped: the server is to send no more of this reply.
        is_over: the client gets no more of either reply.
        first_tokens: the tokens of the first reply.
        thoughts: those that ended in the first reply, until `take_thoughts`.
        rest: the events that end a reply that cannot go on.
        reply_id: the id of the first reply.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._ends = 0
        self._second: SecondReply | None = None
        self.pauses = self.stopped = self.is_over = False
        self.unused = self.first_tokens = 0
        self.thoughts: list[ThoughtEvent] = []
        self.rest: list[Event] = []
        self.reply_id = ""

    @property
    def goes_on(self) -> bool:
        """Return True if a second reply comes now."""
        return self._second is not None

    @property
    def has_come(self) -> bool:
        """Return True if a thought, or the answer, was ended since `begin`."""
        stopped = self._findings.stopped and not self.is_over
        return stopped or self._findings.ends.here > self._ends

    def begin(self, tokens: TokenCounts) -> bool:
        """Get ready for the second reply; return True if there is one. There is none where the
        server cannot go on, none the second time, and none behind an answer. `tokens`: of the first
        reply.
        """
        self._ends, self.stopped = self._findings.ends.here, True
        if self._findings.stopped or self._second or not self._findings.ends.turn:
            self.refuse()
            return False
        self.first_tokens = tokens.go_on()
        self._second = SecondReply(tokens.first, self.first_tokens, self._findings.ends.added)
        return True

    def refuse(self) -> None:
        """End the reply at the thought, because the server does not go on, or at a stop string."""
        self.is_over, self.rest = True, [End()] if self._findings.stopped else CUT.copy()

    def take_rest(self) -> list[Event]:
        """Return the events that end the reply, once."""
        rest, self.rest = self.rest, []
        return rest

    def feed(self, events: list[Event]) -> list[Event]:
        """Return the events that the client gets of these."""
        if not self.reply_id:
            self.reply_id = next((event.id for event in events if isinstance(event, Start)), "")
        return self._second.feed(events) if self._second else events

    def take_thoughts(self) -> list[ThoughtEvent]:
        """Return the thoughts of the first reply, once."""
        thoughts, self.thoughts = self.thoughts, []
        return thoughts


class SecondReply:
    """The second of two replies that the client gets as one. It goes on where a thought of the
    first was ended: it has no head of its own, and its counts are those of both.

    Events in, the client's events out.

    Arguments:
        first: the counts of the first, if it has some.
        first_tokens: the tokens of its text.
        added: those of the text that the addon put behind it.
    """

    def __init__(self, first: Usage | None, first_tokens: int, added: int = 0) -> None:
        self._first = first
        self._first_tokens = first_tokens
        self._added = added
        self._thinks = False

    def feed(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that go on."""
        heads = any(isinstance(event, Start) for event in events)
        kinds = (Start, Opaque) if heads else (Start,)  # beside a head stands only whose turn it is
        self._thinks = self._thinks or any(isinstance(event, Thinking) for event in events)
        return [
            self._both(event) if isinstance(event, Usage) else event
            for event in events
            if not isinstance(event, kinds)
        ]

    def _both(self, second: Usage) -> Usage:
        """Return the usage of both replies as one. The second request's prompt holds all text of
        the first reply; the model wrote that text, so its tokens count as output. The text that
        ended the thought counts as neither.

        vLLM 0.32 and SGLang 0.5.23 with a reasoning parser count all tokens of a turn that goes on
        as thinking, though they are text.
        """
        first = self._first
        first_tokens = first.output if first else min(self._first_tokens, second.input)
        prompt = first.input if first else max(0, second.input - first_tokens - self._added)
        return replace(
            second,
            input=prompt,
            output=first_tokens + second.output,
            cached=None if second.cached is None else min(second.cached, prompt),
            thinking=None
            if second.thinking is None
            else first_tokens + second.thinking * self._thinks,
            own=None,
            estimated=first is None,
        )
