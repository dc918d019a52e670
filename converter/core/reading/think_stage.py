"""The first stage: tags in the text of one choice become thinking, until the server sends thinking
itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from converter.core.model.events import (
    Event,
    Finish,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    WordKind,
)
from converter.core.model.initial_state import InitialState
from converter.core.reading.behind_field import BehindField
from converter.core.reading.code_spans import CodeSpans
from converter.core.reading.families import ThinkTags
from converter.core.reading.findings import Findings
from converter.core.reading.mark_search import MarkSearch
from converter.core.reading.reading import Reading
from converter.core.reading.think_parser import ThinkParser
from converter.core.reading.think_states import Grammar, Mode
from converter.core.reading.tool_calls.source import marks_of

_HEAD = 64
"""Characters of a reply's beginning that show whether it has an opener of its own."""
CUT = "length"
"""The finish of a reply that its limit cut off: then a thought may well lack its closer."""


class ThinkStage:
    """Events of one choice in, events out. Held text comes out before what starts or ends
    something, not before bookkeeping.
    """

    def __init__(self, reading: Reading, choice: int, findings: Findings) -> None:
        self._choice = choice
        self._reading = reading
        self._findings = findings
        self._tags = tags = reading.tag_set
        expected = reading.expected
        parser = ThinkParser(tags, reading.mode, choice, expected.wants_json, expected.grammar)
        parser.tells_late_closers = reading.expected.tools is not None
        self._parser: ThinkParser | None = parser
        self._again = RepeatedThought(())
        self._behind = BehindField(())
        self._answering = reading.mode in (Mode.ANSWERING, Mode.CLOSED)
        self._unmatched = UnmatchedCloser(tags.bare_closers)
        self._head = self._last = ""
        self._thought = self._answered = self._ended = self._ends_line = False

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the event becomes."""
        match event:
            case Text(refusal=False, own=None) if self._parser:
                return self._read(self._parser, event.text)
            case Thinking():
                held = self._hear(event)
                self._findings.native = self._findings.thought = True
                return [*held, event]
            case Text(refusal=False, own=None):
                text = self._behind.feed(self._again.feed(event.text))
                return [event if text == event.text else replace(event, text=text)] if text else []
            case Finish():
                return [*self._flushed(event.reason), event]
            case Text() | ToolCall():
                return [*self.close(), event]
            case _:
                return [event]

    def close(self) -> Sequence[Event]:
        """Return the held words."""
        return self._flushed("")

    def _hear(self, event: Thinking) -> Sequence[Event]:
        """Read no tags from here on; return the held words."""
        held: Sequence[Event] = []
        if self._parser:
            held = self.close()
            self._again = RepeatedThought(self._reading.families, self._parser.unsaid)
            self._behind = BehindField(self._reading.families)
            self._parser = None
        elif words := self._behind.begin():
            held = [Text(words, self._choice)]
        self._again.hear(event.text)
        return held

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return what plain words become: the server's own thinking goes through, but encoders hold
        the line breaks at a thought's end.
        """
        if self._parser is None:
            if kind is Thinking:
                waits = self._again.listens or not self._behind.begun
                return None if waits else (kind, "\r\n")
            wakes = self._behind.wakes if self._again.over else None
            return None if wakes is None else (kind, wakes)
        return self._parser.plain() if kind is Text else None

    def _read(self, parser: ThinkParser, text: str) -> Sequence[Event]:
        """Return the words that are decided once `text` has come."""
        if len(self._head) < _HEAD:
            self._head += text[:_HEAD]
        thought = self._thought
        out = self._noted(parser, parser.feed(text))
        if parser.unmatched_closer and not thought and self._answering:
            self._findings.closer_apart = True  # a special token is nobody's words
            self._correct(InitialState.THINKING)
        return out

    def _flushed(self, finish: str) -> Sequence[Event]:
        """Return the held words. `finish`: why the choice ended, if it has."""
        if self._parser is None:
            held = self._behind.feed(self._again.close()) + self._behind.close()
            return [Text(held, self._choice)] if held else []
        closed = self._answered
        out = self._noted(self._parser, self._parser.flush(finish))
        # the server wrote the template's opener, as llama.cpp does
        opened = self._head.lstrip().startswith(self._tags.openers)
        spoke = self._thought or self._answered
        told = self._reading.expected.grammar is Grammar.NONE  # else the grammar decides
        if self._reading.inside and finish and spoke and not opened and told:
            if closed and self._reading.mode is Mode.GUESSED:
                self._findings.confirmed = InitialState.THINKING
            elif not closed and finish != CUT:
                self._correct(InitialState.TEXT)
        return out

    def _noted(self, parser: ThinkParser, out: Sequence[Event]) -> Sequence[Event]:
        """Note what the words show."""
        for event in out:
            if isinstance(event, Text) and not self._thought and self._answering:
                self._unmatched.feed(event.text)
                if self._unmatched.found:
                    self._correct(InitialState.THINKING)
                    self._findings.closer_apart |= self._unmatched.apart
            if isinstance(event, Text) and event.text:
                self._findings.closer_apart |= self._ends_line and event.text[0] in _LINE_ENDS
                self._ends_line = False
            if isinstance(event, Thinking):
                self._thought = self._findings.thought = True
                self._findings.marks = parser.thought_marks
                self._last = event.text[-1:] or self._last
            if isinstance(event, ThinkingEnd) and self._reading.inside and not self._ended:
                self._ended = self._ends_line = True
                apart = event.around[1] or self._last in _SENTENCE_ENDS
                self._findings.closer_apart |= bool(apart)
            self._answered = self._answered or isinstance(event, (Text, ThinkingEnd))
        return out

    def _correct(self, begun: InitialState) -> None:
        """Tell where the reply did begin, because it was misread."""
        self._findings.correction = self._findings.correction or begun


_LINE_ENDS = "\r\n"
_SENTENCE_ENDS = frozenset(".!?…。！？")


class UnmatchedCloser:
    """Feed the text; `found` tells whether a closer without its opener stood in it, outside of code
    and behind words: with none before it there was no thought. It is the sign of a wrong guess;
    `apart`: it stood at a line's border or behind a sentence, as a model writes one, and not amid
    the words of an answer. Nothing is held, and nothing changed.
    """

    def __init__(self, closers: Iterable[str]) -> None:
        self._closers = marks_of(*closers)
        self._unread = ""
        self._code = CodeSpans()
        self._words = False
        self._last = ""
        self.found = self.apart = False
        self._waits = False  # for what stands behind the closer

    def feed(self, text: str) -> None:
        """Look at the next piece of the text; a closer may have begun in the one before."""
        if self.found:
            self.apart = self.apart or (self._waits and text[:1] in tuple(_LINE_ENDS))
            self._waits = self._waits and not text
            return
        self._unread += text
        while closer := self._closers.search(self._unread):
            self._pass(closer.start())
            if self._words and not self._code.inside():
                self.found, behind = True, self._unread[len(closer[0]) :][:1]
                self.apart = self._last in (*_LINE_ENDS, *_SENTENCE_ENDS) or (
                    behind in tuple(_LINE_ENDS)
                )
                self._waits = not behind
                return
            self._pass(len(closer[0]))
        self._pass(len(self._unread) - self._closers.undecided(self._unread, 0))

    def _pass(self, length: int) -> None:
        passed, self._unread = self._unread[:length], self._unread[length:]
        self._code.feed(passed)
        self._last = passed[-1:] or self._last
        self._words = self._words or bool(passed.strip())


HEAD = 64
"""Characters of a thought by which it is known again, blanks around it aside."""
_HELD_LIMIT = 4 * HEAD
"""Characters that wait for more: an opener with blanks around it, and a thought's beginning."""


class RepeatedThought:
    """A thought that a server sends in its field, and again with its tags in the content.

    `hear` the field's thinking and feed the content: the result is the content without that
    thought. `closers`: of a thought that the content has opened and that has said nothing.

    The content's own is dropped where it begins as the field's does: only that much is compared, so
    that a long thought passes as fast as any.
    """

    def __init__(self, families: Iterable[ThinkTags], closers: tuple[str, ...] = ()) -> None:
        pairs = [(mark, row.closers) for row in families for mark in row.openers]
        self._pairs = [("", closers)] if closers else sorted(pairs, key=lambda it: -len(it[0]))
        self._told = ""
        self._held = ""
        self._ends: MarkSearch | None = None  # of the thought that is dropped
        self.over = not self._pairs

    def hear(self, text: str) -> None:
        """Take words that the field tells."""
        if self.listens:
            self._told = (self._told + text[:_HELD_LIMIT]).lstrip()[:HEAD]

    @property
    def listens(self) -> bool:
        """Tell whether words of the field still matter."""
        return not self.over and len(self._told) < HEAD

    def feed(self, text: str) -> str:
        """Return the content without repeated thoughts, as far as that is decided."""
        if self.over:
            return text
        self._held += text
        return self._drop(self._ends) if self._ends else self._look()

    def close(self) -> str:
        """Return the text that waits: nothing more comes, or something else does."""
        held, self._held = "" if self._ends else self._held, ""
        self.over = True
        return held

    def _look(self) -> str:
        body = self._held.lstrip()
        pair = next((pair for pair in self._pairs if body.startswith(pair[0])), None)
        if pair is None:
            return self._wait(any(mark.startswith(body) for mark, _ in self._pairs))
        ends, thought = marks_of(*pair[1]), body[len(pair[0]) :].lstrip()
        end = ends.search(thought)
        words = thought[: end.start()] if end else thought
        same = words[:HEAD].rstrip() == self._told.rstrip() != ""
        if same and (end or len(self._told) == HEAD <= len(words)):
            self._ends = ends
            return self._drop(ends)
        # half a closer may stand at its end
        words = words[: len(words) - ends.undecided(words, 0)].rstrip()
        agree = self._told.startswith(words) or words.startswith(self._told)
        return self._wait(end is None and agree)

    def _wait(self, undecided: bool) -> str:
        return "" if undecided and len(self._held) <= _HELD_LIMIT else self.close()

    def _drop(self, ends: MarkSearch) -> str:
        """Drop the thought up to its closer."""
        found = ends.search(self._held)
        if not found:
            self._held = self._held[len(self._held) - ends.undecided(self._held, 0) :]
            return ""
        behind, self._held = self._held[found.end() :], ""
        self._ends, self.over = None, True
        return behind
