"""The arguments of a tool call, as they stream: pieces of JSON text in, pieces that together are
one object out. It is the one judge of arguments, for calls in the text as for a server's own.

A client parses all it has at every piece and gives up on the first that cannot be JSON, so a piece
goes on only as far as it can. JSON passes as it comes, except for commas: they wait for the text
behind them. Other text with one meaning is mended, as `json_reader` has it; so is an end too many
behind the object. Text with none is `broken`: then nothing more comes out, and the object has no
end.
"""

import json
import re

from converter.core.wire.bounds import BLANKS_LIMIT, HELD_LIMIT, UNFIT_LIMIT, TooMuchError
from converter.core.wire.json_reader import OUTSIDE, STRICT, JsonPart, JsonReader, Want

WRAPPED = "arguments"
"""Key under which a text that is no object at all goes out."""
_NOTHING = ("", "null", "None")
_BEHIND = re.compile(r"[\s}\],;`]*+(?:<|$)")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def means_nothing(behind: str) -> bool:
    """Return True if text behind an object is surplus ends, or the marks of a call."""
    return _BEHIND.match(behind) is not None


def mended(text: str) -> str:
    """Return a text that is one object, as JSON; nothing for any other text."""
    read = PartialJson()
    as_json = read.feed(text)
    return as_json if read.complete and not read.unfit else ""


class PartialJson:
    """Feed the text; the result is an object once `complete`, else the beginning of one.

    Arguments:
        bare_names: a name without quotes has a meaning.

    Attributes:
        has_member: a member has begun, so that the text is meant for an object.
    """

    def __init__(self, bare_names: bool = True) -> None:
        self._reader = JsonReader(Want.OBJECT, bare_names)
        self._gap: list[str] = []  # a comma and the blanks behind it wait for the next value
        self._blanks = 0
        self._unfit: list[str] = []
        self._unfit_length = 0
        self.has_member = False

    @property
    def mended(self) -> bool:
        """Return True if the text was no JSON."""
        return self._reader.mended

    @property
    def unfit(self) -> str:
        """Text that could not be part of the object."""
        return "".join(self._unfit)

    @property
    def bare_text(self) -> str:
        """The text where it is no object at all, not even the beginning of one."""
        return self.unfit if self._reader.want is Want.OBJECT else ""

    @property
    def complete(self) -> bool:
        """Return True if the object is closed and nothing but blanks can follow."""
        return self._reader.want is Want.NOTHING

    @property
    def begun(self) -> bool:
        """Return True if the object is open: something of it came, and not its end."""
        return self._reader.want not in OUTSIDE

    @property
    def broken(self) -> bool:
        """Return True if the text has no meaning. Text that is no object at all is decided at its
        end.
        """
        if not self._unfit or self._reader.want is Want.OBJECT:
            return False
        return not self.complete or not means_nothing(self.unfit)

    @property
    def wakes(self) -> str | None:
        """The characters before which all text goes on as it is; see `JsonReader.wakes`."""
        return self._reader.wakes

    @property
    def has_text(self) -> bool:
        """Return True if there was anything but blanks."""
        return self._reader.want is not Want.OBJECT or bool(self.unfit.strip())

    def feed(self, text: str) -> str:
        """Return the text that can go on. Raises TooMuchError."""
        reader = self._reader
        if reader.passes(text):
            return text
        if reader.want is Want.OBJECT and not reader.refused and _is_object(text):
            reader.want, self.has_member = Want.NOTHING, True
            return text
        return "".join([self._written(part, piece) for part, piece, _ in reader.feed(text)])

    def close(self) -> str:
        """Return the text that completes the object, if the text so far has one meaning: no
        arguments at all, a string that holds an object, brackets missing at the very end. Else
        return nothing: the last number may have been cut.
        """
        reader = self._reader
        if reader.want is Want.OBJECT:
            completed = _object_in(self.unfit)
            if completed:
                reader.mended, reader.want = self.has_text, Want.NOTHING
                self._unfit.clear()
            return completed
        word = reader.end_word()
        out = self._written(JsonPart.SCALAR, word) if word else ""
        inside = reader.quote or reader.comment or reader.held or self._unfit
        return out + (reader.close() if reader.want is Want.NEXT and not inside else "")

    def _written(self, part: JsonPart, piece: str) -> str:
        """Return the text that goes on, of a part and of the gap before it."""
        if part in (JsonPart.TEXT, JsonPart.END):
            return piece
        if part is JsonPart.COMMA:
            self._gap.append(piece)
            return ""
        if part is JsonPart.BLANK:
            return self._blank(piece)
        if part is JsonPart.UNFIT:
            if self._reader.want is Want.OBJECT:
                self._unfit += self._gap
                self._gap.clear()
            self._put_aside(piece)
            return ""
        if part is JsonPart.CLOSE and "," in self._gap:
            self._gap = [blank for blank in self._gap if blank != ","]
            self._reader.mended = True
        self.has_member = self.has_member or part is JsonPart.KEY
        piece = "".join((*self._gap, piece))
        self._gap.clear()
        self._blanks = 0
        return piece

    def _blank(self, piece: str) -> str:
        piece = piece[: max(0, BLANKS_LIMIT - self._blanks)]
        self._blanks += len(piece)
        if not self._gap and self.begun:
            return piece
        self._gap.append(piece)
        return ""

    def _put_aside(self, text: str) -> None:
        """Keep text that is no part of the object; behind its end only so much."""
        self._unfit_length += len(text)
        if self.complete:
            text = text[: max(0, HELD_LIMIT - self._unfit_length + len(text))]
        elif self._unfit_length > UNFIT_LIMIT:
            raise TooMuchError(UNFIT_LIMIT)
        if text:
            self._unfit.append(text)


def _is_object(text: str) -> bool:
    """Return True if the text is one object as it stands, in whole characters."""
    if text[-1:] != "}" or ("\\u" in text and _HALF.search(text)):
        return False
    try:
        return isinstance(STRICT.decode(text), dict)
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
