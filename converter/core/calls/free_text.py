"""`FreeText` puts the input of a `custom` tool, which is free text and no JSON, into a JSON object.
`text_of` takes the text out again, for the encoder of chat completions.

The object has one string, `{"input": "text"}`, because every dialect has a field for an object.
"""

import json

from converter.core.calls.arguments import CUSTOM_INPUT
from converter.core.model.events import ToolCall

_BEGIN = f'{{"{CUSTOM_INPUT}": "'
"""The JSON before the free text."""
_END = '"}'
"""The JSON behind the free text."""


class FreeText:
    """Takes the free text in pieces, and returns pieces of the object `{"input": "text"}`.

    It has the members of `Arguments`, which it replaces; but no text is unfit. The object is
    complete only after `close`, because free text itself does not show its end.
    """

    # `Arguments` has these members too. Free text is never held, never unfit and never mended.
    waiting = has_unfit = mended = False
    unfit = ""
    """Text that breaks the call (see `Arguments.unfit`). There is none, because any text is fit."""
    not_plain = None
    """None, because `feed` must read all text (see `Arguments.not_plain`)."""

    def __init__(self) -> None:
        self.begun = self.complete = self.has_text = False

    def feed(self, text: str) -> str:
        """Take the next piece of text; return the piece of the object that holds it."""
        head = "" if self.begun else _BEGIN
        self.begun, self.has_text = True, self.has_text or bool(text)
        return head + json.dumps(text, ensure_ascii=False)[1:-1]

    def close(self, as_input: bool = False) -> str:  # noqa: ARG002
        """End the object; return its last characters. `as_input` has no effect: `Arguments.close`
        has this parameter too.
        """
        self.complete = True
        return _END

    def release(self) -> str:
        """Return an empty text, because no text is held."""
        return ""

    def forget(self) -> None:
        """Do nothing, because no text is kept."""


def text_of(piece: ToolCall) -> str:
    """Return the free text in a piece of a call whose arguments `FreeText` has written."""
    inner = piece.arguments.removeprefix(_BEGIN) if piece.name else piece.arguments
    inner = inner.removesuffix(_END) if piece.ends else inner
    return str(json.loads(f'"{inner}"'))
