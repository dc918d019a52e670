"""The arguments of a tool call while they stream: pieces of a model's text come in, pieces of valid
JSON go out, and together these are one object. Calls in text and the server's own calls are read by
the same class.

A client parses the arguments again at each piece, and fails if they cannot be the beginning of
JSON. So only text that is certain to be JSON goes out. A comma waits for the text behind it. Text
that is not JSON but has one meaning is mended, as `json_reader` describes; a surplus bracket behind
the object is dropped. Text without a clear meaning makes the object `broken`: nothing more goes
out, and the object stays open.
"""

import json
import re

from converter.core.wire.bounds import BLANKS_LIMIT, HELD_LIMIT, UNFIT_LIMIT, TooMuchError
from converter.core.wire.json_reader import OUTSIDE, STRICT, JsonPart, JsonReader, Want

WRAPPED = "arguments"
"""The key of the object that is made for arguments that are plain text: `{"arguments": "text"}`."""
_NOTHING = ("", "null", "None")
_BEHIND = re.compile(r"[\s}\],;`]*+(?:<|$)")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def means_nothing(behind: str) -> bool:
    """Return True if text behind an object can be ignored: brackets, commas, or a mark of a
    call.
    """
    return _BEHIND.match(behind) is not None


def mended(text: str) -> str:
    """Return the JSON of a text that is one object, mended if needed; else an empty string."""
    read = PartialJson()
    as_json = read.feed(text)
    return as_json if read.complete and not read.unfit else ""


class PartialJson:
    """A filter that turns a model's text into the JSON of one object.

    `feed` and `close` return the JSON in pieces: the beginning of an object until `complete`.

    Arguments:
        bare_names: accept names without quotes, `{city: "Oslo"}`.
    """

    def __init__(self, bare_names: bool = True) -> None:
        self._reader = JsonReader(Want.OBJECT, bare_names)
        self._gap: list[str] = []  # a comma and blanks that wait for the next value
        self._blanks = 0
        self._unfit: list[str] = []
        self._unfit_length = 0

    @property
    def mended(self) -> bool:
        """True if the text was not JSON and was mended."""
        return self._reader.mended

    @property
    def unfit(self) -> str:
        """The text that is not a part of the object."""
        return "".join(self._unfit)

    @property
    def bare_text(self) -> str:
        """The text so far, if it does not begin with an object; else empty."""
        return self.unfit if self._reader.want is Want.OBJECT else ""

    @property
    def complete(self) -> bool:
        """True if the object is closed."""
        return self._reader.want is Want.NOTHING

    @property
    def begun(self) -> bool:
        """True if the object has begun and is not closed."""
        return self._reader.want not in OUTSIDE

    @property
    def broken(self) -> bool:
        """True if text in the object or behind it has no clear meaning. Text without any object is
        not broken: `close` decides about it.
        """
        if not self._unfit or self._reader.want is Want.OBJECT:
            return False
        return not self.complete or not means_nothing(self.unfit)

    @property
    def wakes(self) -> str | None:
        """The characters that end plain text of the open string; see `JsonReader.wakes`."""
        return self._reader.wakes

    @property
    def has_text(self) -> bool:
        """True if any text but blanks has come."""
        return self._reader.want is not Want.OBJECT or bool(self.unfit.strip())

    def feed(self, text: str) -> str:
        """Return the JSON that is certain after this text. Raises TooMuchError."""
        reader = self._reader
        if reader.passes(text):
            return text
        if reader.want is Want.OBJECT and not reader.refused and _is_object(text):
            reader.want = Want.NOTHING
            return text
        return "".join([self._written(part, piece) for part, piece, _ in reader.feed(text)])

    def close(self) -> str:
        """Return the JSON that completes the object; an empty string if it cannot be completed.

        - No arguments at all, or `null`: `{}` is returned.
        - A JSON string that holds an object: this object is returned.
        - Only the last brackets are missing: they are returned. They are not if a number stands at
          the end, because it may have been cut.
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
        """Return the JSON of a part, behind the comma and blanks that waited for it."""
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
        """Add to the text that is not a part of the object. Raises TooMuchError, except behind the
        object's end: there text beyond the limit is dropped.
        """
        self._unfit_length += len(text)
        if self.complete:
            text = text[: max(0, HELD_LIMIT - self._unfit_length + len(text))]
        elif self._unfit_length > UNFIT_LIMIT:
            raise TooMuchError(UNFIT_LIMIT)
        if text:
            self._unfit.append(text)


def _is_object(text: str) -> bool:
    """Return True if the text is valid JSON of one object, without escapes of half characters."""
    if text[-1:] != "}" or ("\\u" in text and _HALF.search(text)):
        return False
    try:
        return isinstance(STRICT.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def _object_in(text: str) -> str:
    """Return the object for arguments without an object: `{}` for no arguments or `null`, the inner
    object of a JSON string; an empty string for any other text.
    """
    if text.strip() in _NOTHING:
        return "{}"
    try:
        inner = json.loads(text)
        inner = json.loads(inner) if isinstance(inner, str) else None
    except (ValueError, RecursionError):
        return ""
    return json.dumps(inner, ensure_ascii=False) if isinstance(inner, dict) else ""
