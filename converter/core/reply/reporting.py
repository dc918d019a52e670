"""A reply as it passes, and what a person is told of it: its summary, notes and thoughts.

The rewriter knows nothing of this. Behind each of its calls, the events that it told the client are
read here.
"""

from converter.core.dialects.wire_form import Form, ReplyContext, Speaker
from converter.core.reading.reading import Reading
from converter.core.reply.chain import Table
from converter.core.reply.reply_notes import NO_ANSWER, notes_of
from converter.core.reply.rewriter import NO_CONTEXT, Rewriter
from converter.core.reply.summary import Summary


class ReportingRewriter(Rewriter):
    """A rewriter that reports on its reply. `summary`: the reply at a glance."""

    def __init__(
        self,
        table: Table,
        reading: Reading,
        server: Speaker,
        client: Speaker,
        server_form: Form,
        client_form: Form | None = None,
        *,
        context: ReplyContext = NO_CONTEXT,
        fast: bool = True,
    ) -> None:
        super().__init__(
            table, reading, server, client, server_form, client_form, context=context, fast=fast
        )
        self.summary = Summary()
        self._expected = reading.expected
        self._at = 0.0

    @property
    def notes(self) -> list[str]:
        """The notes for a person, a line each; all of them after `close`."""
        spoiled = self._spoiled.notes("passed as they came" if self._same_dialect else "left out")
        ended_itself = not self._expected.stops
        unanswered = [NO_ANSWER] if ended_itself and self.summary.is_unanswered else []
        return [
            *self._faults,
            *notes_of(self.findings),
            *unanswered,
            *spoiled,
            *self._encoder.notes,
        ]

    def feed(self, chunk: bytes, at: float = 0.0) -> list[bytes]:
        """Return the bytes that the client can have now. `at`: when the chunk came, in seconds."""
        self._at = at
        if not self.continuation.is_over:
            self.summary.arrived(at)
        return super().feed(chunk)

    def whole(self, body: bytes, at: float = 0.0) -> list[bytes]:
        """Return all that the client gets for a reply that is all there: both calls in one."""
        out = self.feed(body, at)
        events, thoughts = self.events, self.thoughts
        out += self.close()
        self.events, self.thoughts = [*events, *self.events], [*thoughts, *self.thoughts]
        return out

    def _told(self, out: list[bytes]) -> list[bytes]:
        out = super()._told(out)
        for event in self.events:
            self.summary.feed(event, self._at)
        if self.closed and not self._broken:
            self.summary.close(self._at)
        return out
