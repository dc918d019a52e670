"""The arguments of one call as they come: pieces of text in, pieces of one JSON object out.

`PartialJson` judges the object itself. This module decides about text behind the object: the same
object once more is the same call, an object behind `{}` takes its place where the tool has
parameters, closing marks are dropped, and all other text is unfit.
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
"""The only argument of a tool that takes a text."""
ARGUMENT_KEYS = ("arguments", "parameters", "params", "args", "kwargs", "input", "tool_input")
"""Fields in which models and servers put a call's arguments; the first one is the APIs'."""
REMEMBERED = 4096
"""Characters of an open call that are kept to be compared while other calls begin."""
NEAR = 60
"""Characters of unfit text that an error quotes."""
_EMPTY = re.compile(r"\s*\{\s*\}\s*")


def arguments_of(function: Mapping[str, object]) -> tuple[str, bool]:
    """Return the arguments of a server's call as text, and whether they stood as the APIs have
    them: in `arguments`, as a string or left out.
    """
    key = next((key for key in ARGUMENT_KEYS if function.get(key) is not None), ARGUMENT_KEYS[0])
    value = function.get(key)
    if isinstance(value, str):
        return value, key == ARGUMENT_KEYS[0]
    if value is None or value == []:
        return "", value is None
    return json_text.write(value).decode(), False


class Arguments:
    """Feed the text. `parameters`: those of the tool; where it has any, an empty object waits,
    because the real one may follow.
    """

    def __init__(self, parameters: Collection[str] = ()) -> None:
        self._waits = bool(parameters)
        self._wrapping = Wrapping(ARGUMENT_KEYS, parameters)
        self._quotes = GemmaQuotes()
        self._object = self._new()
        self._held = ""  # an empty object that waits
        self._text: list[str] | None = []  # of the object that went on; None: too long to compare
        self._digest = b""  # of the object, where its words are not kept
        self._length = 0
        self._again: PartialJson | None = None  # a second object, which may repeat the first
        self._repeat: list[str] = []
        self._tail = ""  # text behind the object that begins no second one
        self.mended = False

    @staticmethod
    def _new() -> PartialJson:
        # a bare name shows that the server's own reader has failed: such a call is not trusted
        return PartialJson(bare_names=False)

    @property
    def complete(self) -> bool:
        """Return True if the object went on, whole, and nothing stands open behind it."""
        return self._object.complete and not self._held and self._again is None

    @property
    def waiting(self) -> bool:
        """Return True if an empty object waits."""
        return bool(self._held)

    @property
    def begun(self) -> bool:
        """Return True if the object is open, or was."""
        return self._object.begun or self._object.complete

    @property
    def has_text(self) -> bool:
        """Return True if there was anything but blanks."""
        return self._object.has_text

    @property
    def wakes(self) -> str | None:
        """The characters up to which all text belongs to a string; see `PartialJson.wakes`."""
        waits = self._quotes.waits or self._wrapping.holds
        return None if waits else self._object.wakes

    @property
    def unfit(self) -> str:
        """Unfit text; empty where there is none, or where the end must decide."""
        if self._object.complete:
            return "" if means_nothing(self._tail) else self._tail
        return self._object.unfit if self._object.broken else ""

    @property
    def odd(self) -> bool:
        """Return True if some of the text could not be part of an object."""
        return bool(self._object.unfit)

    def feed(self, text: str) -> str:
        """Return the text that can go on. Raises TooMuchError."""
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
        """Return the empty object that waits: nothing came behind it."""
        held, self._held = self._held, ""
        return held

    def close(self, as_input: bool = False) -> str:
        """Return the text that completes the object, where the text is over and has one meaning;
        see `PartialJson.close`. `as_input`: text that is no object is the tool's only argument.
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
        """Keep a digest in place of the text that may be compared: another call has begun."""
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
        """Take text behind the object. Where the object is empty and another object follows, return
        the text of the other object that may go on.
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
    """Return the meaning of JSON, to be compared; empty where there is none."""
    try:  # 1, 1.0 and 1e0 are one number, and true is another value
        return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)
    except (ValueError, RecursionError):
        return ""


def _number(written: str) -> float:
    return int(number) if (number := float(written)).is_integer() else number


def _digest(text: str) -> bytes:
    meaning = meaning_of(text).encode()
    return hashlib.sha1(meaning, usedforsecurity=False).digest() if meaning else b""
