"""`JsonExtent` finds the end of a JSON value, or of a list of Python calls, in text that arrives in
pieces.

It reads only strings and brackets, because models also write Python, or text that is neither JSON
nor Python. A single quote begins a string only behind an opening bracket, a comma, a colon or `=`;
elsewhere it is an apostrophe.
"""

import re

_STRING = {quote: rf"(?:[^{quote}\\]++|\\.)*+" for quote in "\"'"}
"""quote -> the pattern of the text in a string between two of these quotes."""
_IN_STRING = {quote: re.compile(text, re.DOTALL) for quote, text in _STRING.items()}
"""quote -> the compiled pattern of the text in a string up to its closing quote."""
_INERT = re.compile(
    r"""(?:[^\[\](){{}}"',:=]++|"{}"|[,:=]\s*+(?:'{}'|(?!'))|')*+""".format(*_STRING.values()),
    re.DOTALL,
)
"""The pattern of text that has no brackets except in strings, and no incomplete strings."""
_BETWEEN = re.compile(r"[ \t\r\n,;]*+")
"""The pattern of blanks and punctuation between two values."""
_SINGLE_QUOTE = re.compile(r"\s*+'")
"""The pattern of a single quote, with blanks before it."""
_BEFORE_SINGLE = frozenset("[{(,:=")
"""The characters behind which a single quote begins a string."""


class JsonExtent:
    """A search for the end of one JSON value after another. The first text that is fed must begin
    with the bracket that opens a value.

    Attributes:
        quote: the quote that ends the open string; empty if no string is open.
        may_quote: True if a single quote, as the next character, would begin a string.
    """

    def __init__(self) -> None:
        self.quote = ""
        self.may_quote = True
        self._depth = 0
        self._escapes = False  # True if the text so far ends with a backslash in a string

    @property
    def not_plain(self) -> str:
        """The characters that may end the open string: a text without them only continues the
        string, and need not be fed. Empty if every text must be fed, as while no string is open.
        """
        return f"{self.quote}\\" if self.quote and not self._escapes else ""

    def feed(self, text: str, at: int = 0) -> int | None:
        """Read `text` from the offset `at` on. Return the offset behind the bracket that closes the
        value; `None` if the value goes on behind the text.
        """
        while at < len(text):
            if self.quote:
                string = _IN_STRING[self.quote].match(text, at + self._escapes)
                end = string.end() if string else at
                self._escapes = text[end : end + 1] == "\\"
                if text[end : end + 1] == self.quote:
                    self.quote = ""
                at = end + 1
                continue
            if self.may_quote and (single := _SINGLE_QUOTE.match(text, at)):
                self.quote, at, self.may_quote = "'", single.end(), False
                continue
            inert = _INERT.match(text, at)
            assert inert
            if last := inert[0].rstrip()[-1:]:
                self.may_quote = last in _BEFORE_SINGLE
            mark, at = text[inert.end() : inert.end() + 1], inert.end() + 1
            if mark == '"':
                self.quote, self.may_quote = mark, False
            elif mark:
                self.may_quote = mark in _BEFORE_SINGLE
                self._depth += (mark in "[{(") - (mark in ")]}")
                if self._depth <= 0 and mark in ")]}":
                    self._depth = 0
                    return at
        return None

    def skip_between(self, text: str, at: int) -> int:
        """Read blanks, commas and semicolons at the offset `at`, which may stand between two
        values. Return the offset behind them.
        """
        between = _BETWEEN.match(text, at)
        if between and between[0]:
            self.feed(between[0])
        return between.end() if between else at

    def may_begin_value(self, character: str) -> bool:
        """Return True if another value may begin with `character`, the next one in the text: a
        bracket, or a quote that begins a string.
        """
        return character in '[](){}"' or (self.may_quote and character == "'")
