"""`TurnEnd`, a stage, removes the model's end-of-turn token (`<|im_end|>`) from the end of an
answer, and from text before a tool call.

vLLM 0.33 can be set to leave special tokens in the text, so that calls can be read from the text.
The token with which the model ends its turn is then in the text too.
"""

import re
from dataclasses import replace

from converter.core.model.events import Event, Finish, Text, TextKind, ToolCall

TOKENS = (
    *("<|im_end|>", "<|endoftext|>"),  # Qwen and others
    *("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"),  # Llama 3
    *("<end_of_turn>", "<turn|>"),  # Gemma
    *("<|end|>", "<|return|>", "<｜end▁of▁sentence｜>"),  # Phi, gpt-oss, DeepSeek
    *("<|END_OF_TURN_TOKEN|>", "<|END_RESPONSE|>", "<|END_TEXT|>"),  # Cohere
    *("<|close|>response<|sep|>", "<|close|>message<|sep|>", "<|end_of_msg|>"),  # Kimi-K3
    *("<|endofturn|>", "<|end_of_turn|>", "<|eot|>"),
)
"""The tokens with which models end their turn. The comments name models that write them."""
_WHOLE = "|".join(map(re.escape, TOKENS))
"""The pattern of a complete end-of-turn token."""
_PARTS = "|".join(
    sorted({re.escape(token[:length]) for token in TOKENS for length in range(1, len(token))})
)
"""The pattern of an incomplete end-of-turn token."""
_TAIL = re.compile(rf"(?:(?:{_WHOLE})\s*)*(?:{_WHOLE}|{_PARTS})?\s*\Z")
"""The pattern of end-of-turn tokens at the end of a text. The last one may be incomplete."""
_TOKENS = re.compile(rf"(?:(?:{_WHOLE})\s*)+")
"""The pattern of one or more end-of-turn tokens, with blanks behind each."""
_SEARCHED = 200
"""How many characters at the end of a text are searched for end-of-turn tokens: enough for several
tokens with blanks between them.
"""


class TurnEnd:
    """The stage, for one choice. End-of-turn tokens at the end of a text are held until the next
    event: they are dropped if the choice ends or a tool call follows; else they stay text. An
    incomplete token stays text in any case.
    """

    def __init__(self) -> None:
        self._held: Text | None = None

    def feed(self, event: Event) -> list[Event]:
        """Return the event, and before it the held text, if its tokens are not dropped (see the
        class). End-of-turn tokens, or the beginning of a token, at the end of the event's text are
        held until the next event.
        """
        if isinstance(event, (Finish, ToolCall)):
            return [*self.close(), event]
        if not isinstance(event, Text) or event.refusal:
            return [*self._release_held(), event]
        held, self._held = self._held, None
        if held is None and "<" not in event.text:
            return [event]
        text = (held.text if held else "") + event.text
        head = max(0, len(text) - _SEARCHED)
        match = _TAIL.search(text, text.find("<", head)) if "<" in text[head:] else None
        begin = len(text) if match is None or match[0].isspace() else match.start()
        rest = text[begin:]
        self._held = replace(event, text=rest) if rest else None
        return [replace(event, text=text[:begin])] if begin else []

    def close(self) -> list[Event]:
        """Drop the held text if it consists of complete tokens; else return it."""
        if self._held is not None and _TOKENS.fullmatch(self._held.text):
            self._held = None
        return self._release_held()

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `kind`, because text of this kind may skip this stage on the fast path
        (`Stage.plain`), and the characters that such text must not have: in the answer `<`, with
        which all tokens begin. Return `None` while text is held.
        """
        return None if self._held else (kind, "<" if kind is Text else "")

    def _release_held(self) -> list[Event]:
        """Return the held text as text of the answer."""
        held, self._held = self._held, None
        return [held] if held else []
