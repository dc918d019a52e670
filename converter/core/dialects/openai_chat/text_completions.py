"""Decoder of text completions. Their text is the model's text as it was generated, and is read as
the content of a chat completion.
"""

from converter.core.dialects.openai_chat.decoder import OpenAIDecoder
from converter.core.model.events import Event
from converter.core.wire.json_text import as_object
from converter.core.wire.sse import Frame

_KINDS = {True: "chat.completion", False: "chat.completion.chunk"}


class TextCompletionDecoder(OpenAIDecoder):
    """Takes the frames of a text completion and returns events."""

    _begun = False

    def _read(self, parsed: object, frame: Frame) -> list[Event]:
        """Return the frame's events. The first frame gets a role, as in a chat completion."""
        body, choices = as_object(parsed), as_object(parsed).get("choices")
        if not isinstance(choices, list):
            return super()._read(parsed, frame)
        head = {} if self._begun else {"role": "assistant"}
        self._begun = self._begun or bool(choices)
        chat = [dict(as_object(choice)) for choice in choices]
        for choice in chat:
            inner = {**head, "content": choice.pop("text", None) or ""}
            choice["message" if frame.is_body else "delta"] = inner
        return super()._read({**body, "object": _KINDS[frame.is_body], "choices": chat}, frame)
