"""JSON as models write it, in a text that arrives in pieces: the one reader of its grammar.

All that must know JSON before its end asks this reader: what of an object goes on (`PartialJson`)
and is complete (`complete_part`), where a value ends (`JsonExtent`), which types its values have
(`ArgumentValues`). A text becomes parts, each with what it says as JSON and the place behind it.

`_STEPS` is the grammar: for what is wanted, the marks that may come and what is wanted behind
them. A pair that it lacks is no JSON; all from there on is UNFIT. Strings do not wait for their
end, bare values go on as far as they can be JSON. Other text with one meaning is mended: Python's
words, single quotes, bare names, a comma too many, a comment, half a character.

LOOSE is for text that need be no JSON, such as a list of Python's calls: strings and brackets are
all that is known there, and no bracket needs its opener.
"""

import enum
import json
import re
from collections.abc import Iterator

from converter.core.wire.bounds import DEPTH_LIMIT, TooMuchError
from converter.core.wire.json_text import refuse

SCALAR_LIMIT = 512
"""Characters of a bare value, which waits until something follows it; no number that a tool can use
is as long.
"""
BARE_KEY_LIMIT = 256
"""Characters of a key without quotes, which waits for its colon."""
BLANKS = " \t\r\n"
_NOT_AS_IS = '"\r\n\t'
STRICT = json.JSONDecoder(parse_constant=refuse)
"""A decoder of JSON without Python's numbers."""

HIGH, LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
"""The escapes of a surrogate pair's halves."""
_ESCAPE = rf'\\["\\/bfnrt]|{HIGH}{LOW}|(?!{HIGH}|{LOW})\\u[0-9a-fA-F]{{4}}'
_PLAIN = {
    '"': re.compile(rf'(?:[^"\\\x00-\x1f]++|{_ESCAPE})++'),
    "'": re.compile(rf"(?:[^'\"\\\x00-\x1f]++|{_ESCAPE})++"),
}
"""Text of a string that is JSON as it stands, by the string's quote."""
_STOP = {'"': re.compile(r'["\\\x00-\x1f]'), "'": re.compile(r"['\"\\\x00-\x1f]")}
"""Characters that may be no JSON as they stand, by the string's quote."""
_HALF = re.compile(rf"{HIGH}|{LOW}")
_ESCAPE_BEGUN = re.compile(
    rf"(?:\\(?:u[0-9a-fA-F]{{0,3}})?|{HIGH}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?)\Z"
)
_SCALAR = re.compile(r"[-+.\w]++")
_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$-]*+")
_BLANK = re.compile(rf"[{BLANKS}]++")
_LOOSE = re.compile(r"[^\[{(\])}\"']++")
_LITERALS = ("true", "false", "null")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_BEGUN = re.compile(
    r"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
    r"|-?(?:0|[1-9]\d*)?(?:(?<=\d)\.\d*)?(?:(?<=\d)[eE][-+]?\d*)?"
)
"""As much of a bare value as can become one of JSON's."""
_COMMENTS = {"/*": "*/", "//": "\n", "#": "\n"}
_BEFORE_STRING = "[{(,:="
"""Marks behind which a single quote begins a string in loose text."""


class JsonPart(enum.Enum):
    """The kind of a part of the text."""

    BLANK = enum.auto()  # and comments, which say nothing
    OPEN = enum.auto()
    CLOSE = enum.auto()
    COMMA = enum.auto()
    COLON = enum.auto()
    KEY = enum.auto()  # the quote before a key
    STRING = enum.auto()  # the quote before a value
    TEXT = enum.auto()  # of a key or a string
    END = enum.auto()  # the quote behind them
    NAME = enum.auto()  # a bare key
    BEGUN = enum.auto()  # the beginning of a bare value, which may go on
    SCALAR = enum.auto()  # the rest of a bare value
    UNFIT = enum.auto()  # no JSON, as all that follows


class Want(enum.IntEnum):
    """The text that may come."""

    OBJECT = enum.auto()
    KEY_OR_END = enum.auto()
    KEY = enum.auto()
    COLON = enum.auto()
    VALUE = enum.auto()
    VALUE_OR_END = enum.auto()
    NEXT = enum.auto()
    NOTHING = enum.auto()
    LOOSE = enum.auto()
    LOOSE_BEHIND = enum.auto()  # no string in single quotes begins here


type ReadPart = tuple[JsonPart, str, int]
"""A part, its text as JSON, and the index behind it; the same index where more text must decide."""

_VALUES = {
    '"': Want.NEXT,
    "'": Want.NEXT,
    "{": Want.KEY_OR_END,
    "[": Want.VALUE_OR_END,
}
_KEYS = {'"': Want.COLON, "'": Want.COLON, "}": Want.NEXT}
_STEPS = {
    Want.OBJECT: {"{": Want.KEY_OR_END},
    Want.KEY_OR_END: _KEYS,
    Want.KEY: _KEYS,
    Want.COLON: {":": Want.VALUE},
    Want.VALUE: _VALUES,
    Want.VALUE_OR_END: {**_VALUES, "]": Want.NEXT},
    Want.NEXT: {",": Want.KEY, "}": Want.NEXT, "]": Want.NEXT},
    Want.NOTHING: {},
}
_PARTS = dict.fromkeys("[{(", JsonPart.OPEN) | dict.fromkeys("]})", JsonPart.CLOSE)
_PARTS |= {",": JsonPart.COMMA, ":": JsonPart.COLON, '"': JsonPart.STRING, "'": JsonPart.STRING}
_VALUE_WANTED = (Want.VALUE, Want.VALUE_OR_END)
_KEY_WANTED = (Want.KEY, Want.KEY_OR_END)
_LOOSELY = (Want.LOOSE, Want.LOOSE_BEHIND)
OUTSIDE = (Want.OBJECT, Want.NOTHING)
_CLOSING = {"{": "}", "[": "]"}


class JsonReader:
    """Feed the text; read its parts.

    Arguments:
        want: the first thing that the text must be.
        bare_names: a name without quotes is a key.

    Attributes:
        nested: the ends of all that is open.
        quote: the end of the open string.
        comment: the end of the open comment.
        held: text that waits.
        mended: some of the text was no JSON.
        refused: the text ends in something that cannot be JSON.
    """

    def __init__(self, want: Want, bare_names: bool = True) -> None:
        self.want = want
        self.nested: list[str] = []
        self.quote = ""
        self.held = ""
        self.mended = self.refused = False
        self._bare_names = bare_names
        self.comment = ""
        self._passed = 0  # characters of the held text that went on

    @property
    def waiting(self) -> str:
        """The held text that did not go on."""
        return self.held[self._passed :]

    @property
    def wakes(self) -> str | None:
        """The characters up to which all text belongs to the open string and goes on as it is,
        whole escapes among it; None where there is no such string.
        """
        return _NOT_AS_IS if self.quote == '"' and not self.held else None

    def passes(self, text: str) -> bool:
        """Return True if a piece is text of the open string that goes on as it is."""
        if not self.quote or self.held:
            return False
        plain, stop = _PLAIN[self.quote], _STOP[self.quote]
        return stop.search(text) is None or plain.fullmatch(text) is not None

    def feed(self, text: str) -> Iterator[ReadPart]:
        """Read on and yield each part, with the fields set to the state behind it. Raises
        TooMuchError.
        """
        text, self.held = self.held + text, ""
        index = 0
        while index < len(text):
            if self.quote:
                read = self._in_string(text, index)
            elif self.refused:
                read = self._refuse(text, index)
            elif self.comment:
                read = self._in_comment(text, index)
            elif self.want in _LOOSELY:
                read = self._loose(text, index)
            else:
                read = self._token(text, index)
            end = read[2]
            if end > index:
                yield read
            else:
                self.held = text[index:]
                if read[1]:
                    yield read
                return
            index = end

    def end_word(self, numbers: bool = False) -> str | None:
        """Return the rest of a bare value that waits, where nothing follows it; None for none. A
        number may have been cut.
        """
        word = self.held
        if self.want not in _VALUE_WANTED or not (numbers or word in _LITERALS or word in _PYTHON):
            return None
        rest = self._whole(word)
        if rest is not None:
            self.held = ""
        return rest

    def close(self) -> str:
        """Return the ends of all that is open."""
        ends = "".join(reversed(self.nested))
        self.nested.clear()
        self.want, self.mended = Want.NOTHING, True
        return ends

    def _in_string(self, text: str, index: int) -> ReadPart:
        if plain := _PLAIN[self.quote].match(text, index):
            return JsonPart.TEXT, plain[0], plain.end()
        if text[index] == self.quote:
            self.quote = ""
            return JsonPart.END, '"', index + 1
        if _ESCAPE_BEGUN.match(text, index):
            return JsonPart.TEXT, "", index
        if self.quote == "'" and text.startswith("\\'", index):
            return JsonPart.TEXT, "'", index + 2
        self.mended = True
        if half := _HALF.match(text, index):  # no UTF-8 can say it
            return JsonPart.TEXT, "\ufffd", half.end()
        # the meaning of a bare control character, quote or backslash is plain
        return JsonPart.TEXT, json.dumps(text[index])[1:-1], index + 1

    def _in_comment(self, text: str, index: int) -> ReadPart:
        closer = text.find(self.comment, index)
        if closer < 0:
            begun = len(self.comment) > 1 and text.endswith(self.comment[:-1])
            return JsonPart.BLANK, "", len(text) - begun
        end = closer + len(self.comment)
        self.comment = ""
        return JsonPart.BLANK, "", end

    def _loose(self, text: str, index: int) -> ReadPart:
        if other := _LOOSE.match(text, index):
            if last := other[0].rstrip()[-1:]:
                self._go_loosely(last)
            return JsonPart.UNFIT, other[0], other.end()
        mark = text[index]
        part = _PARTS[mark]
        if mark == "'" and self.want is Want.LOOSE_BEHIND:
            part = JsonPart.UNFIT
        elif part is JsonPart.STRING:
            self.quote = mark
        self._go_loosely(mark)
        return part, mark, index + 1

    def _go_loosely(self, last: str) -> None:
        self.want = Want.LOOSE if last in _BEFORE_STRING else Want.LOOSE_BEHIND

    def _token(self, text: str, index: int) -> ReadPart:
        mark = text[index]
        want = _STEPS[self.want].get(mark)
        if want is not None:
            return self._step(want, mark, text, index)
        if blanks := _BLANK.match(text, index):
            return JsonPart.BLANK, blanks[0], blanks.end()
        if self.want in _VALUE_WANTED and (scalar := _SCALAR.match(text, index)):
            return self._scalar(text, index, scalar[0])
        if self.want in _KEY_WANTED and (key := self._odd_key(text, index)):
            return key
        if mark in "/#" and self.want not in OUTSIDE:
            return self._begin_comment(text, index)
        return self._refuse(text, index)

    def _scalar(self, text: str, index: int, written: str) -> ReadPart:
        end = index + len(written)
        is_open = end == len(text) and len(written) <= SCALAR_LIMIT
        rest = None if is_open else self._whole(written)
        if rest is not None:
            return JsonPart.SCALAR, rest, end
        match = _BEGUN.match(written)
        begun = written[self._passed : match.end()] if match else ""
        self._passed += len(begun)
        if is_open:
            return JsonPart.BEGUN, begun, index
        if not begun:
            return self._refuse(text, index + self._passed)
        self.refused = True
        return JsonPart.BEGUN, begun, index + self._passed

    def _whole(self, written: str) -> str | None:
        """Return the rest of a bare value; None for one that is no JSON."""
        word = _PYTHON.get(written, written)
        try:
            STRICT.decode(word)
        except ValueError:
            return None
        rest, self._passed = word[self._passed :], 0
        self.mended = self.mended or word != written
        self.want = Want.NEXT if self.nested else Want.NOTHING
        return rest

    def _odd_key(self, text: str, index: int) -> ReadPart | None:
        """Read a bare name, or a comma too many, where a key should stand."""
        if text[index] == ",":
            self.mended = True
            return JsonPart.BLANK, "", index + 1
        match = _NAME.match(text, index) if self._bare_names else None
        if not match:
            return None
        blanks = _BLANK.match(text, match.end())
        stop = blanks.end() if blanks else match.end()
        behind = text[stop : stop + 1]  # it tells whether it is one
        if behind == ":":
            self.want, self.mended = Want.COLON, True
            return JsonPart.NAME, json.dumps(match[0], ensure_ascii=False), match.end()
        if behind or len(text) - index > BARE_KEY_LIMIT:
            return self._refuse(text, index)
        return JsonPart.NAME, "", index

    def _begin_comment(self, text: str, index: int) -> ReadPart:
        opener = next((mark for mark in _COMMENTS if text.startswith(mark, index)), "")
        if opener:
            self.comment, self.mended = _COMMENTS[opener], True
            return JsonPart.BLANK, "", index + len(opener)
        return (JsonPart.BLANK, "", index) if text[index:] == "/" else self._refuse(text, index)

    def _step(self, want: Want, mark: str, text: str, index: int) -> ReadPart:
        """Read a mark that may come."""
        part = JsonPart.KEY if want is Want.COLON else _PARTS[mark]
        if part is JsonPart.OPEN:
            if len(self.nested) >= DEPTH_LIMIT:
                raise TooMuchError(DEPTH_LIMIT)
            self.nested.append(_CLOSING[mark])
        elif part is JsonPart.CLOSE:
            if self.nested[-1] != mark:
                return self._refuse(text, index)
            self.nested.pop()
        elif part is JsonPart.COMMA:
            want = Want.KEY if self.nested[-1] == "}" else Want.VALUE_OR_END
        elif part is not JsonPart.COLON:
            self.mended = self.mended or mark == "'"
            self.quote, mark = mark, '"'
        self.want = want if self.nested else Want.NOTHING
        return part, mark, index + 1

    def _refuse(self, text: str, index: int) -> ReadPart:
        self.refused = True
        return JsonPart.UNFIT, text[index:], len(text)
