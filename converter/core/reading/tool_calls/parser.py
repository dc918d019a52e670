"""Text in; text and tool calls out, for models that write their calls into the text.

The parser looks for the marks that calls begin with, outside of Markdown code, and reads the text
that follows by the form's grammar. A call counts only if its name is one of the request's tools;
any other text comes back as it was, in order. Cut anywhere, the same message.

Two places need a look at what follows before a call goes out: the middle of a sentence, because
prose names marks there, unless the reply has called already, and a form that counts only as the
whole reply. There a call is in doubt until it has ended. Special tokens are never prose: they count
everywhere, in code as well.
"""

import re

from converter.core.model.events import Event, Text, joined
from converter.core.reading.code_spans import CodeSpans
from converter.core.reading.mark_search import Mark, MarkSearch
from converter.core.reading.tool_calls.call import Call
from converter.core.reading.tool_calls.forms import CLOSERS, OPENERS, SECTIONS, SPECIAL, WHOLE
from converter.core.reading.tool_calls.reading import CallPlace, Expectations, Fate
from converter.core.reading.tool_calls.source import BLANKS, Source
from converter.core.wire.bounds import BLANKS_LIMIT

QUOTES = "\"'“‘«‹„「『(["
QUOTED_LINES = "+->"
"""The beginning of a line in a diff or a quotation."""
CLAUSE_ENDS = ",;"


class Surroundings:
    """The text before a mark: whether the mark would be quoted there, or said in the middle of a
    sentence. Feed the text, and ask.
    """

    def __init__(self) -> None:
        self._code = CodeSpans()
        self._line = ""  # the line's first character, blanks aside
        self._last = ""  # the text's last character, blanks aside
        self._blank = False  # whether a blank came behind that

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        # An inline span ends with its line here, because a lone backtick must not hide a call.
        self._code.feed(text.replace("\n", "\n\n"))
        _, broken, line = text.rpartition("\n")
        self._line = ("" if broken else self._line) or line.lstrip(BLANKS)[:1]
        bare = text.rstrip(BLANKS)
        self._blank = (self._blank and not bare) or len(bare) < len(text)
        self._last = bare[-1:] or self._last

    @property
    def quoted(self) -> bool:
        """Tell whether the mark stands in code, in a quoted line, or behind a quotation mark."""
        if self._code.inside():
            return True
        in_line = self._line != ""
        return in_line and (
            self._line in QUOTED_LINES or (not self._blank and self._last in QUOTES)
        )

    @property
    def in_sentence(self) -> bool:
        """Tell whether a word and a blank stand before the mark, on its line."""
        in_clause = self._last.isalnum() or (self._last != "" and self._last in CLAUSE_ENDS)
        return self._line != "" and self._blank and in_clause


RESCAN_LIMIT = 4096
"""Characters of a refused call that are searched again for calls; longer ones are text at once, so
that no text is looked at often."""
PIECE = 4096
"""Characters that are read at once, because each step copies the rest, so that a long text in one
piece would cost its square."""
_OPENERS = (*OPENERS, *SECTIONS)
_MARKS = MarkSearch(dict.fromkeys(_OPENERS, Mark.OPEN))
_WHOLE = tuple(WHOLE)
_LINE_BLANKS = " \t"
_LINE_END = re.compile(r"[\r\n][ \t\r\n]*+\Z")
"""The held text before a mark: no lone blank, or every other word would wait for the next."""


class ToolCallParser:
    """Pieces of one choice's text in, `Text` and `ToolCall` out.

    `whole_forms`: whether the reply may be a bare object that is a call, which it is not where the
    user asked for JSON. `in_sentences`: whether a whole call counts in the middle of a sentence.
    """

    def __init__(
        self, asked: Expectations, whole_forms: bool = True, in_sentences: bool = True
    ) -> None:
        self._asked = asked
        self._in_sentences = in_sentences
        self._source = Source()
        self._around = Surroundings()
        self._out: list[Event] = []
        self._at_head = whole_forms
        self._behind_call = False
        self._place: CallPlace | None = None
        self._lead = ""  # the blanks before the place
        self.calls: list[Call] = []
        """Calls that have gone out; those that are `done` were all there."""
        self.cut: list[str] = []
        """The tools of calls that were cut off so early that they are text."""
        self.broken = ""
        """The tool of a call that had gone out when it proved to be none."""

    def feed(self, text: str) -> list[Event]:
        """Return the words and calls that are decided once `text` has come."""
        out: list[Event] = []
        for place in range(0, len(text), PIECE):
            self._source.feed(text[place : place + PIECE])
            out += self._run()
        return joined(out)

    def close(self, cut: bool = False) -> list[Event]:
        """Return all that is held, as what it is if nothing follows. `cut`: there was more to say.

        What does follow is read as a text of its own.
        """
        if not self.holds:
            return []
        self._source.last, self._source.cut = True, cut
        out = self._run()
        self._source = Source()
        self._around = Surroundings()
        self._behind_call = False
        return out

    @property
    def holds(self) -> bool:
        """Tell whether text waits that `close` would give out."""
        return bool(self._source.rest or self._place)

    @property
    def wakes(self) -> str | None:
        """The characters without which text passes at once; None while text may do more."""
        waits = self.holds or self._behind_call or self._at_head
        return None if waits else _MARKS.firsts + "\r\n"

    def _run(self) -> list[Event]:
        going = True
        while going:
            place = self._place
            if not place:
                going = self._scan()
            elif place.ended or place.advance():
                going = self._end(place)
            else:
                self._pass_on(place)
                going = False
        out, self._out = self._out, []
        return joined(out)

    # Text, up to the next call.

    def _scan(self) -> bool:
        """Say the text up to a possible call; tell whether there is more to read."""
        if self._behind_call and not self._skip_blanks():
            return False
        if self._at_head:
            form = self._look_at_head()
            if form or self._at_head:
                return form
        text = self._source.rest
        mark = _MARKS.search(text)
        stop = len(text) - (0 if self._source.last else _MARKS.undecided(text, 0))
        if mark and mark.start() > stop:
            mark = None  # it may grow into a longer mark
        body = text[: mark.start() if mark else stop]
        run = _LINE_END.search(body, max(0, len(body) - BLANKS_LIMIT))
        blanks = len(run[0]) if run and (mark or not self._source.last) else 0
        self._say(self._source.take(len(body) - blanks))
        if mark:
            self._meet(self._source.take(blanks), mark[0])
        return mark is not None

    def _skip_blanks(self) -> bool:
        """Drop the blanks and closing marks behind a call; tell whether text follows."""
        while (closer := self._source.look(CLOSERS)) and closer[0]:
            self._source.take(closer[1] + len(closer[0]))
        if closer:
            self._source.take(closer[1])
        self._behind_call = not (closer and self._source.rest)
        return not self._behind_call

    def _look_at_head(self) -> bool:
        """Begin a form that is the whole reply; tell whether one stands here."""
        mark = self._source.look(_WHOLE)
        if mark is None:
            return False
        self._at_head = False
        if not mark[0]:
            return False
        self._lead = self._source.take(mark[1])
        self._around.feed(self._lead)
        self._begin(mark[0], whole=True)
        return True

    def _meet(self, blanks: str, opener: str) -> None:
        """Begin to read the text behind `opener`, or say that it is quoted."""
        self._at_head = False
        self._lead = blanks
        self._around.feed(blanks)
        if self._around.quoted and opener not in SPECIAL:
            self._put_back("")
        else:
            self._begin(opener)

    def _say(self, text: str) -> None:
        """Give out ordinary text."""
        if text:
            self._say_lead()
            self._at_head = False
            self._around.feed(text)
            self._out.append(Text(text, self._asked.choice))

    def _say_lead(self) -> None:
        if self._lead:
            self._out.append(Text(self._lead, self._asked.choice))
            self._lead = ""

    # Calls.

    def _begin(self, opener: str, whole: bool = False) -> None:
        in_sentence = self._around.in_sentence and opener not in SPECIAL
        doubted = whole or (in_sentence and not self.calls)
        self._place = CallPlace(self._source, self._asked, len(self.calls), whole, doubted)
        self._place.begin(opener)

    def _pass_on(self, place: CallPlace) -> None:
        """Give out all that the place has decided."""
        for event in place.drain():
            if isinstance(event, Text):
                self._say(event.text)
            else:
                self._lead = ""
                self._out.append(event)

    def _end(self, place: CallPlace) -> bool:
        """Take the place for text or calls once that is known; tell whether it is."""
        cut = place.refused and self._source.last and place.state is not Fate.TEXT
        if cut and place.current.name and (place.doubted or not place.current.begun):
            self.cut.append(place.current.name)
        if place.doubted:
            counts = False if place.refused else self._counts(place)
            if counts is None:
                return False
            if not counts:
                self._reject(place, "".join(place.held))
                return True
            place.doubted = False
        self._pass_on(place)
        self._place = None
        begun = [call for call in place.calls if call.begun]
        self._note_broken(place)
        self.calls += begun
        if begun or (place.state is Fate.TEXT and not place.refused):
            self._around = Surroundings()  # a fence in a call ends with it
        if place.state is Fate.TAKEN:
            rest = "" if place.refused and self._source.last else self._source.rest
            self._source.rest = place.unfit + rest  # half a mark at a cut call's end is no text
            self._behind_call = not place.refused
        elif place.refused and place.state is Fate.HELD:
            self._put_back("".join(place.held))
        return True

    def _note_broken(self, place: CallPlace) -> None:
        """Take note of a call that had gone out and goes on as none does."""
        if place.refused and not self._source.last:
            open_ = [call.name for call in place.calls if call.begun and not call.done]
            self.broken = self.broken or "".join(open_[:1])

    def _counts(self, place: CallPlace) -> bool | None:
        """Tell whether a place in doubt counts, by the text behind it; None: undecided."""
        if self._in_sentences and place.closed and not place.whole:
            return True
        rest = self._source.rest.lstrip(BLANKS if place.whole else _LINE_BLANKS)
        if len(self._source.rest) - len(rest) > BLANKS_LIMIT:
            return False
        if not rest:
            return True if self._source.last else None
        if place.whole or rest[0] in BLANKS:
            return not place.whole
        opener = self._source.look(_OPENERS, _LINE_BLANKS)
        return None if opener is None else bool(opener[0])

    def _reject(self, place: CallPlace, held: str) -> None:
        """Give back the text of a place in doubt."""
        self._place = None
        if not place.refused or len(held) > RESCAN_LIMIT:
            self._say(held)
        elif place.whole:
            self._source.rest = self._lead + held + self._source.rest
            self._lead, self._around = "", Surroundings()
        else:
            self._put_back(held)

    def _put_back(self, held: str) -> None:
        """Say that a mark is none; the text behind it is searched, unless it is long."""
        if len(held) > RESCAN_LIMIT:
            self._say(held)
        else:
            self._source.rest = held + self._source.rest
            self._say(self._source.take(1))
