"""`Continuation` keeps the state of a reply that a second reply may continue, after the addon has
ended a thought in it. `SecondReply` adapts the second one's events;
`converter.addon.hooks.continued_reply` requests it.

If a thought is too long or repeats itself, the addon reads no more of the first reply, ends the
thought, and requests the rest of the turn. The client gets both as one reply.
"""

from collections.abc import Sequence
from dataclasses import replace

from converter.core.model.events import End, Event, Finish, Opaque, Start, Thinking, Usage
from converter.core.reading.findings import Findings
from converter.core.reply.token_counts import TokenCounts

CUT: list[Event] = [Finish("length"), End()]
"""The events that end the client's reply if the addon has ended a thought and no second reply
comes. By the finish `length`, the client sees that the reply was cut at a limit.
"""


class Continuation:
    """The state of a reply that a second reply may continue: whether it is in the first reply, in
    the second, or over.

    Attributes:
        pauses: True if the caller requests the second reply, so that the rewriter must read no more
            of the first. False if the second reply comes in the same bytes, as in a replay.
        unused: how many bytes at the end of the last chunk the rewriter has not read, because they
            came after the addon had ended the thought or the answer.
        stopped: True once the addon has ended the thought or the answer, so that the caller should
            read no more of this response. `ContinuedReply` sets it to False for the next response.
        is_over: True if the client gets nothing more of either reply.
        first_tokens: the number of tokens of the first reply; 0 until the second one begins.
        rest: the events that end the reply, once it is certain that no second one comes; empty
            before that, and after `take_rest`.
        reply_id: the id of the first reply; empty until it has come.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._ends = 0
        self._second: SecondReply | None = None
        self.pauses = self.stopped = self.is_over = False
        self.unused = self.first_tokens = 0
        self.rest: list[Event] = []
        self.reply_id = ""

    @property
    def goes_on(self) -> bool:
        """True once the first reply is over and a second reply is expected or has begun."""
        return self._second is not None

    @property
    def is_due(self) -> bool:
        """True if `begin` must be called, because the addon has ended a thought since the last call
        of `begin`, or has ended the answer at a stop string.
        """
        stopped = self._findings.stopped and not self.is_over
        return stopped or self._findings.ends.by_addon > self._ends

    def begin(self, tokens: TokenCounts) -> bool:
        """Prepare for the second reply and return True. If there can be none, end the reply and
        return False: the addon has ended the answer and not a thought, the server cannot continue
        the turn, or this is already the second reply.

        `tokens`: the token counts of the first reply.
        """
        self._ends, self.stopped = self._findings.ends.by_addon, True
        if self._findings.stopped or self._second or not self._findings.ends.turn:
            self.refuse()
            return False
        self.first_tokens = tokens.go_on()
        self._second = SecondReply(tokens.first, self.first_tokens, self._findings.ends.added)
        return True

    def refuse(self) -> None:
        """End the reply without a second one: set `rest` to the events that the client then gets.
        If the addon ended a thought, they are those of `CUT`; if it ended the answer at a stop
        string, only an `End`, because the client has got the finish.
        """
        self.is_over, self.rest = True, [End()] if self._findings.stopped else CUT.copy()

    def take_rest(self) -> list[Event]:
        """Return the events that end the reply (`rest`); nothing when called again."""
        rest, self.rest = self.rest, []
        return rest

    def feed(self, events: list[Event]) -> list[Event]:
        """Return the events for the client: in the first reply `events` as they are, in the second
        reply adapted to the first (`SecondReply`).
        """
        if not self.reply_id:
            self.reply_id = next((event.id for event in events if isinstance(event, Start)), "")
        return self._second.feed(events) if self._second else events


class SecondReply:
    """Makes the second reply's events the rest of the first reply: removes its beginning (`Start`),
    and replaces its token counts by the counts of both replies together.

    Arguments:
        first: the server's token counts of the first reply; None if it sent none.
        first_tokens: the number of tokens of the first reply, by the server's count if it sent one,
            else estimated from the text.
        added: about how many tokens the addon added behind the first reply, to end the thought.
    """

    def __init__(self, first: Usage | None, first_tokens: int, added: int = 0) -> None:
        self._first = first
        self._first_tokens = first_tokens
        self._added = added
        self._thinks = False

    def feed(self, events: Sequence[Event]) -> list[Event]:
        """Return the events for the client, made from `events` of the second reply."""
        heads = any(isinstance(event, Start) for event in events)
        # An `Opaque` in the frame of a `Start` is removed too: it has the role `assistant`, which
        # the client has got with the first reply.
        kinds = (Start, Opaque) if heads else (Start,)
        self._thinks = self._thinks or any(isinstance(event, Thinking) for event in events)
        return [
            self._sum_counts(event) if isinstance(event, Usage) else event
            for event in events
            if not isinstance(event, kinds)
        ]

    def _sum_counts(self, second: Usage) -> Usage:
        """Return the token counts of both replies together. `second`: the second reply's counts.

        The prompt of the second request contains all text of the first reply. The model wrote this
        text, so its tokens count as output and not as input. The text with which the addon ended
        the thought counts as neither.

        vLLM 0.32 and SGLang 0.5.23 with a reasoning parser count all tokens of a continued turn as
        thinking, even if they are text. So the second reply's count of thinking is used only if
        the second reply has a `Thinking`. All tokens of the first reply are added to it.
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
