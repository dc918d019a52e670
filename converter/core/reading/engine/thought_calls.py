"""`ThoughtCalls` reads calls in closed thoughts, and in thoughts that the server sends in a field.

The calls are held until the reply ends, because models also draft calls in thoughts. They count
only if the model ends the reply and the reply has no other call. If the reply has an answer, a call
counts only if a thought ends with the call, in a form in which models are known to call in a
thought (`THINKERS`).

The text of a thought is emitted unchanged, calls included. One text is left out if calls of the
thoughts count: that of the calls with which the reply ends, if their thought came in a field.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from converter.core.calls.arguments import meaning_of
from converter.core.calls.ids import is_kimi_id
from converter.core.model.events import Event, Text, ToolCall
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.engine.outcome import ReadCall
from converter.core.reading.tool_calls.forms import THINKERS
from converter.core.reading.tool_calls.head import Expectations
from converter.core.wire.bounds import HELD_LIMIT, MOST_CALLS


class ThoughtCalls:
    """A reader of calls in the thoughts of a choice. `feed` takes the text of the thoughts. At the
    end of the reply, `take_calls` returns the calls that the client gets, without drafts.

    Attributes:
        forms: the names of the forms of the calls that `take_calls` has returned.
    """

    def __init__(self, expectations: Expectations) -> None:
        self._expectations = expectations
        only_calls = mark_table((), reads_calls=True)
        self._engine = Engine(
            only_calls, expectations=replace(expectations, most=MOST_CALLS, in_sentences=False)
        )
        self._calls: dict[int, ToolCall] = {}
        self._length = 0
        self._written = ""  # the held text of the thought
        self._emitted = 0  # how many blanks at the beginning of `_written` were emitted already
        # The indexes of the calls at the end of the open thought, with no text behind them so far.
        self._last: set[int] = set()
        self._ending: set[int] = set()  # the indexes of the calls at the ends of closed thoughts
        self.forms: list[str] = []

    def feed(self, text: str) -> str:
        """Read the next text of a thought, and return the text that need not be held.

        A call at the end of the thought is held while no text follows: if this call counts, its
        text must not also be emitted as thinking. If the held text, or the arguments of all calls,
        exceed `HELD_LIMIT`, all held text is returned, and the new text is not read.
        """
        return "".join(map(self._read_line, text.splitlines(keepends=True)))

    def _read_line(self, line: str) -> str:
        """Read a line of a thought, or a part of one. Return the text that need not be held."""
        self._written += line
        if self._length > HELD_LIMIT or len(self._written) > HELD_LIMIT:
            return self.release()
        events, called = self._engine.feed(line), bool(self._last)
        self._keep_calls(events)
        if not self._last:
            out, held = self.release(self._engine.held_length), self._written
            # Blanks are emitted at once: they may stay in the thought, even if a call follows.
            if held.isspace():
                out, self._emitted = out + held[self._emitted :], len(held)
            return out
        texts = takewhile(lambda event: isinstance(event, Text), () if called else events)
        before = sum(len(event.text) for event in texts if isinstance(event, Text))
        return self.release(len(self._written) - before)

    def release(self, held: int = 0) -> str:
        """Return the held text up to its last `held` characters, which stay held. Blanks that were
        emitted already are left out.
        """
        free = len(self._written) - held
        out, self._written = self._written[self._emitted : free], self._written[free:]
        self._emitted = max(0, self._emitted - free)
        return out

    @property
    def not_plain(self) -> str | None:
        """The characters with which a mark of calls may begin. Text that has none of them may be
        emitted without `feed`. `None` if all text must be fed now, as while text is held.
        """
        plain = self._engine.plain()
        return None if self._last or self._written or plain is None else plain[1]

    @property
    def ends_with_call(self) -> bool:
        """True if the open thought, as far as it has come, ends with a call."""
        return bool(self._last)

    def end_thought(self) -> None:
        """End the open thought. If a call at its end is incomplete, the call counts as cut off."""
        if self._engine.holds:
            self._keep_calls(self._engine.flush(cut=True))
        read = self._engine.calls.read
        # In a reply with an answer, only calls at the end of a thought count (`take_calls`). If one
        # of these calls is not whole, the thought was cut off in it, and none of them counts.
        if all(read[index].whole for index in self._last):
            self._ending |= self._last
        self._last.clear()

    def _keep_calls(self, events: Sequence[Event]) -> None:
        """Keep the calls among the engine's events. If text that is not blank follows calls, note
        that the thought does not end with them.
        """
        for event in events:
            if isinstance(event, ToolCall):
                self._length += len(event.arguments)
                self._calls[event.index] = event
                self._last.add(event.index)
            elif isinstance(event, Text) and event.text.strip():
                self._last.clear()

    def take_calls(self, answered: bool) -> Sequence[ToolCall]:
        """End the thought, and return the calls that count, at most `Expectations.most`. A call
        that stands twice is returned once, and one that is cut off is left out. Return none if the
        arguments of all calls together have more than `HELD_LIMIT` characters. `answered`: the
        reply has an answer.
        """
        self.end_thought()
        taken: dict[tuple[str, str], tuple[ReadCall, ToolCall]] = {}
        calls = self._engine.calls.read if self._length <= HELD_LIMIT else ()
        for index, call in enumerate(calls):
            if call.whole and (not answered or (index in self._ending and call.form in THINKERS)):
                event = self._calls[index]
                meaning = meaning_of(event.arguments) or event.arguments
                taken.setdefault((call.name, meaning), (call, event))
        counted = [*taken.values()][: self._expectations.most]
        self.forms, ids = [call.form for call, _ in counted], self._expectations.id_prefix
        return [
            replace(
                event,
                index=number,
                id=event.id if is_kimi_id(event.id) else f"{ids}{number}",
                read_from=f"a thought ({call.form})",
            )
            for number, (call, event) in enumerate(counted)
        ]
