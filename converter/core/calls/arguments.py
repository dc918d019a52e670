"""The arguments of one call: text comes in pieces, and pieces of one JSON object are emitted.

`PartialJson` checks the object itself. This module decides about text behind the object:

- The same object once more is dropped.
- An object behind `{}` takes its place, if the tool has parameters.
- Closing marks and brackets are dropped.
- Any other text is unfit: the call is broken.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping

from converter.core.calls.argument_dress import GemmaQuotes, Wrapping
from converter.core.wire import json_text
from converter.core.wire.bounds import BLANKS_LIMIT, HELD_LIMIT
from converter.core.wire.partial_json import PartialJson, means_nothing

CUSTOM_INPUT = "input"
"""The only parameter of a tool that takes free text."""
ARGUMENT_KEYS = ("arguments", "parameters", "params", "args", "kwargs", "input", "tool_input")
"""Fields in which servers and models put a call's arguments. The APIs have the first one."""
REMEMBERED = 4096
"""How many characters of an open call are kept for comparison when another call begins."""
NEAR = 60
"""How many characters of unfit text an error quotes."""
_EMPTY = re.compile(r"\s*\{\s*\}\s*")


def arguments_of(function: Mapping[str, object]) -> tuple[str, bool]:
    """Return the text of a call's arguments, and True if they had the shape of the APIs: a string
    in `arguments`, or no field at all.
    """
    key = next((key for key in ARGUMENT_KEYS if function.get(key) is not None), ARGUMENT_KEYS[0])
    value = function.get(key)
    if isinstance(value, str):
        return value, key == ARGUMENT_KEYS[0]
    if value is None or value == []:
        return "", value is None
    return json_text.write(value).decode(), False


class Arguments:
    """Takes a call's text and returns the JSON of its arguments. `parameters`: the tool's
    parameters; if there are any, an empty object is held, because the real object may follow.
    """

    def __init__(self, parameters: Collection[str] = ()) -> None:
        self._waits = bool(parameters)
        self._wrapping = Wrapping(ARGUMENT_KEYS, parameters)
        self._quotes = GemmaQuotes()
        self._object = self._new()
        self._held = ""  # an empty object that is held
        self._text: list[str] | None = []  # pieces of the emitted object; None: not kept
        self._digest = b""  # digest of the emitted object, if `_text` is None
        self._length = 0
        self._again: PartialJson | None = None  # a second object, which may repeat the first
        self._repeat: list[str] = []
        self._tail = ""  # text behind the object, unless it is an object
        self.mended = False

    @staticmethod
    def _new() -> PartialJson:
        # names without quotes are refused: they show that the server's own reader has failed
        return PartialJson(bare_names=False)

    @property
    def complete(self) -> bool:
        """True if the whole object was emitted, and no second object is open behind it."""
        return self._object.complete and not self._held and self._again is None

    @property
    def waiting(self) -> bool:
        """True if an empty object is held."""
        return bool(self._held)

    @property
    def begun(self) -> bool:
        """True once the object has begun."""
        return self._object.begun or self._object.complete

    @property
    def has_text(self) -> bool:
        """True if any text but blanks has come."""
        return self._object.has_text

    @property
    def wakes(self) -> str | None:
        """The characters that end plain text of the open string; see `PartialJson.wakes`."""
        waits = self._quotes.waits or self._wrapping.holds
        return None if waits else self._object.wakes

    @property
    def unfit(self) -> str:
        """Text that makes the call broken; empty if there is none, or if the end of the reply has
        to decide.
        """
        if self._object.complete:
            return "" if means_nothing(self._tail) else self._tail
        return self._object.unfit if self._object.broken else ""

    @property
    def odd(self) -> bool:
        """True if some of the text cannot be part of the object."""
        return bool(self._object.unfit)

    def feed(self, text: str) -> str:
        """Return the JSON that is certain after this text. Raises TooMuchError."""
        if self._object.complete:
            return self._behind(text)
        text = self._quotes.feed(self._wrapping.feed(text), self._object.wakes is not None)
        fresh = self._object.feed(text)
        self._keep(fresh)
        if not self._object.complete:
            return fresh
        undressed = self._wrapping.unwrapped or self._quotes.unwrapped
        self.mended = self.mended or self._object.mended or undressed
        if self._waits and _EMPTY.fullmatch("".join(self._text or [])) and fresh == "{}":
            fresh, self._held = "", fresh
        rest = self._object.unfit
        return fresh + (self._behind(rest) if rest else "")

    def release(self) -> str:
        """Return the empty object that is held, because no other object can follow."""
        held, self._held = self._held, ""
        return held

    def close(self, as_input: bool = False) -> str:
        """Return the text that completes the object, if it has one meaning only; see
        `PartialJson.close`. `as_input`: text that is no object is the value of the tool's only
        parameter.
        """
        if self._object.complete:
            return self.release()
        bare = self._object.bare_text if as_input else ""
        completed = self._object.close()
        if not completed and bare:
            self._object = self._new()
            completed = self._object.feed(json.dumps({CUSTOM_INPUT: bare}, ensure_ascii=False))
        self.mended = self.mended or self._object.mended
        return completed

    def forget(self) -> None:
        """Keep only a digest of the object, to save memory, because another call has begun."""
        if self._text is None or self._again is not None:
            return
        if self._object.complete:
            self._digest, self._text = _digest("".join(self._text)), None
        elif self._length > REMEMBERED:
            self._text = None

    def _keep(self, text: str) -> None:
        self._length += len(text)
        if self._text is not None and self._length <= HELD_LIMIT:
            self._text.append(text)
        else:
            self._text = None

    def _behind(self, text: str) -> str:
        """Take text behind the object. If an object follows the held `{}`, return the beginning of
        that object.
        """
        if self._held and text.lstrip()[:1] == "{":
            self._held, self._object, self._text, self._length = "", self._new(), [], 0
            self.mended = True
            return self.feed(text)
        if self._again is None and not self._tail.strip() and text.lstrip()[:1] == "{":
            self._again, self._repeat = self._new(), []
        if self._again is None:
            self._tail += text[: max(0, BLANKS_LIMIT - len(self._tail))]
            return ""
        self._repeat.append(self._again.feed(text))
        if self._again.complete or self._again.unfit:
            self._judge_repeat(self._again)
        return ""

    def _judge_repeat(self, again: PartialJson) -> None:
        mine = self._digest if self._text is None else _digest("".join(self._text))
        if again.complete and mine and mine == _digest("".join(self._repeat)):
            self._again, self.mended = None, True
            if again.unfit:
                self._behind(again.unfit)
        else:
            self._again, self._tail = None, "".join(self._repeat)[:NEAR] or again.unfit[:NEAR]


def meaning_of(text: str) -> str:
    """Return JSON in a normal form, for comparison: key order, blanks and `1` or `1.0` make no
    difference. Empty if `text` is no JSON.
    """
    try:  # 1.0 and 1e0 are read as 1, because they are one number; true is another value
        return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)
    except (ValueError, RecursionError):
        return ""


def _number(written: str) -> float:
    return int(number) if (number := float(written)).is_integer() else number


def _digest(text: str) -> bytes:
    meaning = meaning_of(text).encode()
    return hashlib.sha1(meaning, usedforsecurity=False).digest() if meaning else b""
