"""A reader of JSON as models write it, from text that arrives in pieces.

Each module that reads incomplete JSON uses this reader: `PartialJson` (the part that can be sent
on), `complete_part` (the part that is complete) and `ArgumentValues` (the types of the values).

The reader yields parts (`JsonPart`): a quote, text of a string, a bracket ... Each comes with its
JSON and with the index behind it. `{'a': tr` is read as OPEN `{`, KEY `"`, TEXT `a`, END `"`,
COLON `:`, BLANK and BEGUN `tr`; when `ue}` arrives, as SCALAR `ue` and CLOSE `}`.

`_STEPS` is the grammar. For each state (`Want`) it has the marks that may come, and the state
behind each mark. A mark that is missing there is not JSON, and all text from it on is UNFIT. The
text of a string is yielded before the string has ended. A bare value (a number, `true`) is yielded
as far as it can only be JSON. Some text that is not JSON is mended: Python's words, single quotes,
bare names, surplus commas, comments, half characters.
"""

import enum
import json
import re
from collections.abc import Iterator

from converter.core.wire.bounds import DEPTH_LIMIT, TooMuchError
from converter.core.wire.json_text import refuse

SCALAR_LIMIT = 512
"""The most characters of a bare value. A bare value waits for the text behind it, and no useful
number is so long.
"""
BARE_KEY_LIMIT = 256
"""The most characters of a key without quotes. Such a key waits for its colon."""
BLANKS = " \t\r\n"
_NOT_AS_IS = '"\r\n\t'
STRICT = json.JSONDecoder(parse_constant=refuse)
"""A decoder of JSON that refuses `NaN` and `Infinity`."""

HIGH, LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
"""Patterns of an escape: the first half of a surrogate pair, and the second half."""
_ESCAPE = rf'\\["\\/bfnrt]|{HIGH}{LOW}|(?!{HIGH}|{LOW})\\u[0-9a-fA-F]{{4}}'
_PLAIN = {
    '"': re.compile(rf'(?:[^"\\\x00-\x1f]++|{_ESCAPE})++'),
    "'": re.compile(rf"(?:[^'\"\\\x00-\x1f]++|{_ESCAPE})++"),
}
"""Text within a string that is valid JSON unchanged, for each kind of quote."""
_STOP = {'"': re.compile(r'["\\\x00-\x1f]'), "'": re.compile(r"['\"\\\x00-\x1f]")}
"""Characters within a string that must be looked at closely, for each kind of quote. Text without
them is valid JSON unchanged.
"""
_HALF = re.compile(rf"{HIGH}|{LOW}")
_ESCAPE_BEGUN = re.compile(
    rf"(?:\\(?:u[0-9a-fA-F]{{0,3}})?|{HIGH}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?)\Z"
)
_SCALAR = re.compile(r"[-+.\w]++")
_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$-]*+")
_BLANK = re.compile(rf"[{BLANKS}]++")
_LITERALS = ("true", "false", "null")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_BEGUN = re.compile(
    r"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
    r"|-?(?:0|[1-9]\d*)?(?:(?<=\d)\.\d*)?(?:(?<=\d)[eE][-+]?\d*)?"
)
"""The beginning of `true`, `false`, `null` or a number: as many characters as fit."""
_COMMENTS = {"/*": "*/", "//": "\n", "#": "\n"}


class JsonPart(enum.Enum):
    """The kinds of parts."""

    BLANK = enum.auto()  # blanks; or nothing, for text that is dropped, such as a comment
    OPEN = enum.auto()
    CLOSE = enum.auto()
    COMMA = enum.auto()
    COLON = enum.auto()
    KEY = enum.auto()  # the quote that begins a key
    STRING = enum.auto()  # the quote that begins a string value
    TEXT = enum.auto()  # text in a key or a string value
    END = enum.auto()  # the quote that ends a key or a string value
    NAME = enum.auto()  # a whole key that was written without quotes
    BEGUN = enum.auto()  # the beginning of a bare value
    SCALAR = enum.auto()  # the rest of a bare value, which is then complete
    UNFIT = enum.auto()  # text that is not JSON


class Want(enum.IntEnum):
    """The states of the reader, named after the text that must come next."""

    OBJECT = enum.auto()
    KEY_OR_END = enum.auto()
    KEY = enum.auto()
    COLON = enum.auto()
    VALUE = enum.auto()
    VALUE_OR_END = enum.auto()
    NEXT = enum.auto()
    NOTHING = enum.auto()


type ReadPart = tuple[JsonPart, str, int]
"""A part, its JSON, and the index behind it. The index is that of the part's beginning if the part
waits for more text.
"""

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
_PARTS = dict.fromkeys("[{", JsonPart.OPEN) | dict.fromkeys("]}", JsonPart.CLOSE)
_PARTS |= {",": JsonPart.COMMA, ":": JsonPart.COLON, '"': JsonPart.STRING, "'": JsonPart.STRING}
_VALUE_WANTED = (Want.VALUE, Want.VALUE_OR_END)
_KEY_WANTED = (Want.KEY, Want.KEY_OR_END)
OUTSIDE = (Want.OBJECT, Want.NOTHING)
_CLOSING = {"{": "}", "[": "]"}


class JsonReader:
    """A reader that is fed text and yields the parts of its JSON.

    Arguments:
        want: the state at the beginning, such as `Want.OBJECT` if the text must be an object.
        bare_names: True if a key may stand without quotes.

    Attributes:
        nested: the closing brackets of all open objects and lists, the innermost last.
        quote: the quote that ends the open string; empty outside strings.
        comment: the mark that ends the open comment; empty outside comments.
        held: the text at the end that waits for more text.
        mended: True if some of the text was not JSON and was mended.
        refused: True once text came that is not JSON and cannot be mended.
    """

    def __init__(self, want: Want, bare_names: bool = True) -> None:
        self.want = want
        self.nested: list[str] = []
        self.quote = ""
        self.held = ""
        self.mended = self.refused = False
        self._bare_names = bare_names
        self.comment = ""
        self._passed = 0  # how many characters of the held text were yielded (BEGUN)

    @property
    def waiting(self) -> str:
        """The part of the held text that was not yielded yet."""
        return self.held[self._passed :]

    @property
    def wakes(self) -> str | None:
        """The characters that end plain text in the open string; `None` if no string in double
        quotes is open.

        Text without any of these characters is TEXT, unchanged, as long as it does not end within
        an escape.
        """
        return _NOT_AS_IS if self.quote == '"' and not self.held else None

    def passes(self, text: str) -> bool:
        """Return True if `text` is text of the open string and is valid JSON unchanged."""
        if not self.quote or self.held:
            return False
        plain, stop = _PLAIN[self.quote], _STOP[self.quote]
        return stop.search(text) is None or plain.fullmatch(text) is not None

    def feed(self, text: str) -> Iterator[ReadPart]:
        """Yield the parts of the text. Raises TooMuchError.

        The attributes have the state behind a part when this part is yielded.
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
        """End a bare value that waits, because no more text follows. Return the rest of its JSON;
        `None` if no value waits that can end here.

        `numbers`: also end a number. Else a number cannot end here, because it may have been cut.
        """
        word = self.held
        if self.want not in _VALUE_WANTED or not (numbers or word in _LITERALS or word in _PYTHON):
            return None
        rest = self._whole(word)
        if rest is not None:
            self.held = ""
        return rest

    def close(self) -> str:
        """Close all open objects and lists, and return their closing brackets."""
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
        if half := _HALF.match(text, index):  # half a character, which UTF-8 does not allow
            return JsonPart.TEXT, "\ufffd", half.end()
        # A control character, quote or backslash without its escape: it stands for itself.
        return JsonPart.TEXT, json.dumps(text[index])[1:-1], index + 1

    def _in_comment(self, text: str, index: int) -> ReadPart:
        closer = text.find(self.comment, index)
        if closer < 0:
            begun = len(self.comment) > 1 and text.endswith(self.comment[:-1])
            return JsonPart.BLANK, "", len(text) - begun
        end = closer + len(self.comment)
        self.comment = ""
        return JsonPart.BLANK, "", end

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
        """Return the JSON of a bare value, without the part that was yielded; `None` if the value
        is not JSON. Python's words become those of JSON.
        """
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
        """Read a key without quotes, or a surplus comma, in place of a key."""
        if text[index] == ",":
            self.mended = True
            return JsonPart.BLANK, "", index + 1
        match = _NAME.match(text, index) if self._bare_names else None
        if not match:
            return None
        blanks = _BLANK.match(text, match.end())
        stop = blanks.end() if blanks else match.end()
        behind = text[stop : stop + 1]  # a name is a key only if a colon follows
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
        """Read a mark that the grammar allows; `want` is the state behind it."""
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
