"""The text before a mark: whether it is quoted there, or said in the middle of a sentence."""

from converter.parsing.code_spans import CodeSpans
from converter.parsing.tool_calls.source import BLANKS

QUOTES = "\"'“‘«‹„「『(["
QUOTED_LINES = "+->"
"""The beginning of a line in a diff or a quotation."""
CLAUSE_ENDS = ",;"


class Surroundings:
    """Feed the text; ask about a mark that would come next."""

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
