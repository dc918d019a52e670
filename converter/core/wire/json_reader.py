"""`JsonReader` reads JSON as models write it, from text that arrives in pieces. It yields the parts
(`JsonPart`), has a state for each text that may come next (`Want`), and mends what has one meaning
only. A table (`_STEPS`) is its grammar.

Readers of incomplete JSON use it: `PartialJson` (returns the JSON that can be sent on),
`complete_part` (returns the JSON of all complete values) and `ArgumentValues` (changes the types of
values). So does `json_object`, for a call's object that is not valid JSON.

The reader yields parts (`JsonPart`): a quote, text of a string, a bracket ... Each comes with its
JSON and with the index behind it. `{'a': tr` is read as OPEN `{`, KEY `"`, TEXT `a`, END `"`,
COLON `:`, BLANK and BEGUN `tr`; when `ue}` arrives, as SCALAR `ue` and CLOSE `}`.

For each state (`Want`), `_STEPS` has the characters that may come, and the state that follows each.
Unless it can be mended, any other character, and all text behind it, is UNFIT. The text of a string
is yielded before the string has ended. A bare value (a number, `true`) is yielded in pieces too, as
long as it may become JSON (`tr`). These are mended: Python's words (`True`), single quotes, keys
without quotes, superfluous commas, comments, control characters and lone backslashes in strings,
and escapes of half a surrogate pair (`\\ud83d`).
"""

import enum
import json
import re
from collections.abc import Iterator

from converter.core.wire.bounds import DEPTH_LIMIT, TooMuchError
from converter.core.wire.json_text import refuse

SCALAR_LIMIT = 512
"""The most characters of a number or word that is held at the end of a piece of text, because the
next piece may continue it. A longer one counts as complete there. No useful number is so long.
"""
BARE_KEY_LIMIT = 256
"""The most characters of a key without quotes. Such a key is held until its colon comes. If more
characters come without a colon, they are no key, and count as UNFIT.
"""
BLANKS = " \t\r\n"
"""The characters that JSON allows between values."""
_NOT_AS_IS = '"\r\n\t'
"""The characters at which text in a double-quoted string must be fed to `JsonReader`: the quote
that ends the string, and line ends and tabs, which JSON allows only as escapes. Other control
characters and false escapes are not listed: the fast path feeds all text that has any of them.
"""
STRICT = json.JSONDecoder(parse_constant=refuse)
"""A decoder of JSON that refuses `NaN` and `Infinity`."""

HIGH, LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
"""Patterns of the escapes for the two halves of a surrogate pair: the first half, and the second.
"""
_ESCAPE = rf'\\["\\/bfnrt]|{HIGH}{LOW}|(?!{HIGH}|{LOW})\\u[0-9a-fA-F]{{4}}'
"""The pattern of an escape that can stay as it is: any escape of JSON but half a surrogate pair."""
_PLAIN = {
    '"': re.compile(rf'(?:[^"\\\x00-\x1f]++|{_ESCAPE})++'),
    "'": re.compile(rf"(?:[^'\"\\\x00-\x1f]++|{_ESCAPE})++"),
}
"""The quote of a string -> the pattern of text in the string that can stay as it is."""
_MAY_CHANGE = {'"': re.compile(r'["\\\x00-\x1f]'), "'": re.compile(r"['\"\\\x00-\x1f]")}
"""The quote of a string -> the pattern of the characters in the string that may have to be changed.
Text without these characters can stay as it is.
"""
_HALF = re.compile(rf"{HIGH}|{LOW}")
"""The pattern of the escape for half a surrogate pair."""
_ESCAPE_BEGUN = re.compile(
    rf"(?:\\(?:u[0-9a-fA-F]{{0,3}})?|{HIGH}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?)\Z"
)
"""The pattern of an escape that is cut off by the end of the text, or of half a surrogate pair at
the end of the text, whose other half may still come.
"""
_SCALAR = re.compile(r"[-+.\w]++")
"""The pattern of a bare value: a number, a literal, or letters that are no JSON."""
_BARE_KEY = re.compile(r"(?:[^\W\d]|\$)[\w$-]*+")
"""The pattern of a key without quotes."""
_BLANK = re.compile(rf"[{BLANKS}]++")
"""The pattern of one or more blanks."""
_LITERALS = ("true", "false", "null")
"""The words that JSON has for values."""
_PYTHON = {"True": "true", "False": "false", "None": "null"}
"""Python's word for a value -> the word of JSON."""
_BEGUN = re.compile(
    r"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
    r"|-?(?:0|[1-9]\d*)?(?:(?<=\d)\.\d*)?(?:(?<=\d)[eE][-+]?\d*)?"
)
"""The pattern of the beginning of `true`, `false`, `null` or a number. It matches as many
characters as can be a part of such a value: `tru` in `tru3`, `1.5` in `1.5.2`.
"""
_COMMENTS = {"/*": "*/", "//": "\n", "#": "\n"}
"""The text that begins a comment -> the text that ends it."""


class JsonPart(enum.Enum):
    """The kinds of parts into which the reader divides JSON."""

    BLANK = enum.auto()  # blanks; or an empty text, in place of a dropped comment or comma
    OPEN = enum.auto()  # an opening bracket or brace
    CLOSE = enum.auto()  # a closing bracket or brace
    COMMA = enum.auto()  # a comma between values
    COLON = enum.auto()  # the colon behind a key
    KEY = enum.auto()  # the quote that begins a key
    STRING = enum.auto()  # the quote that begins a string value
    TEXT = enum.auto()  # text in a key or a string value
    END = enum.auto()  # the quote that ends a key or a string value
    NAME = enum.auto()  # a complete key that was written without quotes
    BEGUN = enum.auto()  # the beginning of a number or word (`tr`), whose rest may still come
    SCALAR = enum.auto()  # a complete number or word (`true`); behind BEGUN, only its rest (`ue`)
    UNFIT = enum.auto()  # text that is not JSON and cannot be mended


class Want(enum.IntEnum):
    """The states of the reader. Each is named after the text that is wanted next."""

    OBJECT = enum.auto()  # wanted at the beginning: the opening brace of an object
    KEY_OR_END = enum.auto()  # wanted behind `{`: a key, or `}`
    KEY = enum.auto()  # wanted behind a comma in an object: a key (or `}`, which is mended)
    COLON = enum.auto()  # wanted from the first quote of a key on: the colon behind the key
    VALUE = enum.auto()  # wanted behind a colon, or at the beginning: a value of any type
    VALUE_OR_END = enum.auto()  # wanted behind `[`, or behind a comma in a list: a value, or `]`
    NEXT = enum.auto()  # wanted behind a value: a comma, or a closing bracket or brace
    NOTHING = enum.auto()  # wanted behind the outermost value: nothing but blanks


type ReadPart = tuple[JsonPart, str, int]
"""A part: its kind, its JSON, and the index in the text at which the next part begins. If the part
is not complete, this is the index of its own beginning: its text is read again with the next piece.
"""

_VALUE_STEPS = {
    '"': Want.NEXT,
    "'": Want.NEXT,
    "{": Want.KEY_OR_END,
    "[": Want.VALUE_OR_END,
}
"""A character that begins a value -> the state that follows. For a quote, this is the state behind
the string's end.
"""
_KEY_STEPS = {'"': Want.COLON, "'": Want.COLON, "}": Want.NEXT}
"""A character that may stand where a key is wanted -> the state that follows. A quote begins a key,
behind which a colon is wanted; `}` ends the object.
"""
_STEPS = {
    Want.OBJECT: {"{": Want.KEY_OR_END},
    Want.KEY_OR_END: _KEY_STEPS,
    Want.KEY: _KEY_STEPS,
    Want.COLON: {":": Want.VALUE},
    Want.VALUE: _VALUE_STEPS,
    Want.VALUE_OR_END: {**_VALUE_STEPS, "]": Want.NEXT},
    Want.NEXT: {",": Want.KEY, "}": Want.NEXT, "]": Want.NEXT},
    Want.NOTHING: {},
}
"""A state -> each character that may come in this state -> the state that then follows."""
_PARTS = dict.fromkeys("[{", JsonPart.OPEN) | dict.fromkeys("]}", JsonPart.CLOSE)
"""A character -> the kind of part that begins with it. Where a key is wanted, a quote begins a KEY.
"""
_PARTS |= {",": JsonPart.COMMA, ":": JsonPart.COLON, '"': JsonPart.STRING, "'": JsonPart.STRING}
_VALUE_WANTED = (Want.VALUE, Want.VALUE_OR_END)
"""The states in which a value may come."""
_KEY_WANTED = (Want.KEY, Want.KEY_OR_END)
"""The states in which a key may come."""
OUTSIDE = (Want.OBJECT, Want.NOTHING)
"""The states before the outermost object, and behind the outermost value."""
_CLOSING = {"{": "}", "[": "]"}
"""Opening bracket -> its closing bracket."""


class JsonReader:
    """A reader whose `feed` takes pieces of JSON text and yields the parts in them (`JsonPart`).

    Arguments:
        want: the state at the beginning: `Want.OBJECT` if the text must be an object, `Want.VALUE`
            if it may be any value.
        bare_names: True if a key may stand without quotes. If False, such a key is UNFIT.

    Attributes:
        want: the state.
        nested: the closing brackets of all open objects and lists, the innermost last.
        quote: the quote that ends the open string or key; empty if none is open.
        comment: the text that ends the open comment; empty if no comment is open.
        held: text at the end of the last piece that can be read only together with the next piece.
        mended: True if some of the text was not JSON and was mended.
        refused: True once text has come that is not JSON and cannot be mended.
    """

    def __init__(self, want: Want, bare_names: bool = True) -> None:
        self.want = want
        self.nested: list[str] = []
        self.quote = ""
        self.held = ""
        self.mended = self.refused = False
        self._bare_names = bare_names
        self.comment = ""
        # How many characters of `held`, a number or a word that may go on, were already yielded as
        # `JsonPart.BEGUN`.
        self._passed = 0

    @property
    def waiting(self) -> str:
        """The held text without the characters that were already yielded as BEGUN."""
        return self.held[self._passed :]

    @property
    def not_plain(self) -> str | None:
        """The characters at which text must be fed to this reader. The caller may send on text
        without these characters as it is: it is a part of the open string, and valid JSON. `None`
        if all text must be fed, because no string in double quotes is open, or text is held.
        """
        return _NOT_AS_IS if self.quote == '"' and not self.held else None

    def passes(self, text: str) -> bool:
        """Return True if `text` lies within the open string and is valid JSON unchanged, so that
        the caller need not pass it to `feed`.
        """
        if not self.quote or self.held:
            return False
        plain, stop = _PLAIN[self.quote], _MAY_CHANGE[self.quote]
        return stop.search(text) is None or plain.fullmatch(text) is not None

    def feed(self, text: str) -> Iterator[ReadPart]:
        """Yield the parts of the next piece of text. Raises TooMuchError if objects and lists have
        more than `DEPTH_LIMIT` levels.

        When a part is yielded, the reader's attributes show the state behind this part.
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
        """End the held number or word, because no more text comes. Return its JSON without the part
        that was yielded as BEGUN; `None` if none is held, or if it is no complete value.

        `numbers`: True if a number may be ended too. If False, return `None` for a number, because
        the reply may have been cut within it.
        """
        word = self.held
        if self.want not in _VALUE_WANTED or not (numbers or word in _LITERALS or word in _PYTHON):
            return None
        rest = self._rest_of_value(word)
        if rest is not None:
            self.held = ""
        return rest

    def close(self) -> str:
        """Close all open objects and lists. Return their closing brackets, the innermost first."""
        ends = "".join(reversed(self.nested))
        self.nested.clear()
        self.want, self.mended = Want.NOTHING, True
        return ends

    def _in_string(self, text: str, index: int) -> ReadPart:
        """Return the part of the open string that begins at `index`."""
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
        # Half a surrogate pair becomes U+FFFD, because UTF-8 cannot express it.
        if half := _HALF.match(text, index):
            return JsonPart.TEXT, "\ufffd", half.end()
        # A control character, a quote or a lone backslash is not valid in a JSON string: escape it.
        return JsonPart.TEXT, json.dumps(text[index])[1:-1], index + 1

    def _in_comment(self, text: str, index: int) -> ReadPart:
        """Return a part with empty JSON for the text of the open comment, because it is dropped."""
        closer = text.find(self.comment, index)
        if closer < 0:
            begun = len(self.comment) > 1 and text.endswith(self.comment[:-1])
            return JsonPart.BLANK, "", len(text) - begun
        end = closer + len(self.comment)
        self.comment = ""
        return JsonPart.BLANK, "", end

    def _token(self, text: str, index: int) -> ReadPart:
        """Return the part at `index`, outside of strings and comments."""
        character = text[index]
        want = _STEPS[self.want].get(character)
        if want is not None:
            return self._step(want, character, text, index)
        if blanks := _BLANK.match(text, index):
            return JsonPart.BLANK, blanks[0], blanks.end()
        if self.want in _VALUE_WANTED and (scalar := _SCALAR.match(text, index)):
            return self._scalar(text, index, scalar[0])
        if self.want in _KEY_WANTED and (key := self._odd_key(text, index)):
            return key
        if character in "/#" and self.want not in OUTSIDE:
            return self._begin_comment(text, index)
        return self._refuse(text, index)

    def _scalar(self, text: str, index: int, written: str) -> ReadPart:
        """Return the part for `written`, a number or word at `index`: SCALAR if it is complete,
        BEGUN if the next piece of text may continue it. If it is not JSON, return its beginning
        that could be JSON as BEGUN (`tru` of `tru3`), and its rest then counts as UNFIT.
        """
        end = index + len(written)
        is_open = end == len(text) and len(written) <= SCALAR_LIMIT
        rest = None if is_open else self._rest_of_value(written)
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

    def _rest_of_value(self, written: str) -> str | None:
        """Return the JSON of `written`, a number or word, without the characters that were yielded
        as BEGUN, and enter the state behind a value; `None` if it is not JSON. Python's words
        become those of JSON (`True`: `true`).
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
        """Return the part at `index`, where a key is wanted: BLANK for a superfluous comma, NAME
        for a key without quotes, UNFIT for a word without a colon. A word at the end of the text is
        held. Return `None` for other text, and for all words if keys must have quotes.
        """
        if text[index] == ",":
            self.mended = True
            return JsonPart.BLANK, "", index + 1
        match = _BARE_KEY.match(text, index) if self._bare_names else None
        if not match:
            return None
        blanks = _BLANK.match(text, match.end())
        stop = blanks.end() if blanks else match.end()
        # Only a colon behind the name shows that it is a key.
        behind = text[stop : stop + 1]
        if behind == ":":
            self.want, self.mended = Want.COLON, True
            return JsonPart.NAME, json.dumps(match[0], ensure_ascii=False), match.end()
        if behind or len(text) - index > BARE_KEY_LIMIT:
            return self._refuse(text, index)
        return JsonPart.NAME, "", index

    def _begin_comment(self, text: str, index: int) -> ReadPart:
        """Open the comment that begins at `index`. Return a part with empty JSON for its opening
        characters (`/*`), because it is dropped. Return UNFIT if no comment begins there.
        """
        opener = next((mark for mark in _COMMENTS if text.startswith(mark, index)), "")
        if opener:
            self.comment, self.mended = _COMMENTS[opener], True
            return JsonPart.BLANK, "", index + len(opener)
        return (JsonPart.BLANK, "", index) if text[index:] == "/" else self._refuse(text, index)

    def _step(self, want: Want, character: str, text: str, index: int) -> ReadPart:
        """Return the part for `character` at `index`, which the grammar allows there, and enter the
        state `want`. Return UNFIT for a closing bracket that does not fit the open one (`[}`).
        """
        part = JsonPart.KEY if want is Want.COLON else _PARTS[character]
        if part is JsonPart.OPEN:
            if len(self.nested) >= DEPTH_LIMIT:
                raise TooMuchError(DEPTH_LIMIT)
            self.nested.append(_CLOSING[character])
        elif part is JsonPart.CLOSE:
            if self.nested[-1] != character:
                return self._refuse(text, index)
            self.nested.pop()
        elif part is JsonPart.COMMA:
            want = Want.KEY if self.nested[-1] == "}" else Want.VALUE_OR_END
        elif part is not JsonPart.COLON:
            self.mended = self.mended or character == "'"
            self.quote, character = character, '"'
        self.want = want if self.nested else Want.NOTHING
        return part, character, index + 1

    def _refuse(self, text: str, index: int) -> ReadPart:
        """Return all text from `index` on as UNFIT. From now on, all further text is UNFIT too."""
        self.refused = True
        return JsonPart.UNFIT, text[index:], len(text)
