"""Fields of a reply that no standard has: which are thinking, and which blocks a user gives the
others.

A row is `FIELD=BLOCK:KEY`: the value that a server sends in `FIELD` of its message or delta
becomes, for an Anthropic client, a block of type `BLOCK`, under `KEY`.
"""

import io
import re
from collections.abc import Mapping, Sequence

from converter.core.dialects.wire_form import Mapped
from converter.core.model import thought_fields
from converter.core.wire.bounds import COMPARED_LIMIT

THINKING = Mapped("thinking", "thinking")
REASONING_FIELDS: Mapping[str, Mapped] = dict.fromkeys(thought_fields.FIELDS, THINKING)
"""Fields of thinking, as rows of a user's own."""

STANDARD = ("role", "content", "refusal", "tool_calls", "function_call", "audio", "annotations")
"""Fields of a message or delta that are read as they are."""
TAKEN = re.compile(
    # blocks
    "text|thinking|redacted_thinking|image|document|search_result|container_upload|compaction"
    r"|\w*tool_use|\w*tool_result"  # more blocks, one pair for each tool that the servers run
    "|input_json|signature|citations"  # deltas
)
"""Names of the Messages API: clients expect its own keys under them."""
_ROW = re.compile(r"([\w.-]+)=(\w+):(\w+)")
_TEXTS = ("text", "summary", "thinking")
"""Fields in which an entry of a list has its text: reasoning.text, reasoning.summary; thinking
parts and blocks.
"""
_DEPTH = 4
"""Mistral's thinking part is a list in an object in a list; nothing is known to nest deeper."""


def read_map(written: Sequence[str]) -> Mapping[str, Mapped]:
    """Return the rows by field. Raises ValueError with the allowed forms."""
    rows: dict[str, Mapped] = {}
    for row in written:
        match = _ROW.fullmatch(row)
        if match is None:
            raise ValueError(
                f"expected FIELD=BLOCK:KEY, such as my_custom_field=custom:custom_data, got {row!r}"
            )
        field, mapped = match[1], Mapped(match[2], match[3])
        if field in STANDARD:
            raise ValueError(
                f"expected a field of the server's own in {row!r}, got {field}, which has its "
                f"place; so have {', '.join(STANDARD)}"
            )
        if mapped != THINKING and TAKEN.fullmatch(mapped.block):
            raise ValueError(
                f"expected thinking:thinking or a block of your own in {row!r}, "
                f"got {mapped.block}, which is the API's"
            )
        if mapped.key == "type":
            raise ValueError(f"expected another key than type in {row!r}: it names the block")
        if field in rows:
            raise ValueError(f"{row!r}: {field} has a row already")
        rows[field] = mapped
    return rows


def has_value(value: object) -> bool:
    """Return True if a field has a value; servers send null and empty values in every frame."""
    return value is not None and value not in ("", [], {})


def thinking_in(value: object) -> str:
    """Return the thinking in a field: a string, or a list whose entries hold some. Encrypted
    thinking has no text.
    """
    return _strings(value, _DEPTH) if isinstance(value, (str, list)) else ""


def _strings(value: object, depth: int) -> str:
    if isinstance(value, str):
        return value
    if not depth:
        return ""
    if isinstance(value, list):
        return "".join(_strings(entry, depth - 1) for entry in value)
    if isinstance(value, dict):
        return next((text for name in _TEXTS if (text := _strings(value.get(name), depth - 1))), "")
    return ""


class _Thought:
    """A thought as it grows. Any field may add to it; a field that lags behind repeats its text."""

    def __init__(self) -> None:
        # grows and is read anywhere at the cost of the piece alone
        self._buffer = io.StringIO(newline="")
        self.length = 0

    def text(self, start: int, length: int) -> str:
        self._buffer.seek(start)
        return self._buffer.read(length)

    def agrees(self, start: int, text: str) -> bool:
        if start == self.length:
            return True
        return text.startswith(self.text(start, len(text)))

    def add(self, start: int, text: str) -> str:
        """Return the new part of `text`, `text` agreeing at `start`."""
        new = text[self.length - start :]
        if new:
            room = max(0, COMPARED_LIMIT - self.length)
            self._buffer.seek(min(self.length, COMPARED_LIMIT))
            self._buffer.write(new[:room])
            self.length += len(new)
        return new


class ReasoningMerger:
    """One choice's thinking, without repeats where the server sends it under several names, in
    pieces of any length.

    A name that repeats another up to a point and then goes on differently was a thought of its own
    all along: it is returned whole.
    """

    def __init__(self) -> None:
        self._thoughts: list[_Thought] = []
        self._offsets: dict[str, tuple[_Thought, int]] = {}

    @property
    def names(self) -> list[str]:
        """All names so far."""
        return list(self._offsets)

    def feed(self, name: str, text: str, is_whole: bool = False) -> str:
        """Return the new part of `text`, the next piece under `name`. `is_whole`: the piece may
        repeat the last text under this name.
        """
        thought, offset = self._offsets.get(name) or (None, 0)
        begin = offset - len(text)
        if is_whole and thought and begin >= 0 and thought.text(begin, len(text)) == text:
            return ""
        if thought is None or not thought.agrees(offset, text):
            text, offset = (thought.text(0, offset) if thought else "") + text, 0
            thought = self._agreeing(text)
        self._offsets[name] = thought, offset + len(text)
        return thought.add(offset, text)

    def _agreeing(self, text: str) -> _Thought:
        for thought in self._thoughts:
            if thought.agrees(0, text):
                return thought
        self._thoughts.append(_Thought())
        return self._thoughts[-1]


def thoughts_of(message: Mapping[str, object]) -> dict[str, str]:
    """Return the text of each reasoning field of a message, without repeats."""
    merger = ReasoningMerger()
    return {
        name: merger.feed(name, thinking)
        for name in REASONING_FIELDS
        if (thinking := thinking_in(message.get(name)))
    }
