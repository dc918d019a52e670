"""`Wrapping` removes an outer object that some models write around a call's arguments;
`GemmaQuotes` removes Gemma's quotes around strings in them. Both are filters of `Arguments`.

`{"arguments": {"city": "Oslo"}}` -> `{"city": "Oslo"}`, and `"<|\\"|>Oslo<|\\"|>"` -> `"Oslo"`.
"""

import re
from collections.abc import Collection

_BLANKS = re.compile(r"\s+")
"""The pattern of blanks, which `Wrapping` ignores when it compares the arguments' beginning."""
_COMMON_HEADS = ("", "{", '{"')
"""Beginnings that every JSON object has, if it is not empty. `Wrapping` emits them before it knows
whether the object is the arguments or an object around them.
"""
_MOST_HELD = 1024
"""How many characters `Wrapping` holds at most while an object around the arguments may begin. If
more would have to be held, the object counts as the arguments.
"""
QUOTE = '<|"|>'
"""A special token that Gemma models write in place of a quotation mark."""
_IN_STRING = r"<|\"|>"
"""`QUOTE` as it stands within a JSON string, where its quotation mark has a backslash."""
_OPENED = re.compile(r'(?<=")(?<!\\")' + re.escape(_IN_STRING))
"""The pattern of a quote of Gemma's directly behind the quotation mark that opens a JSON string."""
_TO_END = re.compile(r'((?:[^"\\]|\\.)*)"', re.DOTALL)
"""The pattern of the rest of a JSON string, up to the quotation mark that closes it."""


class Wrapping:
    """A filter that removes an object around a call's arguments (an *outer* object):

        {"arguments": {"city": "Oslo"}} -> {"city": "Oslo"}

    Arguments:
        keys: the keys that an outer object may have, such as `arguments`.
        parameters: the names of the tool's parameters. An object is an outer one only if its key is
            none of them, and the first key of the object within it is one of them.

    Attributes:
        unwrapped: True if an outer object was removed.
    """

    def __init__(self, keys: Collection[str], parameters: Collection[str]) -> None:
        outer = [key for key in keys if key not in parameters]
        self._heads = [f'{{"{key}":{{"{name}"' for key in outer for name in parameters]
        self._text = self._sent = ""
        self.unwrapped = False

    @property
    def holds(self) -> bool:
        """True if text is held, because it may be the beginning of an outer object."""
        return self._text != self._sent

    def feed(self, text: str) -> str:
        """Take the next piece of the arguments; return the text that can be emitted now.

        The closing bracket of an outer object is not removed here: `Arguments` drops it as text
        behind the object.
        """
        if not self._heads:
            return text
        self._text += text
        bare = _BLANKS.sub("", self._text)
        if len(self._text) < _MOST_HELD and any(head.startswith(bare) for head in self._heads):
            fresh = self._text[len(self._sent) :] if bare in _COMMON_HEADS else ""
            self._sent += fresh
            return fresh
        self.unwrapped = any(map(bare.startswith, self._heads))
        if self.unwrapped:  # the text begins with `{"arguments":{"city"`: keep `{"city"`
            head, _, inner = self._text.partition('"')
            self._text = f'{head}"{inner.split('"', 2)[2]}'
        fresh = self._text[len(self._sent) :]
        self._heads, self._text, self._sent = [], "", ""
        return fresh


class GemmaQuotes:
    """A filter that removes Gemma's quotes at both ends of a JSON string.

    `"<|\\"|>Oslo<|\\"|>"` -> `"Oslo"`. The quote at the end may be missing. All other quotes of
    Gemma's stay: in the middle of a string, and in a string that does not begin with one.

    Attributes:
        unwrapped: True if quotes were removed.
    """

    def __init__(self) -> None:
        self._held = self._tail = ""
        self._inside = False
        self.unwrapped = False

    @property
    def waits(self) -> bool:
        """True if the next text may be a quote of Gemma's that has to be removed."""
        return self._inside or self._tail.endswith('"')

    def feed(self, text: str, in_string: bool) -> str:
        """Take the next piece of the object; return the text that can be emitted now.

        `in_string`: True if the pieces before this one end within a JSON string.
        """
        text, self._held = self._held + text, ""
        if self._inside or "<" in text:
            opened = in_string and not self._inside and self.waits and self._tail != r"\""
            text = self._read(f'"{text}')[1:] if opened else self._read(text)
        self._tail = (self._tail + text[-2:])[-2:]
        return text

    def _read(self, text: str) -> str:
        """Return `text` without Gemma's quotes. Hold its end if that may begin such a quote."""
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
        # Hold an end that may begin Gemma's quote, and, within a string, a lone backslash, which
        # escapes the next character.
        lengths = range(min(len(_IN_STRING), len(text)), 0, -1)
        held = next((n for n in lengths if text.endswith(_IN_STRING[:n])), 0)
        if self._inside:
            slashes = len(text) - len(text.rstrip("\\"))
            held = max(held, slashes % 2)
        elif not text[: len(text) - held].endswith('"'):
            held = 0
        emitted = len(text) - held
        self._held = text[emitted:]
        return "".join([*out, text[:emitted]])
