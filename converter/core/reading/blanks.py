"""`BlanksTrimmer`, a stage, removes from the answer the blanks before and behind thoughts.

Models write blank lines between a thought and the answer, and a client that prints the answer would
show them. Blank lines at the beginning of a reply are removed too, because an empty thought may
have stood before them: Qwen3 writes an empty thought if thinking is off. Blanks between a line end
and the first word stay, so that code keeps its indentation: `</think>\\n\\n  x = 1` becomes
`  x = 1`.
"""

import re
from dataclasses import replace

from converter.core.model.events import (
    Event,
    Finish,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
)
from converter.core.wire.bounds import BLANKS_LIMIT

_BEFORE_TEXT = re.compile(r"\A(?:\s*[\r\n]|\s+)")
"""The blanks that are removed from the beginning of an answer: all blank lines before the line with
the first word; or, if the answer has no line end before this word, all blanks before it.
"""


class BlanksTrimmer:
    """The stage, for one choice: it removes the blanks (at most `BLANKS_LIMIT`) with which text
    ends before thinking, and those with which text begins behind thinking or at the beginning of
    the reply.
    """

    def __init__(self) -> None:
        self._held: Text | None = None
        # True if no text but blanks has come since the last thought, or since the reply's
        # beginning.
        self._behind_thought = True

    def feed(self, event: Event) -> list[Event]:
        """Return the event, and before it the held blanks as text, unless they must be removed.
        Text loses the blanks that must be removed; if nothing is left, no event is returned. Blanks
        at the end of text are held until the next event that is not a `ThinkingEnd`.
        """
        match event:
            case Text(refusal=False):
                whole = (self._held.text if self._held else "") + event.text
                text = whole[: max(len(whole.rstrip()), len(whole) - BLANKS_LIMIT)]
                blanks = whole[len(text) :]
                self._held = replace(event, text=blanks) if blanks else None
                if not text or (self._behind_thought and text.isspace()):
                    return []
                left = _BEFORE_TEXT.sub("", text) if self._behind_thought else text
                self._behind_thought = False
                return [replace(event, text=left)] if left else []
            case Thinking():
                self._held = None
                self._behind_thought = True
                return [event]
            case ThinkingEnd():
                return [event]
            case ToolCall() | Finish() if self._behind_thought:
                self._held = None  # blanks between a thought and a call or finish are dropped
                return [event]
            case _:
                return [*self.close(), event]

    def close(self) -> list[Event]:
        """Return the held blanks as text. Return nothing if no answer has come since the last
        thought, because blanks behind a thought are removed.
        """
        held, self._held = self._held, None
        return [held] if held and not self._behind_thought else []

    def plain(self, kind: TextKind) -> tuple[type[Thinking], str] | None:
        """Return `Thinking` and no characters if thinking may now skip this stage on the fast path,
        whatever characters it has (`Stage.plain`): no blanks are held, and no answer has come since
        the last thought. Else return `None`. For other kinds, return `None` always: blanks at the
        end of text must be held, and a call must come behind them.
        """
        passes = self._behind_thought and self._held is None and kind is Thinking
        return (Thinking, "") if passes else None
