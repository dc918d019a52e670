"""Text in; text, thinking and tool calls out, as they arrive: the one engine that reads a reply.

The engine scans for the marks that could matter next, gives out the text before one, and takes the
step of the table (`states`). A mark that begins a call begins a `Candidate`. Nothing is ever lost:
thinking, text, calls and marks together are the text that came in, but for the CR and LF around a
thought, for thoughts of nothing but blanks, and for the blanks around a call.

The decisions at a mark, each in one place, in the order and with the numbers of
`docs/reading.md`:

1. a text that may become a mark is held: `Scanner._scan`;
2. a mark in code is text, a phrase away from its place as well: `Scanner._is_words`; in JSON:
   `Scanner._begins_value`;
3. to 5. what a mark opens, closes or says: `states`;
6. a special token says nothing: the rows (`ignored`, `again`), `CallScanner._is_empty_section`;
7. a call is shown, doubted or read: `CallScanner._meet_call`, and the table `COUNTS`;
8. behind a thought in a field another table counts: `Engine.follow_field`;
9. a call ends a thought, or was a draft: `Scanner._settle_draft`.
"""

from converter.core.model.events import Event, Text, Thinking, WordKind, joined
from converter.core.reading.engine.call_scanner import CallScanner
from converter.core.reading.engine.context import Context
from converter.core.reading.engine.mark_table import MarkTable
from converter.core.reading.engine.source import Source
from converter.core.reading.engine.states import IN_THOUGHT, State
from converter.core.reading.mark_search import Mark, PhraseSearch
from converter.core.reading.tool_calls.calls_read import BY_ITSELF
from converter.core.reading.tool_calls.head import Expectations
from converter.core.reading.tool_calls.verdict import End

STOP = "stop"
"""The finish of a reply that ended by itself, because a thought should have had its closer."""
PIECE = 4096
"""Characters that are read at once, because each step copies the rest, so that a long text in one
piece would cost its square."""


class Engine(CallScanner):
    """Pieces of one choice's text in; `Text`, `Thinking`, `ThinkingEnd`, `ToolCall` out. Cut
    anywhere, the same message.

    `json_answer`: the answer is to be JSON; `asked`: the calls that are to be read; `whole_calls`:
    the reply may be a bare object that is a call.
    """

    def follow_field(self, table: MarkTable) -> None:
        """Go on behind a thought of the server's own, by its table, while nothing is held."""
        self._table, self._state = table, State.HEAD
        self.answer.follow_field(table.answer_tags)
        self._look()

    @property
    def at_head(self) -> bool:
        """Tell whether nothing was said since the last thought, and nothing waits."""
        return self._state is State.HEAD and not self.holds

    def stop_calls(self, table: MarkTable) -> None:
        """Go on by a table that reads no calls, while nothing is held."""
        self._table, self._asked = table, Expectations({})
        self._at_head = False
        self._look()

    # What goes in and comes out.

    def feed(self, text: str) -> list[Event]:
        """Return the events that are decided once `text` has arrived."""
        if self._passes(text):
            self._say(text)
        else:
            for place in range(0, len(text), PIECE):
                self._take_in(text[place : place + PIECE])
        return self._drain()

    def flush(self, finish: str = "", cut: bool = False) -> list[Event]:
        """Return all that is held, as what it is if nothing follows; what does follow begins a new
        block. `finish`: why the reply ended, if it has; `cut`: there was more to say.
        """
        self._source.last = True
        self._ended_by = End.STOP if not cut and finish in (*BY_ITSELF, "") else End.CUT
        if self._is_torn():
            self._source.rest = ""
            self._tell(self.thought.settle())
        self._run()
        behind = self._settle_draft()
        if self._state is State.PHRASED:
            self._step(Mark.PHRASE_END)
        self._values.open = None
        self._look()
        self._settle_before(Mark.OPEN)
        answer = self.thought.take_guess() or behind
        if finish != STOP:
            self._tell(self.thought.feed(answer))
        self._tell(self.thought.end())
        if finish == STOP and answer:  # the guess was wrong: it is read as any text is
            self._begin_anew(answer)
            self._tell(self.thought.end())
        self._out += self.answer.release()
        self._source = Source()
        self._context = Context()
        self._behind = False
        return self._drain()

    def plain(self) -> tuple[WordKind, str] | None:
        """Return the meaning of words that hold none of the characters returned with it; None
        while they would do more than come out.
        """
        if self.holds or self.thought.guess or isinstance(self._marks, PhraseSearch):
            return None
        ends = "\r\n" if self._table.reads_calls else ""
        if value := self._values.open:
            wakes = value.wakes
            return (Text, wakes + self._marks.firsts + ends) if wakes else None
        if self._state is State.ANSWERING and not self._behind:
            return Text, self._marks.firsts + ends + self._values.firsts
        if self._state is State.THINKING and self.thought.at_ease:
            return Thinking, self._marks.firsts + "\r\n"  # held at a thought's end
        return None

    @property
    def unsaid(self) -> tuple[str, ...]:
        """The closers of a thought that is open and has said nothing."""
        if self._state is State.BEGINNING:
            return self._table.bare_closers
        return self.thought.closers if self._state is State.OPENED else ()

    @property
    def in_thought(self) -> bool:
        """Tell whether the words that come are a thought's, as far as that is known."""
        return self._state in IN_THOUGHT or self._draft is not None

    @property
    def in_call(self) -> bool:
        """Tell whether a call with an offered name is held."""
        return self._candidate is not None and self._candidate.named

    @property
    def unread(self) -> int:
        """The number of characters that wait in an answer."""
        held = self._candidate.length if self._candidate else 0
        return len(self._source.rest) + len(self.answer.lead) + held

    @property
    def holds(self) -> bool:
        """Tell whether text waits that `flush` would give out."""
        return bool(self._source.rest or self.answer.lead or self._candidate or self._draft)

    def _take_in(self, piece: str) -> None:
        if self._draft:
            self._draft.feed(piece)
            if self._draft.is_long and not self._candidate:
                self._end_draft()
        self._source.feed(piece)
        self._run()

    def _passes(self, text: str) -> bool:
        """Tell whether a piece comes out as it is, without a look at the places in it."""
        if self.holds or self._values.waits or self._behind:
            return False
        may_lead = self._table.reads_calls and self._state not in IN_THOUGHT
        if may_lead and (self._at_head or "\n" in text or "\r" in text):
            return False
        return len(text) <= PIECE and not self._marks.may_begin(text)

    def _drain(self) -> list[Event]:
        out, self._out = self._out, []
        return out if len(out) < 2 else joined(out)

    def _begin_anew(self, answer: str) -> None:
        """Read the end of what was no thought, as a reply that begins in its text."""
        self._state = State.HEAD
        self.thought.forget()
        self._context = Context()
        self._look()
        for place in range(0, len(answer), PIECE):
            self._source.last = place + PIECE >= len(answer)
            self._source.feed(answer[place : place + PIECE])
            self._run()

    def _run(self) -> None:
        going = True
        while going and (self._source.rest or self._candidate):
            going = self._go_on(self._candidate) if self._candidate else self._scan()

    def _end_draft(self) -> None:
        """Let calls in a thought go out that have waited for too much text."""
        words = self._settle_draft()
        self._out += self.thought.feed(words)
        self._state = State.THINKING if self._state is State.RESUMED else State.CALLED
        self._look()
