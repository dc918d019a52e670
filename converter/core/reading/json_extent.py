"""The end of a JSON value, or of a list of Python calls, in a text that arrives in pieces.

Strings and brackets are all that counts here, because models write Python as well, and text that is
neither. A single quote begins a string only behind a bracket, a comma, a colon or `=`.
"""

import re

_STRING = {quote: rf"(?:[^{quote}\\]++|\\.)*+" for quote in "\"'"}
_IN_STRING = {quote: re.compile(text, re.DOTALL) for quote, text in _STRING.items()}
_INERT = re.compile(
    r"""(?:[^\[\](){{}}"',:=]++|"{}"|[,:=]\s*+(?:'{}'|(?!'))|')*+""".format(*_STRING.values()),
    re.DOTALL,
)
"""Text without brackets, whole strings among it."""
_BETWEEN = re.compile(r"[ \t\r\n,;]*+")
_SINGLE = re.compile(r"\s*+'")
_BEFORE_SINGLE = frozenset("[{(,:=")


class JsonExtent:
    """Feed the text from the bracket at which the value begins; `feed` tells where it ends.

    Attributes:
        quote: the quote that ends the open string.
        may_quote: a single quote begins a string here.
    """

    def __init__(self) -> None:
        self.quote = ""
        self.may_quote = True
        self._depth = 0
        self._escapes = False  # a backslash in a string was the last character

    @property
    def wakes(self) -> str:
        """The characters without which a text changes nothing here."""
        return f"{self.quote}\\" if self.quote and not self._escapes else ""

    def feed(self, text: str, at: int = 0) -> int | None:
        """Read a text from an offset on; return the offset behind the bracket that closes the
        outermost one, None while none does.
        """
        while at < len(text):
            if self.quote:
                at = self._in_string(text, at)
                continue
            if self.may_quote and (single := _SINGLE.match(text, at)):
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
        """Return the offset behind what may stand between two values."""
        between = _BETWEEN.match(text, at)
        if between and between[0]:
            self.feed(between[0])
        return between.end() if between else at

    def goes_on(self, mark: str) -> bool:
        """Return True if a string or a bracket comes next."""
        return mark in '[](){}"' or (self.may_quote and mark == "'")

    def _in_string(self, text: str, at: int) -> int:
        """Return the offset behind the string, or behind the text."""
        string = _IN_STRING[self.quote].match(text, at + self._escapes)
        end = string.end() if string else at
        self._escapes = text[end : end + 1] == "\\"
        if text[end : end + 1] == self.quote:
            self.quote = ""
        return end + 1
