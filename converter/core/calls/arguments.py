"""`Arguments` takes the text of one call's arguments in pieces, and returns pieces of one JSON
object. `meaning_of` returns a normal form by which arguments are compared, and `ARGUMENT_KEYS` has
the fields in which servers and models put arguments.

`PartialJson` checks the object itself. This module decides about text behind the object:

- The same object once more is dropped.
- An object behind `{}` replaces the `{}`, if the tool has parameters and `{}` came in one piece.
- Closing brackets, commas and backticks are dropped, and all text from a mark on
  (`means_nothing`).
- Any other text is unfit: the call is broken, and must not be run.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping

from converter.core.calls.argument_wrappings import GemmaQuotes, Wrapping
from converter.core.wire import json_text
from converter.core.wire.bounds import BLANKS_LIMIT, HELD_LIMIT
from converter.core.wire.partial_json import PartialJson, means_nothing

CUSTOM_INPUT = "input"
"""The key under which the input of a `custom` tool is put into an object. Such a tool has no
schema, and its input is free text.
"""
ARGUMENT_KEYS = ("arguments", "parameters", "params", "args", "kwargs", "input", "tool_input")
"""Fields in which servers and models put a call's arguments. The APIs have the first one."""
REMEMBERED = 4096
"""The most characters of incomplete arguments that are kept when another call begins; longer
ones are not kept. A later object that repeats kept arguments is dropped; an object that repeats
longer arguments makes the call broken.
"""
QUOTED = 60
"""How many characters an error message quotes of text that is not part of the arguments."""
_EMPTY = re.compile(r"\s*\{\s*\}\s*")
"""The pattern of an empty JSON object."""


def arguments_of(function: Mapping[str, object]) -> tuple[str, bool]:
    """Return the arguments of a `function` object as text, and True if they had the API's shape.

    The API's shape is a string in `arguments`, or no arguments at all. Servers also use another
    field of `ARGUMENT_KEYS`, or send another value, which is returned as JSON. An empty list counts
    as no arguments, but has not the API's shape.
    """
    key = next((key for key in ARGUMENT_KEYS if function.get(key) is not None), ARGUMENT_KEYS[0])
    value = function.get(key)
    if isinstance(value, str):
        return value, key == ARGUMENT_KEYS[0]
    if value is None or value == []:
        return "", value is None
    return json_text.write(value).decode(), False


class Arguments:
    """Takes the text of one call's arguments in pieces, and returns the JSON of one object.

    Attributes:
        mended: True if the object differs from the text that came. Text that was dropped behind the
            object counts only if it is a repetition of the object.
    """

    def __init__(self, parameters: Collection[str] = ()) -> None:
        """`parameters`: the names of the tool's parameters. If there are any, an empty object is
        held, because the real object may follow; but only if it comes in one piece, as `{}`.
        """
        self._waits = bool(parameters)
        self._wrapping = Wrapping(ARGUMENT_KEYS, parameters)
        self._quotes = GemmaQuotes()
        self._object = self._new_object()
        self._held = ""  # `{}` while this empty object is held; else ""
        self._text: list[str] | None = []  # pieces of the object; None if too long, or forgotten
        self._digest = b""  # digest of the complete object, once `forget` dropped `_text`
        self._length = 0  # number of characters of the object so far
        self._again: PartialJson | None = None  # reads a second object, while one comes
        self._repeat: list[str] = []  # pieces of this second object
        self._tail = ""  # text behind the object, but not its repetition
        self.mended = False

    @staticmethod
    def _new_object() -> PartialJson:
        """Return a reader of one object. It refuses keys without quotes: a server sends such keys
        only if its own parser of calls has failed.
        """
        return PartialJson(bare_names=False)

    @property
    def complete(self) -> bool:
        """True if the object was returned whole, and no second object behind it is being read."""
        return self._object.complete and not self._held and self._again is None

    @property
    def waiting(self) -> bool:
        """True if an empty object is held, because the real object may follow."""
        return bool(self._held)

    @property
    def begun(self) -> bool:
        """True if the object has begun, complete or not."""
        return self._object.begun or self._object.complete

    @property
    def has_text(self) -> bool:
        """True if any text but blanks has come."""
        return self._object.has_text

    @property
    def not_plain(self) -> str | None:
        """The characters in the open string that only `feed` can read (see `JsonReader.not_plain`).

        Text without them may be sent on unread. None if no string is open, or a filter may hold
        text.
        """
        waits = self._quotes.waits or self._wrapping.holds
        return None if waits else self._object.not_plain

    @property
    def unfit(self) -> str:
        """The text that makes the call broken, such as text behind the object.

        Empty if there is none. Also empty if no object has begun: at the reply's end `close`
        decides what the text before the object means.
        """
        if self._object.complete:
            return "" if means_nothing(self._tail) else self._tail
        return self._object.unfit if self._object.broken else ""

    @property
    def has_unfit(self) -> bool:
        """True if text came that `PartialJson` cannot read as a part of the object, even if it does
        no harm (see `unfit`). Text that comes after the complete object does not count.
        """
        return bool(self._object.unfit)

    def feed(self, text: str) -> str:
        """Take the next piece of text; return the piece of JSON that can be emitted now.

        Raises TooMuchError if more would be held than `DEPTH_LIMIT` or `UNFIT_LIMIT` allows.
        """
        if self._object.complete:
            return self._feed_behind(text)
        text = self._quotes.feed(self._wrapping.feed(text), self._object.not_plain is not None)
        fresh = self._object.feed(text)
        self._length += len(fresh)
        if self._text is not None and self._length <= HELD_LIMIT:
            self._text.append(fresh)
        else:
            self._text = None
        if not self._object.complete:
            return fresh
        unwrapped = self._wrapping.unwrapped or self._quotes.unwrapped
        self.mended = self.mended or self._object.mended or unwrapped
        if self._waits and _EMPTY.fullmatch("".join(self._text or [])) and fresh == "{}":
            fresh, self._held = "", fresh
        rest = self._object.unfit
        return fresh + (self._feed_behind(rest) if rest else "")

    def release(self) -> str:
        """Return `{}` if this empty object is held, else an empty text. Called when no other object
        can follow.
        """
        held, self._held = self._held, ""
        return held

    def close(self, as_input: bool = False) -> str:
        """Return the JSON that completes the object at the reply's end; empty if nothing is
        missing, or the object cannot be completed.

        An object in which only brackets are missing can be completed, for example; and without any
        text the object is `{}` (see `PartialJson.close`). `as_input`: True if text that is no
        object becomes the value of `input`, the tool's only parameter.
        """
        if self._object.complete:
            return self.release()
        bare = self._object.bare_text if as_input else ""
        completed = self._object.close()
        if not completed and bare:
            self._object = self._new_object()
            completed = self._object.feed(json.dumps({CUSTOM_INPUT: bare}, ensure_ascii=False))
        self.mended = self.mended or self._object.mended
        return completed

    def forget(self) -> None:
        """Drop the text of the object to save memory, because another call has begun.

        A digest is kept of a complete object, so that a repetition is recognised. Incomplete
        arguments are kept only if they have at most `REMEMBERED` characters. While a second object
        is being read, nothing is dropped.
        """
        if self._text is None or self._again is not None:
            return
        if self._object.complete:
            self._digest, self._text = _digest("".join(self._text)), None
        elif self._length > REMEMBERED:
            self._text = None

    def _feed_behind(self, text: str) -> str:
        """Take text behind the complete object; return the JSON that can be emitted now.

        This JSON is empty, unless an object follows a held `{}` and replaces it.
        """
        if self._held and text.lstrip()[:1] == "{":
            self._held, self._object, self._text, self._length = "", self._new_object(), [], 0
            self.mended = True
            return self.feed(text)
        if self._again is None and not self._tail.strip() and text.lstrip()[:1] == "{":
            self._again, self._repeat = self._new_object(), []
        if self._again is None:
            self._tail += text[: max(0, BLANKS_LIMIT - len(self._tail))]
            return ""
        again = self._again
        self._repeat.append(again.feed(text))
        if not (again.complete or again.unfit):
            return ""
        self._again, behind = None, "".join(self._repeat)
        mine = self._digest if self._text is None else _digest("".join(self._text))
        if not (again.complete and mine and mine == _digest(behind)):
            self._tail = (behind or again.unfit)[:QUOTED]
            return ""
        self.mended = True
        return self._feed_behind(again.unfit) if again.unfit else ""


def meaning_of(text: str) -> str:
    """Return JSON in a normal form, by which texts with the same values are equal.

    Blanks, the order of keys, and `1` or `1.0` make no difference. Empty if `text` is no JSON.
    """
    try:  # `_number` reads 1.0 and 1e0 as 1, because they are the same number
        return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)
    except (ValueError, RecursionError):
        return ""


def _number(written: str) -> float:
    """Return a number with a point or exponent: as an integer if it is one (`1.0` -> 1), else as a
    float.
    """
    return int(number) if (number := float(written)).is_integer() else number


def _digest(text: str) -> bytes:
    """Return a digest that is the same for JSON texts with the same values; empty for no JSON."""
    meaning = meaning_of(text).encode()
    return hashlib.sha1(meaning, usedforsecurity=False).digest() if meaning else b""
