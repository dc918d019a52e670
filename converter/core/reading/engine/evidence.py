"""`Evidence` collects facts that show where a reply began, in the answer or in a thought, and
writes the result into `Beginning` (`findings`).

The facts confirm a guess, or show that the reply was read wrongly. The addon may learn from them
how to read the model's next reply (`AwaitedReply.learn`).
"""

from converter.core.model.events import Event, LateCloser, Text, Thinking, ThinkingEnd
from converter.core.model.initial_state import InitialState
from converter.core.reading.beginning import Grammar, Mode
from converter.core.reading.engine.outcome import LINE_ENDS, SENTENCE_ENDS, Answer
from converter.core.reading.findings import Beginning
from converter.core.reading.reading import Reading
from converter.core.reading.tool_calls.calls_read import CUT
from converter.core.reading.unread_tag import Pair, tag_at_beginning

_EDGE = 64
"""How many characters are kept of a reply's beginning, in which an opener may stand, and of its
end, at which a closer may stand.
"""


class Evidence:
    """The evidence of where one choice began. It comes from its text (`read_text`), its events
    (`note_event`, `note_closer`) and its finish (`note_finish`). The facts are written into
    `shown`.

    Attributes:
        answered: True once an event has come that shows that thinking has ended: text, a call or
            the end of a thought. Thinking does not show it, nor does a `LateCloser` (the closer of
            a thought that a call had ended before).
    """

    def __init__(self, reading: Reading, shown: Beginning) -> None:
        self._reading, self._shown = reading, shown
        # The first and the last `_EDGE` characters of the reply's text as it came, marks included.
        self._head = self._tail = ""
        self._last = ""  # the last character of thinking
        self._thought = self.answered = False
        # `_ended`: True once the first thought has ended. `_awaits_text`: True from then on until
        # text comes.
        self._ended = self._awaits_text = False

    def read_text(self, text: str) -> None:
        """Keep the beginning and the end of the reply's text. `text` is the next piece of it."""
        if len(self._head) < _EDGE:
            self._head = (self._head + text)[:_EDGE]
        self._tail = (self._tail + text)[-_EDGE:]

    @property
    def unread_tag(self) -> Pair | None:
        """The tag at the reply's beginning, and its probable closer, if the tag seems to begin a
        thought (`unread_tag`). The caller must know that no family which was read has this tag.

        `None` if there is no such tag, if no tags are read, or if the reply ends with this closer:
        then the tag encloses the whole reply, which is an answer.
        """
        pair = tag_at_beginning(self._head) if self._reading.tags else None
        return None if pair and self._tail.rstrip().endswith(pair[1]) else pair

    def note_event(self, event: Event) -> None:
        """Record from an emitted event whether the choice has thinking and an answer, and, if the
        reply was read as beginning in a thought, where the closer of the first thought stands
        (`Beginning.closer_apart`).
        """
        if isinstance(event, Thinking):
            self._thought = True
            self._last = event.text[-1:] or self._last
            return
        if isinstance(event, Text):
            self.answered = True
            if not self._awaits_text:
                return
            self._shown.closer_apart |= event.text[:1] in tuple(LINE_ENDS)
            self._awaits_text = not event.text
            return
        self.answered = self.answered or not isinstance(event, LateCloser)
        if isinstance(event, ThinkingEnd) and self._reading.inside and not self._ended:
            self._ended = self._awaits_text = True
            apart = event.around[1] or self._last in tuple(SENTENCE_ENDS)
            self._shown.closer_apart |= bool(apart)

    def note_closer(self, answer: Answer) -> None:
        """Record that the reply really began in a thought, if it was read as beginning in the
        answer but has a closer of a thought without an opener. `answer` says whether it has one.
        """
        unmatched = answer.unmatched_closer
        begins_in_text = self._reading.mode in (Mode.ANSWERING, Mode.CLOSED)
        if begins_in_text and (unmatched or answer.dropped_closer):
            self._shown.closer_apart |= answer.closer_apart or not unmatched
            self._note_correction(InitialState.THINKING)

    def note_finish(self, finish: str, closed: bool, openers: tuple[str, ...]) -> None:
        """Record where the reply really began, if it was read as beginning in a thought. If this
        thought has ended (`closed`), a guess that the reply began in it was right. If it has not
        ended, the reply began in the answer; but a reply that was cut off shows nothing.

        `finish`: the finish reason. `openers`: all openers that count. Nothing is noted if the
        reply begins with one of them, because a server such as llama.cpp may repeat the opener of
        the chat template; nor if a grammar constrains the answer.
        """
        inside = self._reading.inside and (self._thought or self.answered)
        # If a grammar constrains the answer, the grammar decides where the reply begins. The reply
        # then shows nothing about the model.
        constrained = self._reading.expected.grammar is not Grammar.NONE
        if not inside or constrained or self._head.lstrip().startswith(openers):
            return
        if closed and self._reading.mode is Mode.GUESSED:
            self._shown.confirmed = InitialState.THINKING
        elif not closed and finish != CUT:
            self._note_correction(InitialState.TEXT)

    def _note_correction(self, begun: InitialState) -> None:
        """Record `begun`, the state in which a wrongly read reply really began. The first such
        record stays.
        """
        self._shown.correction = self._shown.correction or begun
