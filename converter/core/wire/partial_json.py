"""The arguments of a tool call, as they stream: pieces of JSON text in, pieces that together are
one object out. It is the one judge of arguments, for calls in the text as for a server's own.

A client parses all it has at every piece and gives up on the first that cannot be JSON, so a piece
goes on only as far as it can. JSON passes as it comes, except for commas: they wait for the text
behind them. Other text with one meaning is mended: Python's words, single quotes, bare names, a
comma too many, a comment, an end too many behind the object. Text with none is `broken`: then
nothing more comes out, and the object has no end.
"""

import enum
import json
import re

from converter.core.wire.bounds import (
    BLANKS_LIMIT,
    DEPTH_LIMIT,
    HELD_LIMIT,
    UNFIT_LIMIT,
    TooMuchError,
)
from converter.core.wire.json_text import refuse

SCALAR_LIMIT = 512
"""Characters of a bare value, which waits until something follows it; no number that a tool can use
is as long.
"""
NAME_LIMIT = 256
"""Characters of a bare name, which waits for its colon."""
WRAPPED = "arguments"
"""Key under which a text that is no object at all goes out."""

_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_PLAIN_IN_SINGLE = re.compile(r"[^'\"\\\x00-\x1f]+")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""The escape of half a surrogate pair."""
_HALF_LENGTH = 6
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_PAIR_BEGUN = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z"
)
_ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_SCALAR = re.compile(r"[-+.\w]+")
_BARE_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$-]*+")
_BLANKS = " \t\r\n"
_WORDS = ("true", "false", "null")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_BEGUN = re.compile(
    r"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
    r"|-?(?:0|[1-9]\d*)?(?:(?<=\d)\.\d*)?(?:(?<=\d)[eE][-+]?\d*)?"
)
"""As much of a bare value as can become one of JSON's."""
_NOTHING = ("", "null", "None")
_COMMENTS = {"/*": "*/", "//": "\n", "#": "\n"}
_BEHIND = re.compile(r"[\s}\],;`]*+(?:<|$)")
"""Text behind the object that means nothing: ends too many, and the marks of a call."""


class _Want(enum.Enum):
    OBJECT = enum.auto()
    KEY_OR_END = enum.auto()
    KEY = enum.auto()
    COLON = enum.auto()
    VALUE = enum.auto()
    VALUE_OR_END = enum.auto()
    NEXT = enum.auto()
    NOTHING = enum.auto()


_VALUES = {
    '"': _Want.NEXT,
    "'": _Want.NEXT,
    "{": _Want.KEY_OR_END,
    "[": _Want.VALUE_OR_END,
}
_KEYS = {'"': _Want.COLON, "'": _Want.COLON, "}": _Want.NEXT}
_STEPS = {
    _Want.OBJECT: {"{": _Want.KEY_OR_END},
    _Want.KEY_OR_END: _KEYS,
    _Want.KEY: _KEYS,
    _Want.COLON: {":": _Want.VALUE},
    _Want.VALUE: _VALUES,
    _Want.VALUE_OR_END: {**_VALUES, "]": _Want.NEXT},
    _Want.NEXT: {",": _Want.KEY, "}": _Want.NEXT, "]": _Want.NEXT},
}
_VALUE_WANTED = (_Want.VALUE, _Want.VALUE_OR_END)
_KEY_WANTED = (_Want.KEY, _Want.KEY_OR_END)
_OUTSIDE = (_Want.OBJECT, _Want.NOTHING)
_CLOSING = {"{": "}", "[": "]"}


class PartialJson:
    """Feed the text; the result is an object once `complete`, else the beginning of one.

    `told`: a member has begun, so that the text is meant for an object. `mended`: it was no JSON.
    `bare_names`: whether a name without quotes has a meaning.
    """

    def __init__(self, bare_names: bool = True) -> None:
        self._bare_names = bare_names
        self._unfit: list[str] = []
        self._want = _Want.OBJECT
        self._nested: list[str] = []
        self._held = ""
        self._passed = 0  # characters of the held text that went on
        self._gap: list[str] = []  # a comma and the blanks behind it wait for the next value
        self._blanks = 0
        self._unfit_length = 0
        self._out: list[str] = []
        self._quote = ""  # of the string that is open
        self._comment = ""  # the end of the one that is open
        self.told = self.mended = False

    @property
    def unfit(self) -> str:
        """Text that could not be part of the object."""
        return "".join(self._unfit)

    @property
    def words(self) -> str:
        """The text where it is no object at all, not even the beginning of one."""
        return self.unfit if self._want is _Want.OBJECT else ""

    @property
    def complete(self) -> bool:
        """Tell whether the object is closed and nothing but blanks can follow."""
        return self._want is _Want.NOTHING

    @property
    def begun(self) -> bool:
        """Tell whether the object is open: something of it came, and not its end."""
        return self._want not in _OUTSIDE

    @property
    def broken(self) -> bool:
        """Tell whether the text has no meaning: of one that is no object at all the end tells."""
        if not self._unfit or self._want is _Want.OBJECT:
            return False
        return not self.complete or not _BEHIND.match(self.unfit)

    @property
    def said(self) -> bool:
        """Tell whether there was anything but blanks."""
        return self._want is not _Want.OBJECT or bool((self.unfit + self._held).strip())

    def feed(self, text: str) -> str:
        """Return the text that can go on. Raises TooMuchError."""
        if self._unfit:
            self._put_aside(text)
            return ""
        if self._want is _Want.OBJECT and text[-1:] == "}" and _is_object(text):
            self._want, self.told = _Want.NOTHING, True
            return text
        buffer, self._held = self._held + text, ""
        position = 0
        while position < len(buffer):
            if self._comment:
                end = self._read_comment(buffer, position)
            elif self._quote:
                end = self._read_string(buffer, position)
            else:
                end = self._read_token(buffer, position)
            if end is None:  # more text must tell
                self._held = buffer[position:]
                break
            position = end
        return self._drain()

    def close(self) -> str:
        """Return the text that completes the object, if the text so far has one meaning: no
        arguments at all, a string that holds an object, brackets missing at the very end. Else
        return nothing: the last number may have been cut.
        """
        if self._want is _Want.OBJECT:
            made = _object_in(self.unfit)
            if made:
                self._want, self.mended = _Want.NOTHING, self.said
                self._unfit.clear()
            return made
        if self._held in _WORDS or self._held in _PYTHON:
            self._scalar(self._held)
            self._held = ""
        inside = self._quote or self._comment or self._held or self._unfit
        if self._want is _Want.NEXT and not inside:
            self._out += [_CLOSING[bracket] for bracket in reversed(self._nested)]
            self._nested.clear()
            self._want, self.mended = _Want.NOTHING, True
        return self._drain()

    def close_before(self) -> str:
        """Return the brackets that are missing before `unfit`, which something else ended."""
        self._unfit.clear()
        if "," in self._gap:
            self._want = _Want.NEXT  # a comma too many
        if self._want is not _Want.NEXT:
            return ""
        return self.close()

    def _drain(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out

    def _say(self, text: str) -> None:
        self._out += (*self._gap, text)
        self._gap.clear()
        self._blanks = 0

    def _read_string(self, buffer: str, position: int) -> int | None:
        single = self._quote == "'"
        if plain := (_PLAIN_IN_SINGLE if single else _PLAIN).match(buffer, position):
            self._out.append(plain[0])
            return plain.end()
        if _HALF.match(buffer, position):
            return self._read_half(buffer, position)
        if escape := _ESCAPE.match(buffer, position):
            self._out.append(escape[0])
            return escape.end()
        if _ESCAPE_BEGUN.match(buffer, position):
            return None
        if single and buffer.startswith("\\'", position):
            self._out.append("'")
            return position + 2
        if buffer[position] == self._quote:
            self._quote = ""
            self._out.append('"')
        else:  # a bare control character, quote or backslash is no JSON, but its meaning is plain
            self.mended = True
            self._out.append(json.dumps(buffer[position])[1:-1])
        return position + 1

    def _read_half(self, buffer: str, position: int) -> int | None:
        """Read a pair of escapes; a half alone is U+FFFD, because no UTF-8 can say it."""
        if pair := _PAIR.match(buffer, position):
            self._out.append(pair[0])
            return pair.end()
        if _PAIR_BEGUN.match(buffer, position):
            return None
        self.mended = True
        self._out.append("\ufffd")
        return position + _HALF_LENGTH

    def _read_comment(self, buffer: str, position: int) -> int | None:
        closer = buffer.find(self._comment, position)
        if closer >= 0:
            end = closer + len(self._comment)
            self._comment = ""
            return end
        begun = buffer.endswith(self._comment[:-1]) if len(self._comment) > 1 else False
        return (len(buffer) - begun) if len(buffer) - begun > position else None

    def _read_token(self, buffer: str, position: int) -> int | None:
        character = buffer[position]
        if character in _BLANKS:
            self._blanks += 1
            if self._blanks <= BLANKS_LIMIT:
                waits = self._gap or self._want in _OUTSIDE
                (self._gap if waits else self._out).append(character)
            return position + 1
        if self._want in _VALUE_WANTED and (scalar := _SCALAR.match(buffer, position)):
            is_open = scalar.end() == len(buffer) and scalar.end() - position <= SCALAR_LIMIT
            if not is_open and self._scalar(scalar[0]):
                return scalar.end()
            self._pass_on(scalar[0])
            return None if is_open else self._refuse(buffer, position + self._passed)
        bare = self._bare_names and self._want in _KEY_WANTED
        if bare and (name := _BARE_NAME.match(buffer, position)):
            return self._read_name(buffer, position, name[0])
        if character in "/#" and self.begun:
            return self._begin_comment(buffer, position)
        return self._read_mark(buffer, position)

    def _read_name(self, buffer: str, position: int, name: str) -> int | None:
        """Read a bare name: the next character tells that it is one."""
        behind = buffer[position + len(name) :].lstrip(_BLANKS)
        if behind.startswith(":"):
            self._say(json.dumps(name, ensure_ascii=False))
            self._want, self.mended = _Want.COLON, True
            return position + len(name)
        if behind or len(buffer) - position > NAME_LIMIT:
            return self._refuse(buffer, position)
        return None

    def _begin_comment(self, buffer: str, position: int) -> int | None:
        opener = next((mark for mark in _COMMENTS if buffer.startswith(mark, position)), "")
        if not opener:
            return None if buffer[position:] == "/" else self._refuse(buffer, position)
        self._comment, self.mended = _COMMENTS[opener], True
        return position + len(opener)

    def _read_mark(self, buffer: str, position: int) -> int:
        character = buffer[position]
        if character == "," and self._want in _KEY_WANTED:
            self.mended = True
            return position + 1  # one too many
        want = _STEPS.get(self._want, {}).get(character)
        if want is None or not self._nest(character):
            return self._refuse(buffer, position)
        if character == ",":
            self._gap.append(character)
            self._want = _Want.KEY if self._nested[-1] == "{" else _Want.VALUE_OR_END
            return position + 1
        if character in _CLOSING.values():
            self.mended = self.mended or "," in self._gap
            self._gap = [blank for blank in self._gap if blank != ","]
        if character in "\"'":
            self.mended = self.mended or character == "'"
            self._quote, character = character, '"'
        self.told = self.told or want is _Want.COLON
        self._say(character)
        self._want = want if self._nested else _Want.NOTHING
        return position + 1

    def _nest(self, character: str) -> bool:
        if character in _CLOSING:
            if len(self._nested) >= DEPTH_LIMIT:
                raise TooMuchError(DEPTH_LIMIT)
            self._nested.append(character)
        elif character in _CLOSING.values():
            if _CLOSING[self._nested[-1]] != character:
                return False
            self._nested.pop()
        return True

    def _pass_on(self, scalar: str) -> None:
        """Let a bare value go on, as far as it can become one of JSON's."""
        if (begun := _BEGUN.match(scalar)) and begun.end() > self._passed:
            self._say(scalar[self._passed : begun.end()])
            self._passed = begun.end()

    def _scalar(self, written: str) -> bool:
        text = _PYTHON.get(written, written)
        try:
            json.loads(text, parse_constant=refuse)
        except ValueError:
            return False
        self._say(text[self._passed :])
        self._passed = 0
        self.mended = self.mended or text != written
        self._want = _Want.NEXT
        return True

    def _refuse(self, buffer: str, position: int) -> int:
        before = self._gap if self._want is _Want.OBJECT else []
        self._unfit = [*before]
        self._put_aside(buffer[position:])
        return len(buffer)

    def _put_aside(self, text: str) -> None:
        """Keep text that is no part of the object; behind its end only so much."""
        self._unfit_length += len(text)
        if self._want is _Want.NOTHING:
            text = text[: max(0, HELD_LIMIT - self._unfit_length + len(text))]
        elif self._unfit_length > UNFIT_LIMIT:
            raise TooMuchError(UNFIT_LIMIT)
        if text:
            self._unfit.append(text)


def _is_object(text: str) -> bool:
    """Tell whether the text is one object as it stands, in whole characters."""
    if "\\u" in text and _HALF.search(text):
        return False
    try:
        return isinstance(json.loads(text, parse_constant=refuse), dict)
    except (ValueError, RecursionError):
        return False


def _object_in(text: str) -> str:
    """Return the object that a text without one stands for: none, or one in a string."""
    if text.strip() in _NOTHING:
        return "{}"
    try:
        inner = json.loads(text)
        inner = json.loads(inner) if isinstance(inner, str) else None
    except (ValueError, RecursionError):
        return ""
    return json.dumps(inner, ensure_ascii=False) if isinstance(inner, dict) else ""


_TOKENS = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*+")|(?P<open>"(?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4})*+)|[\[\]{},:]'
    r"|(?P<torn>t|tru?|f|fal?s?|nu?l?)\Z|[-+.\w]+",
    re.DOTALL,
)


def is_open(text: str) -> bool:
    """Tell whether an object was cut off: it has no end, but nothing wrong in it."""
    read = PartialJson()
    read.feed(text)
    return not read.complete and not read.unfit


def complete_part(text: str, cut_string: bool = False) -> str:
    """Return an object that was cut off, with its complete fields, as SDKs read a stream.
    `cut_string`: and with the beginning of the last one, if that is a string.
    """
    nested: list[str] = []
    end, before, closer = 0, "", ""
    for token in _TOKENS.finditer(text):
        if token["open"] and cut_string and (nested[-1:] == ["]"] or before == ":"):
            end, closer = token.end(), '"'
        if token["open"] or token["torn"]:
            break  # a value without its end
        if token[0] in _CLOSING:
            nested.append(_CLOSING[token[0]])
        elif token[0] in _CLOSING.values():
            del nested[-1:]
        is_key = token["string"] and nested[-1:] == ["}"] and before != ":"
        if token[0] not in (",", ":") and not is_key:
            end = token.end()
        before = token[0]
    return (text[:end] + closer + "".join(reversed(nested))) or "{}"
