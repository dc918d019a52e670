"""`json_object` reads a JSON object in the text of a call. The `JsonObject` that it returns has the
members (keys with their values), each value as JSON text.

Valid JSON is read by Python's `json`, member by member. All other objects, and a few rare ones such
as objects with escapes in a key, are read by `JsonReader`, which mends what has only one meaning
(`{'city': 'Oslo',}`). The closer of a thought between the parts of such an object is ignored.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from converter.core.calls.schema_values import NO_STRING, as_json, as_type
from converter.core.reading.families import CLOSERS
from converter.core.reading.tool_calls.bodies import OTHER_KEYS
from converter.core.wire.bounds import TooMuchError
from converter.core.wire.json_reader import HIGH, LOW, STRICT, JsonPart, JsonReader, Want

_PIECE = 4096
"""How many characters of the text `JsonReader` gets at a time."""
_TRIES = 16
"""How many values of an invalid object may fail in Python's `json`, which is tried first because it
is fast. `json` counts the lines of the whole text at each failure, which is slow; so further values
are left to `JsonReader`. Also the most levels of objects in objects that get an `_ObjectReader`
each; deeper objects are left to `JsonReader` too.
"""
_BLANKS = r"[ \t\r\n]*+"
"""The pattern of the characters that are blanks in JSON."""
_SPACE = re.compile(_BLANKS)
"""The pattern of blanks in JSON, compiled."""
_EMPTY = re.compile(rf"\{{{_BLANKS}\}}")
"""The pattern of an empty object."""
_KEY = re.compile(rf'{_BLANKS}"([^"\\\x00-\x1f]*+)"{_BLANKS}:{_BLANKS}')
"""The pattern of a key without escapes, with its colon. Its group is the key."""
_BEHIND = re.compile(rf"{_BLANKS}([,}}])")
"""The pattern of the comma or brace behind a value. Its group is this character."""
_HALF = re.compile(rf"{HIGH}|{LOW}")
"""The pattern of an escaped surrogate, such as `\\ud83d`: half of a character, which valid JSON has
in pairs only.
"""
_BARE = re.compile(r"""[^,}"'{\[]++(?=[,}])""")
"""The pattern of a value without quotes, up to a comma or brace: `call-1`."""
_CLOSER = re.compile("|".join(map(re.escape, CLOSERS)))
"""The pattern of any closer of a thought."""


@dataclass(slots=True)
class JsonObject:
    """A JSON object that was read from a text: complete, or up to the end of the text, or up to
    text that is not JSON.
    """

    members: list[tuple[str, str]] = field(default_factory=list)
    """The complete members of the object: for each its key, and the JSON of its value."""
    end: int = 0
    """The offset behind the object. If `is_invalid`, the offset of the text that is not JSON."""
    closed: bool = False
    """True if the object has its closing brace."""
    is_invalid: bool = False
    """True if the object contains text that is not JSON and cannot be mended."""
    open_key: str | None = None
    """The key whose value is incomplete at the end of the text; `None` if no value is."""
    open_value: str = ""
    """The JSON of the value of `open_key`, as far as the value has come."""
    missing_brackets: str | None = None
    """The closing brackets that the value of `open_key` lacks; an empty text if only the closing
    brace of the object is missing; `None` if more than brackets is missing, or nothing.
    """
    may_be_mended: bool = False
    """True if the object may have been mended, so that it may differ from its text."""

    def complete(self) -> None:
        """Close the object. Add the brackets that an incomplete value lacks; drop the value and its
        key if more than brackets is missing.
        """
        if self.open_key is not None and self.missing_brackets is not None:
            self.members.append((self.open_key, self.open_value + self.missing_brackets))
        self.open_key, self.closed = None, True

    @property
    def so_far(self) -> str:
        """The JSON of the members and of the incomplete value so far, without the closing brace:
        `{"city": "Os`.
        """
        begun = [(self.open_key, self.open_value)] if self.open_key is not None else []
        return JsonObject([*self.members, *begun]).text[:-1]

    @property
    def text(self) -> str:
        """The JSON of an object with the complete members: `{"city": "Oslo"}`."""
        inner = ", ".join(f"{as_json(key)}: {value}" for key, value in self.members)
        return f"{{{inner}}}"


def json_object(text: str, at: int, inside: bool = False) -> JsonObject:
    """Return the object that begins at the offset `at`: complete, or up to the end of the text, or
    up to text that is not JSON and cannot be mended.

    `inside`: True if the opening brace is missing, so that a key stands at `at`.
    """
    return (None if inside else _read_strictly(text, at)) or _ObjectReader(text, at, inside).read()


def _read_strictly(text: str, at: int) -> JsonObject | None:
    """Return the object that begins at the offset `at`, if it is complete and valid JSON; else
    `None`.
    """
    if empty := _EMPTY.match(text, at):
        return JsonObject([], empty.end(), closed=True)
    members, at, mark = [], at + 1, ","
    while mark == ",":
        key = _KEY.match(text, at)
        if not key:
            return None
        try:
            _, end = STRICT.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            return None
        value, behind = text[key.end() : end], _BEHIND.match(text, end)
        if not behind or ("\\u" in value and _HALF.search(value)):
            return None
        members.append((key[1], value))
        at, mark = behind.end(), behind[1]
    return JsonObject(members, at, closed=True)


class _ObjectReader:
    """Reads one object that may be incomplete or invalid JSON, and mends it (`read`)."""

    def __init__(self, text: str, at: int, inside: bool, depth: int = 0) -> None:
        self._text, self._at = text, at
        self._reader = JsonReader(Want.OBJECT)
        if inside:
            self._reader.want, self._reader.nested = Want.KEY, ["}"]
        self._object = JsonObject(may_be_mended=True)
        self._key: list[str] = []
        # The JSON of the current value, in pieces; `None` before the colon of its key.
        self._value: list[str] | None = None
        # `_begin`: the offset of the current value. `_behind`: the offset behind it, if it was read
        # in one step (`_read_value_strictly`), so that `_parts` must go on there; else 0.
        self._begin = self._behind = 0
        self._tries, self._depth = 0, depth

    def read(self) -> JsonObject:
        """Read and return the object, up to its closing brace or to text that cannot be mended."""
        result, reader = self._object, self._reader
        try:
            for part, text, end in self._parts():
                result.end = end
                if part is JsonPart.UNFIT:
                    result.end = end - len(text)
                    if not self._skip_or_mend(result.end):
                        result.is_invalid = True
                        break
                elif not reader.nested:
                    self._add_member()
                    result.closed = True
                    return result
                else:
                    self._take_part(part, text, end)
        except TooMuchError:
            result.is_invalid = True
        # The object has no closing brace: it ends with the text, or before text that cannot be
        # mended. It may end with a word such as `true`, which only the text's end completes.
        value = self._value
        word = None if result.is_invalid or value is None else reader.end_word()
        result.end = result.end if result.is_invalid else len(self._text)
        inside = reader.quote or reader.comment or reader.held
        if value is None:
            result.missing_brackets = None if inside or not result.members or self._key else ""
            return result
        result.open_key = json.loads("".join(self._key))
        value.append(word or "")
        length = len(value)
        self._drop_comma(value)
        result.open_value = "".join(value)
        if not inside and (reader.want is Want.NEXT or len(value) < length):
            result.missing_brackets = "".join(reversed(reader.nested[1:]))
        return result

    def _parts(self) -> Iterator[tuple[JsonPart, str, int]]:
        """Yield the parts of the object (brackets, commas, strings ...), as `JsonReader` reads
        them: the kind of a part, its JSON, and the offset behind it.
        """
        while self._at < len(self._text):
            begin = self._at - len(self._reader.held)
            piece = self._text[self._at : self._at + _PIECE]
            self._at += len(piece)
            for part, text, end in self._reader.feed(piece):
                yield part, text, begin + end
                if self._behind:
                    self._at, self._behind = self._behind, 0
                    break

    def _take_part(self, part: JsonPart, text: str, end: int) -> None:
        """Add a part to the current key or value; at a comma of the object, complete the member.

        `text`: the JSON of the part. `end`: the offset behind the part.
        """
        at_top = len(self._reader.nested) == 1
        if part is JsonPart.COMMA and at_top:
            self._add_member()
        elif self._value is None:
            if part is JsonPart.COLON:
                self._value, self._begin = [], end
                self._read_value_strictly()
            elif part not in (JsonPart.OPEN, JsonPart.BLANK, JsonPart.COMMA):
                self._key.append(text)
        elif part is not JsonPart.BLANK or not at_top:
            if part is JsonPart.CLOSE:
                self._drop_comma(self._value)
            self._value.append(text)

    def _read_value_strictly(self) -> None:
        """Read the value at `_begin` in one step and move behind it, if the value is valid JSON or
        an object that can be mended. Else leave it to `JsonReader`.
        """
        begin = _SPACE.match(self._text, self._begin).end()  # type: ignore[union-attr]
        if self._tries == _TRIES or self._text[begin : begin + 1] not in ("{", "[", '"'):
            return
        try:
            _, end = STRICT.raw_decode(self._text, begin)
            value = self._text[begin:end]
        except (ValueError, RecursionError):
            self._tries += 1
            read = JsonObject()
            if self._text[begin] == "{" and self._depth < _TRIES:
                read = _ObjectReader(self._text, begin, inside=False, depth=self._depth + 1).read()
            if not read.closed:
                return
            value, end = read.text, read.end
        if _BEHIND.match(self._text, end) and not ("\\u" in value and _HALF.search(value)):
            self._value, self._behind, self._reader.want = [value], end, Want.NEXT

    @staticmethod
    def _drop_comma(value: list[str]) -> None:
        """Remove the comma with which a value ends, and the blanks behind the comma. `value`: the
        JSON of the value, in pieces.
        """
        last = next((at for at in reversed(range(len(value))) if value[at].strip()), -1)
        if last >= 0 and value[last] == ",":
            del value[last:]

    def _add_member(self) -> None:
        """Add the current key and its value to the members, if it has one; expect the next key."""
        if self._value:
            self._object.members.append((json.loads("".join(self._key)), "".join(self._value)))
        self._key, self._value = [], None

    def _skip_or_mend(self, at: int) -> bool:
        """Move behind text that is not JSON but is known: the closer of a thought, which is
        ignored, or the value of a key of `OTHER_KEYS` without quotes (`"id": call-1`), which
        becomes a string if it is no other value. Return False for any other text. `at`: the offset
        of the text.
        """
        reader = self._reader
        if closer := _CLOSER.match(self._text, at):
            self._at, reader.refused = closer.end(), False
            return True
        if self._value is None or json.loads("".join(self._key)) not in OTHER_KEYS:
            return False
        bare = _BARE.match(self._text, self._begin)
        if not bare:
            return False
        self._value = [as_type(bare[0].strip(), NO_STRING)]
        self._at, reader.refused, reader.want = bare.end(), False, Want.NEXT
        return True
