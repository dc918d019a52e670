"""Turns text completions (`/v1/completions`) into events. Their text is the model's text as it was
generated, marks included, and is read as the content of a chat completion.
"""

from converter.core.dialects.openai_chat.decoder import OpenAIDecoder
from converter.core.model.events import Event
from converter.core.wire.json_text import as_object
from converter.core.wire.sse import Frame

_WHOLE, _CHUNK = ("chat.completion", "message"), ("chat.completion.chunk", "delta")
"""For a whole chat completion and for a frame of one: the value of `object`, and the field of a
choice that holds the text, in a message or in a delta.
"""


class TextCompletionDecoder(OpenAIDecoder):
    """Takes the frames of a text completion and returns events."""

    _has_begun = False
    """True if a frame with a choice has come."""

    def _read(self, parsed: object, frame: Frame) -> list[Event]:
        """Return the events of the frame, which is turned into a frame of a chat completion and
        then read; a frame without `choices` is read as it is. The first frame with a choice gets a
        role, as in a chat completion.
        """
        body, choices = as_object(parsed), as_object(parsed).get("choices")
        if not isinstance(choices, list):
            return super()._read(parsed, frame)
        head = {} if self._has_begun else {"role": "assistant"}
        self._has_begun = self._has_begun or bool(choices)
        kind, key = _WHOLE if frame.is_body else _CHUNK
        chat = [dict(as_object(choice)) for choice in choices]
        for choice in chat:
            choice[key] = {**head, "content": choice.pop("text", None) or ""}
        return super()._read({**body, "object": kind, "choices": chat}, frame)
