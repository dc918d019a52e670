"""The arguments of a tool call, as they stream: pieces of JSON text in, pieces that together always
are one object out.

A client parses what it has at every piece and gives up on the first that cannot be JSON, so a piece
goes on only as far as it can. Strings pass as they come; commas, blanks and bare values wait for
what follows them. What a model left open is closed.
"""

import enum
import json
import re

from converter.wire.bounds import BLANKS_LIMIT, DEPTH_LIMIT, UNFIT_LIMIT, TooMuchError

SCALAR_LIMIT = 512
"""Characters of a bare value, which waits until something follows it; no number that a tool can use
is as long.
"""
WRAPPED = "arguments"
"""Key under which a text that is no object at all goes out."""

_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_SCALAR = re.compile(r"[-+.\w]+")
_BLANKS = " \t\r\n"


class _Want(enum.Enum):
    OBJECT = enum.auto()
    KEY_OR_END = enum.auto()
    KEY = enum.auto()
    IN_KEY = enum.auto()
    COLON = enum.auto()
    VALUE = enum.auto()
    VALUE_OR_END = enum.auto()
    IN_VALUE = enum.auto()
    NEXT = enum.auto()
    NOTHING = enum.auto()


_VALUES = {'"': _Want.IN_VALUE, "{": _Want.KEY_OR_END, "[": _Want.VALUE_OR_END}
_STEPS = {
    _Want.OBJECT: {"{": _Want.KEY_OR_END},
    _Want.KEY_OR_END: {'"': _Want.IN_KEY, "}": _Want.NEXT},
    _Want.KEY: {'"': _Want.IN_KEY},
    _Want.COLON: {":": _Want.VALUE},
    _Want.VALUE: _VALUES,
    _Want.VALUE_OR_END: {**_VALUES, "]": _Want.NEXT},
    _Want.NEXT: {",": _Want.KEY, "}": _Want.NEXT, "]": _Want.NEXT},
}
_AFTER_STRING = {_Want.IN_KEY: _Want.COLON, _Want.IN_VALUE: _Want.NEXT}
_VALUE_WANTED = (_Want.VALUE, _Want.VALUE_OR_END)
_CLOSING = {"{": "}", "[": "]"}
_LEFT_OPEN = {_Want.IN_KEY: '":null', _Want.COLON: ":null", _Want.IN_VALUE: '"'}


class PartialJson:
    """Feed the text; what comes out, `close` included, is one JSON object."""

    def __init__(self) -> None:
        self._unfit: list[str] = []
        self._want = _Want.OBJECT
        self._nested: list[str] = []
        self._held = ""
        self._gap: list[str] = []  # comma and blanks that wait for what they lead to
        self._unfit_length = 0
        self._out: list[str] = []

    @property
    def unfit(self) -> str:
        """Text that could not be part of the object."""
        return "".join(self._unfit)

    @property
    def complete(self) -> bool:
        """Tell whether the object is closed and nothing but blanks can follow."""
        return self._want is _Want.NOTHING

    @property
    def begun(self) -> bool:
        """Tell whether the object is open: something of it came, and not its end."""
        return self._want not in (_Want.OBJECT, _Want.NOTHING)

    @property
    def said(self) -> bool:
        """Tell whether there was anything but blanks."""
        return self._want is not _Want.OBJECT or bool((self.unfit + self._held).strip())

    def feed(self, text: str) -> str:
        """Return what can go on. Raises TooMuchError."""
        if self._unfit:
            self._put_aside(text)
            return ""
        buffer, self._held = self._held + text, ""
        position = 0
        while position < len(buffer):
            read = self._read_string if self._want in _AFTER_STRING else self._read_token
            end = read(buffer, position)
            if end is None:
                self._held = buffer[position:]
                break
            position = end
        return self._drain()

    def close(self) -> str:
        """Return what completes the object."""
        if self._want is _Want.OBJECT:
            text = self.unfit or self._held
            return json.dumps({WRAPPED: text} if text.strip() else {}, ensure_ascii=False)
        if self._held:  # a bare value; half an escape says nothing yet
            self._scalar(self._held)
        if self._want is _Want.VALUE and self._nested[-1] == "{":
            self._say("null")
        self._out.append(_LEFT_OPEN.get(self._want, ""))
        self._out += [_CLOSING[bracket] for bracket in reversed(self._nested)]
        self._nested.clear()
        self._want = _Want.NOTHING
        return self._drain()

    def _drain(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out

    def _say(self, text: str) -> None:
        self._out += (*self._gap, text)
        self._gap.clear()

    def _read_string(self, buffer: str, position: int) -> int | None:
        if plain := _PLAIN.match(buffer, position):
            self._out.append(plain[0])
            return plain.end()
        if escape := _ESCAPE.match(buffer, position):
            self._out.append(escape[0])
            return escape.end()
        if _ESCAPE_BEGUN.match(buffer, position):
            return None
        if buffer[position] == '"':
            self._want = _AFTER_STRING[self._want]
        # A bare control character or backslash is no JSON, but its meaning is plain.
        self._out.append('"' if buffer[position] == '"' else json.dumps(buffer[position])[1:-1])
        return position + 1

    def _read_token(self, buffer: str, position: int) -> int | None:
        character = buffer[position]
        if character in _BLANKS:
            if len(self._gap) < BLANKS_LIMIT:
                self._gap.append(character)
            return position + 1
        if self._want in _VALUE_WANTED and (scalar := _SCALAR.match(buffer, position)):
            if scalar.end() == len(buffer) and scalar.end() - position <= SCALAR_LIMIT:
                return None
            return scalar.end() if self._scalar(scalar[0]) else self._refuse(buffer, position)
        want = _STEPS.get(self._want, {}).get(character)
        if want is None or not self._nest(character):
            return self._refuse(buffer, position)
        if character == ",":
            self._gap.append(character)
            self._want = _Want.KEY if self._nested[-1] == "{" else _Want.VALUE
            return position + 1
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

    def _scalar(self, text: str) -> bool:
        if self._want not in _VALUE_WANTED:
            return False
        try:
            json.loads(text, parse_constant=_refuse_constant)
        except ValueError:
            return False
        self._say(text)
        self._want = _Want.NEXT
        return True

    def _refuse(self, buffer: str, position: int) -> int:
        before = self._gap if self._want is _Want.OBJECT else []
        self._unfit = [*before]
        self._put_aside(buffer[position:])
        return len(buffer)

    def _put_aside(self, text: str) -> None:
        """Keep text that is no part of the object: behind its end only to be quoted."""
        self._unfit_length += len(text)
        if self._want is _Want.NOTHING:
            text = text[: max(0, BLANKS_LIMIT - self._unfit_length + len(text))]
        elif self._unfit_length > UNFIT_LIMIT:
            raise TooMuchError(UNFIT_LIMIT)
        if text:
            self._unfit.append(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is Python's, not JSON's")


_TOKENS = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*+")|(?P<open>")|[\[\]{},:]|[-+.\w]+', re.DOTALL)


def is_open(text: str) -> bool:
    """Tell whether an object was cut off: it has no end, but nothing wrong in it."""
    read = PartialJson()
    read.feed(text)
    return not read.complete and not read.unfit


def complete_part(text: str) -> str:
    """Return an object that was cut off, with what is complete of it, as SDKs read a stream."""
    nested: list[str] = []
    end, before = 0, ""
    for token in _TOKENS.finditer(text):
        if token["open"]:
            break  # a string without its end
        if token[0] in _CLOSING:
            nested.append(_CLOSING[token[0]])
        elif token[0] in _CLOSING.values():
            nested.pop()
        is_key = token["string"] and nested[-1:] == ["}"] and before != ":"
        if token[0] not in (",", ":") and not is_key:
            end = token.end()
        before = token[0]
    return (text[:end] + "".join(reversed(nested))) or "{}"
