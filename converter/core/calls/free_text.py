"""The input of a call of type `custom`: a free text, written as an object with one string, `input`,
because every dialect has a field for an object.
"""

import json

from converter.core.calls.arguments import CUSTOM_INPUT
from converter.core.model.events import ToolCall

_BEGIN = f'{{"{CUSTOM_INPUT}": "'
_END = '"}'


class FreeText:
    """Feed the text; pieces of the object come out. The text has no end of its own: `close` adds
    the end of the object. `Arguments` has the same members; the faults of an object cannot occur
    here.
    """

    waiting = odd = mended = False
    unfit = ""
    wakes = None

    def __init__(self) -> None:
        self.begun = self.complete = self.has_text = False

    def feed(self, text: str) -> str:
        """Return the text as a piece of the object."""
        head = "" if self.begun else _BEGIN
        self.begun, self.has_text = True, self.has_text or bool(text)
        return head + json.dumps(text, ensure_ascii=False)[1:-1]

    def close(self, as_input: bool = False) -> str:  # noqa: ARG002
        """Return the end of the object."""
        self.complete = True
        return _END

    def release(self) -> str:
        """Return nothing: no piece waits."""
        return ""

    def forget(self) -> None:
        """Keep nothing, as ever."""


def text_of(piece: ToolCall) -> str:
    """Return the text in a piece of such an object, as `FreeText` wrote it."""
    inner = piece.arguments.removeprefix(_BEGIN) if piece.name else piece.arguments
    inner = inner.removesuffix(_END) if piece.ends else inner
    return str(json.loads(f'"{inner}"'))
