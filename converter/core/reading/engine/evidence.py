"""The evidence of where a reply began: in its text, or inside a thought.

A closer confirms a guess or shows that it was wrong; `Beginning` gets that, for the next reply.
"""

from converter.core.model.events import Event, LateCloser, Text, Thinking, ThinkingEnd
from converter.core.model.initial_state import InitialState
from converter.core.reading.beginning import Grammar, Mode
from converter.core.reading.engine.outcome import LINE_ENDS, SENTENCE_ENDS, Answer
from converter.core.reading.findings import Beginning
from converter.core.reading.reading import Reading
from converter.core.reading.tool_calls.calls_read import CUT
from converter.core.reading.unread_tag import Pair, pair_at_head

_EDGE = 64
"""Characters of a reply's beginning, which show whether it has an opener, and of its end, which
show whether a closer stands last.
"""


class Evidence:
    """Read one choice's text and the events that come of it; `conclude` at its finish.

    `answered`: text has come, or the end of a thought.
    """

    def __init__(self, reading: Reading, shown: Beginning) -> None:
        self._reading, self._shown = reading, shown
        self._head = self._tail = ""  # the reply's first and last characters
        self._last = ""  # the last character of thinking
        self._thought = self.answered = False
        self._ended = self._ends_line = False  # a thought has ended; nothing was said since

    def read(self, text: str) -> None:
        """Take text as it was written."""
        if len(self._head) < _EDGE:
            self._head = (self._head + text)[:_EDGE]
        self._tail = (self._tail + text)[-_EDGE:]

    @property
    def unread(self) -> Pair | None:
        """The marks of what is a thought by its name, at the head of a reply in which no opener was
        read; None where all of the reply stands in them: that is the answer.
        """
        pair = pair_at_head(self._head) if self._reading.tags else None
        return None if pair and self._tail.rstrip().endswith(pair[1]) else pair

    def note(self, event: Event) -> None:
        """Take an event that goes out."""
        if isinstance(event, Thinking):
            self._thought = True
            self._last = event.text[-1:] or self._last
            return
        if isinstance(event, Text):
            self.answered = True
            if not self._ends_line:
                return
            self._shown.closer_apart |= event.text[:1] in tuple(LINE_ENDS)
            self._ends_line = not event.text
            return
        self.answered = self.answered or not isinstance(event, LateCloser)
        if isinstance(event, ThinkingEnd) and self._reading.inside and not self._ended:
            self._ended = self._ends_line = True
            apart = event.around[1] or self._last in tuple(SENTENCE_ENDS)
            self._shown.closer_apart |= bool(apart)

    def find_closer(self, answer: Answer) -> None:
        """Take a closer without opener: it is text, or went, because it is a special token, which
        is nobody's words.
        """
        unmatched = answer.unmatched_closer
        begins_in_text = self._reading.mode in (Mode.ANSWERING, Mode.CLOSED)
        if begins_in_text and (unmatched or answer.dropped_closer):
            self._shown.closer_apart |= answer.closer_apart or not unmatched
            self._correct(InitialState.THINKING)

    def conclude(self, finish: str, closed: bool, openers: tuple[str, ...]) -> None:
        """Take the finish. `closed`: it stands in no thought; `openers`: those in force, because a
        server such as llama.cpp may write again what the template has opened.
        """
        inside = self._reading.inside and (self._thought or self.answered)
        constrained = self._reading.expected.grammar is not Grammar.NONE  # the grammar decided
        if not inside or constrained or self._head.lstrip().startswith(openers):
            return
        if closed and self._reading.mode is Mode.GUESSED:
            self._shown.confirmed = InitialState.THINKING
        elif not closed and finish != CUT:
            self._correct(InitialState.TEXT)

    def _correct(self, begun: InitialState) -> None:
        """Record the state in which the reply began, because it was misread."""
        self._shown.correction = self._shown.correction or begun
