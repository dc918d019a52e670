"""`PartialJson` turns pieces of a model's text into pieces of valid JSON, which together are one
object: a tool call's arguments while they stream. `WRAPPED` is the key for arguments that are plain
text. `json_reader` has the grammar, and mends.

It serves calls in text, and calls that the server itself sends as calls.

At each piece, a client parses the arguments so far, and fails if they cannot be the beginning of
JSON. So only text that certainly is JSON is returned, and a comma is held until the text behind it
has come. Text that is not JSON but has only one meaning is mended, as `json_reader` describes. Text
behind the object that means nothing (`means_nothing`), such as a bracket too many, is dropped. At
text without a clear meaning, the object is `broken`, and nothing more is returned.
"""

import json
import re

from converter.core.wire.bounds import BLANKS_LIMIT, HELD_LIMIT, UNFIT_LIMIT, TooMuchError
from converter.core.wire.json_reader import OUTSIDE, STRICT, JsonPart, JsonReader, Want

WRAPPED = "arguments"
"""The key under which plain text is put into an object, if a model writes it as a call's arguments:
`{"arguments": "text"}`.
"""
_NOTHING = ("", "null", "None")
"""The texts that models write in place of an empty object, for a call without arguments."""
_DROPPABLE = re.compile(r"[\s}\],;`]*+(?:<|$)")
"""The pattern of text behind an object that can be dropped: blanks, brackets and commas, up to a
mark such as `</tool_call>` or up to the end.
"""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""The pattern of the escape for half a surrogate pair."""


def means_nothing(behind: str) -> bool:
    """Return True if `behind`, the text behind an object, can be dropped: it has only blanks,
    closing brackets, commas, semicolons and backticks, up to its end or up to a mark
    (`</tool_call>`).
    """
    return _DROPPABLE.match(behind) is not None


def mended(text: str) -> str:
    """Return the JSON of the object that `text` is, mended where it is not quite JSON. Return an
    empty text if `text` is not exactly one complete object, with nothing but blanks around it.
    """
    read = PartialJson()
    as_json = read.feed(text)
    return as_json if read.complete and not read.unfit else ""


class PartialJson:
    """A filter that turns a model's text into the JSON of one object.

    `feed` and `close` return the JSON in pieces. The pieces so far are the beginning of an object,
    and the whole object once `complete` is True.

    Arguments:
        bare_names: True if keys may stand without quotes, `{city: "Oslo"}`.
    """

    def __init__(self, bare_names: bool = True) -> None:
        self._reader = JsonReader(Want.OBJECT, bare_names)
        # The comma and the blanks that are held until the next key, value or bracket has come.
        self._gap: list[str] = []
        self._blanks = 0
        self._unfit: list[str] = []
        self._unfit_length = 0

    @property
    def mended(self) -> bool:
        """True if some of the text was not JSON, and was mended."""
        return self._reader.mended

    @property
    def unfit(self) -> str:
        """The text that is no part of the object: text before or behind the object, and all text
        from the first character on that cannot be read as a part of it.
        """
        return "".join(self._unfit)

    @property
    def bare_text(self) -> str:
        """All text so far, while no object has begun in it; empty once one has begun."""
        return self.unfit if self._reader.want is Want.OBJECT else ""

    @property
    def complete(self) -> bool:
        """True if the object is complete: its last bracket has come, or `close` has added it."""
        return self._reader.want is Want.NOTHING

    @property
    def begun(self) -> bool:
        """True if the object has begun and is not complete. (`Arguments.begun`, in another module,
        is also True for a complete object.)
        """
        return self._reader.want not in OUTSIDE

    @property
    def broken(self) -> bool:
        """True if text in the object or behind it has no clear meaning. False while no object has
        begun, because only `close` decides what a text without an object means.
        """
        if not self._unfit or self._reader.want is Want.OBJECT:
            return False
        return not self.complete or not means_nothing(self.unfit)

    @property
    def not_plain(self) -> str | None:
        """The characters at which text must be fed to `feed`. Text without them is a part of the
        open string, and can be sent on as it is. `None` if all text must be fed.
        """
        return self._reader.not_plain

    @property
    def has_text(self) -> bool:
        """True if any text has come that is not blank."""
        return self._reader.want is not Want.OBJECT or bool(self.unfit.strip())

    def feed(self, text: str) -> str:
        """Read the next piece of text. Return the JSON that can be sent on now. Raises TooMuchError
        if the text exceeds `DEPTH_LIMIT` or `UNFIT_LIMIT`.
        """
        reader = self._reader
        if reader.passes(text):
            return text
        if reader.want is Want.OBJECT and not reader.refused and _is_object(text):
            reader.want = Want.NOTHING
            return text
        return "".join([self._written(part, piece) for part, piece, _ in reader.feed(text)])

    def close(self) -> str:
        """Return the JSON that completes the object, because no more text comes. Return an empty
        text if nothing is missing, or if the object cannot be completed.

        - If the whole text is empty, `null` or `None`, return `{}`.
        - If the whole text is a JSON string that holds an object, return this object.
        - If only the last brackets are missing, return them. Behind a number they are not returned,
          because the number may have been cut off.
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
        """Return the JSON that can be sent on after `part`: the held comma and blanks, and `piece`,
        which is the part's JSON. Return an empty text if the part itself is held or is not JSON. Of
        blanks in a row, those beyond `BLANKS_LIMIT` are dropped.
        """
        if part in (JsonPart.TEXT, JsonPart.END):
            return piece
        if part is JsonPart.COMMA:
            self._gap.append(piece)
            return ""
        if part is JsonPart.BLANK:
            piece = piece[: max(0, BLANKS_LIMIT - self._blanks)]
            self._blanks += len(piece)
            if not self._gap and self.begun:
                return piece
            # Blanks behind a held comma wait with the comma. Blanks before the object wait until
            # an object begins; else they count as `unfit`. Blanks behind the object are dropped.
            self._gap.append(piece)
            return ""
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

    def _put_aside(self, text: str) -> None:
        """Add `text` to `unfit`, the text that is no part of the object. Behind a complete object,
        `unfit` keeps at most `HELD_LIMIT` characters. If the object is not complete, raise
        TooMuchError for more than `UNFIT_LIMIT` characters.
        """
        self._unfit_length += len(text)
        if self.complete:
            text = text[: max(0, HELD_LIMIT - self._unfit_length + len(text))]
        elif self._unfit_length > UNFIT_LIMIT:
            raise TooMuchError(UNFIT_LIMIT)
        if text:
            self._unfit.append(text)


def _is_object(text: str) -> bool:
    """Return True if the text is one complete JSON object that can be sent on as it is. Return
    False if it has the escape for half a surrogate pair (`\\ud83d`), even beside its other half:
    only `JsonReader` mends a half that stands alone.
    """
    if text[-1:] != "}" or ("\\u" in text and _HALF.search(text)):
        return False
    try:
        return isinstance(STRICT.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def _object_in(text: str) -> str:
    """Return the JSON of the object that is meant by `text`, a call's arguments that are not an
    object. This is `{}` for an empty text, `null` or `None`, and the object in a JSON string that
    holds one. Return an empty text for all other text.
    """
    if text.strip() in _NOTHING:
        return "{}"
    try:
        inner = json.loads(text)
        inner = json.loads(inner) if isinstance(inner, str) else None
    except (ValueError, RecursionError):
        return ""
    return json.dumps(inner, ensure_ascii=False) if isinstance(inner, dict) else ""
