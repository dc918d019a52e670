"""`thinking_in` reads the thinking in the value of a field. `ReasoningMerger` joins the thinking of
several fields of a reply. `model.thought_fields` lists these fields; `read_map` reads the user's
own (`think_map`). `has_value` tells null and empty values from others, in any field.

A row of the map is `FIELD=BLOCK:KEY`: if the server sends `FIELD` in a message or delta, an
Anthropic client gets a block of type `BLOCK` that has the value under `KEY`.
"""

import io
import re
from collections.abc import Mapping, Sequence

from converter.core.dialects.wire_form import Mapped
from converter.core.model import thought_fields
from converter.core.wire.bounds import COMPARED_LIMIT

THINKING = Mapped("thinking", "thinking")
"""The block of a field whose value is thinking."""
REASONING_FIELDS: Mapping[str, Mapped] = dict.fromkeys(thought_fields.FIELDS, THINKING)
"""The known reasoning fields, as rows of the field map: field -> the thinking block."""

STANDARD = ("role", "content", "refusal", "tool_calls", "function_call", "audio", "annotations")
"""Fields of a message or delta that belong to the standard, and so may not be in the field map."""
TAKEN = re.compile(
    # types of content blocks
    "text|thinking|redacted_thinking|image|document|search_result|container_upload|compaction"
    r"|\w*tool_use|\w*tool_result"  # calls and results, also of Anthropic's and of MCP's tools
    "|input_json|signature|citations"  # types of deltas, without their ending `_delta`
)
"""Names of blocks and deltas of the Messages API. They may not be `BLOCK` in the field map, because
clients expect certain keys in them.
"""
_ROW = re.compile(r"([\w.-]+)=(\w+):(\w+)")
"""The pattern of a row of the field map: `FIELD=BLOCK:KEY`."""
_TEXTS = ("text", "summary", "thinking")
"""Fields that may hold the text of an entry in a list of thinking: `text` and `summary` in entries
of the types `reasoning.text` and `reasoning.summary`, `thinking` in thinking parts and blocks.
"""
_DEPTH = 4
"""How many levels of nested values are searched for text. Mistral's thinking part is a list in an
object in a list; no server nests deeper.
"""


def read_map(texts: Sequence[str]) -> Mapping[str, Mapped]:
    """Return the field map: a server's own field -> a block. `texts`: rows such as
    `FIELD=BLOCK:KEY`. Raises ValueError for a row that is not allowed, and for a second row of a
    field; its message names the row and the fault.
    """
    rows: dict[str, Mapped] = {}
    for row in texts:
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
    """Return True if a field's value is more than null or an empty string, list or object, which
    servers send in every frame. False and 0 are values, too.
    """
    return value is not None and value not in ("", [], {})


def thinking_in(value: object) -> str:
    """Return the thinking in a field, which is a string, or a list of entries with text. Encrypted
    thinking gives an empty string.
    """
    return _text_in(value, _DEPTH) if isinstance(value, (str, list)) else ""


def _text_in(value: object, depth: int) -> str:
    """Return the text in a value: a string itself, the joined texts of a list, or of an object the
    first of the fields `_TEXTS` that has text. `depth`: how many levels of values are searched.
    """
    if isinstance(value, str):
        return value
    if not depth:
        return ""
    if isinstance(value, list):
        return "".join(_text_in(entry, depth - 1) for entry in value)
    if isinstance(value, dict):
        return next((text for name in _TEXTS if (text := _text_in(value.get(name), depth - 1))), "")
    return ""


class _Thought:
    """The text of a thought as far as it has come, up to `COMPARED_LIMIT` characters. Several
    fields may send the same thought: a piece that repeats text of another field adds nothing.
    """

    def __init__(self) -> None:
        # A buffer and no string: each addition to a string would copy all text before it.
        self._buffer = io.StringIO(newline="")
        self.length = 0

    def text(self, start: int, length: int) -> str:
        """Return `length` characters of the thought from the offset `start` on; fewer if the kept
        text ends before.
        """
        self._buffer.seek(start)
        return self._buffer.read(length)

    def agrees_with(self, start: int, text: str) -> bool:
        """Return True if `text` is equal to the thought's text from the offset `start` on, as far
        as both go. Text beyond the offset `COMPARED_LIMIT` is not compared.
        """
        return start == self.length or text.startswith(self.text(start, len(text)))

    def add(self, start: int, text: str) -> str:
        """Add the part of `text` that is new, and return it. `text` begins at the offset `start`,
        and agrees with the thought from there on.
        """
        new = text[self.length - start :]
        if new:
            room = max(0, COMPARED_LIMIT - self.length)
            self._buffer.seek(min(self.length, COMPARED_LIMIT))
            self._buffer.write(new[:room])
            self.length += len(new)
        return new


class ReasoningMerger:
    """Merges the thinking of one choice that comes under several field names, so that repeated text
    counts once. The pieces of two names may be cut at different offsets.

    If a name first repeats the text of another one and then differs from it, it is a thought of its
    own, and its whole text is returned.
    """

    def __init__(self) -> None:
        self._thoughts: list[_Thought] = []
        self._offsets: dict[str, tuple[_Thought, int]] = {}

    @property
    def names(self) -> list[str]:
        """The names of all fields that have come, in the order of their first pieces."""
        return list(self._offsets)

    def feed(self, name: str, text: str, may_repeat: bool = False) -> str:
        """Return the part of `text` that no other field has sent yet. `text` is the next piece of
        the field `name`. If the field has sent the same text as another field so far, and differs
        from it in this piece, return the whole text of the field, because it is a thought of its
        own.

        `may_repeat`: True if the field may send text once more that it has sent already: LiteLLM
        sends the thought again, with its signature. A piece that equals the end of the field's text
        so far then adds nothing.
        """
        thought, offset = self._offsets.get(name) or (None, 0)
        begin = offset - len(text)
        if may_repeat and thought and begin >= 0 and thought.text(begin, len(text)) == text:
            return ""
        if thought is None or not thought.agrees_with(offset, text):
            text, offset = (thought.text(0, offset) if thought else "") + text, 0
            thought = next((each for each in self._thoughts if each.agrees_with(0, text)), None)
            if thought is None:
                thought = _Thought()
                self._thoughts.append(thought)
        self._offsets[name] = thought, offset + len(text)
        return thought.add(offset, text)


def thoughts_of(message: Mapping[str, object]) -> dict[str, str]:
    """Return reasoning field -> its text, for the fields of a message that have text. Text that
    repeats the text of an earlier field is left out, so that the text of a field may be empty.
    """
    merger = ReasoningMerger()
    return {
        name: merger.feed(name, thinking)
        for name in REASONING_FIELDS
        if (thinking := thinking_in(message.get(name)))
    }
