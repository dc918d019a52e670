"""Dress around the arguments of a call, taken off before they are judged: one more object around
the object, and Gemma's quotes within quotation marks.
"""

import re
from collections.abc import Collection

_BLANKS = re.compile(r"\s+")
_HEADS = ("", "{", '{"')
"""The beginning of any object, which goes on at once."""
_LONGEST = 1024
"""Characters before the name of the first argument that are looked at."""
QUOTE = '<|"|>'
"""Gemma's quote, a special token."""
_IN_STRING = r"<|\"|>"
_OPENED = re.compile(r'(?<=")(?<!\\")' + re.escape(_IN_STRING))
_TO_END = re.compile(r'((?:[^"\\]|\\.)*)"', re.DOTALL)


class Wrapping:
    """Feed the text of `{"arguments": {"city": ...}}`; the text of the inner object comes out.

    Arguments:
        keys: those that the outer object may have.
        parameters: those of the tool. A key that is a parameter is no wrapping, nor is an object
            whose first key is none.
    """

    def __init__(self, keys: Collection[str], parameters: Collection[str]) -> None:
        outer = [key for key in keys if key not in parameters]
        self._heads = [f'{{"{key}":{{"{name}"' for key in outer for name in parameters]
        self._text = self._sent = ""
        self.unwrapped = False

    @property
    def holds(self) -> bool:
        """Return True if text waits."""
        return self._text != self._sent

    def feed(self, text: str) -> str:
        """Return the text that can go on."""
        if not self._heads:
            return text
        self._text += text
        bare = _BLANKS.sub("", self._text)
        if len(self._text) < _LONGEST and any(head.startswith(bare) for head in self._heads):
            fresh = self._text[len(self._sent) :] if bare in _HEADS else ""
            self._sent += fresh
            return fresh
        self.unwrapped = any(map(bare.startswith, self._heads))
        if self.unwrapped:  # the quotation mark of its key begins that of the inner object
            head, _, inner = self._text.partition('"')
            self._text = f'{head}"{inner.split('"', 2)[2]}'
        fresh = self._text[len(self._sent) :]
        self._heads, self._text, self._sent = [], "", ""
        return fresh


class GemmaQuotes:
    """Feed the text of an object; a string that begins with Gemma's quote comes out without it, and
    without one at its end. Such quotes amid a string stay.
    """

    def __init__(self) -> None:
        self._held = self._tail = ""
        self._inside = False
        self.unwrapped = False

    @property
    def waits(self) -> bool:
        """Return True if the next quote may be dress and not text."""
        return self._inside or self._tail.endswith('"')

    def feed(self, text: str, in_string: bool) -> str:
        """Return the text that can go on. `in_string`: the text before ended within a string."""
        text, self._held = self._held + text, ""
        if self._inside or "<" in text:
            opened = in_string and not self._inside and self.waits and self._tail != r"\""
            text = self._read(f'"{text}')[1:] if opened else self._read(text)
        self._tail = (self._tail + text[-2:])[-2:]
        return text

    def _read(self, text: str) -> str:
        out: list[str] = []
        while True:
            if not self._inside and (match := _OPENED.search(text)):
                self._inside = self.unwrapped = True
                out.append(text[: match.start()])
                text = text[match.end() :]
            elif self._inside and (end := _TO_END.match(text)):
                self._inside = False
                out.append(end[1].removesuffix(_IN_STRING) + '"')
                text = text[end.end() :]
            else:
                break
        kept = self._kept(text)
        self._held = text[len(text) - kept :]
        out.append(text[: len(text) - kept])
        return "".join(out)

    def _kept(self, text: str) -> int:
        """Return the length of the end that may be a part of a quote, or of an escape."""
        lengths = range(min(len(_IN_STRING), len(text)), 0, -1)
        half = next((n for n in lengths if text.endswith(_IN_STRING[:n])), 0)
        if self._inside:
            slashes = len(text) - len(text.rstrip("\\"))
            return max(half, slashes % 2)
        return half if text[: len(text) - half].endswith('"') else 0
