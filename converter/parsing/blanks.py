"""Blanks that touch a mark: a stage that leaves them out of the answer.

Models write blank lines between a thought and the answer; a client that prints the answer shows
them. An empty thought, as Qwen3 writes one when it is not to think, leaves its blank lines at the
reply's head, so they go there as well. What stands in a line with words stays, so that code keeps
its indentation.
"""

from dataclasses import replace

from converter.events import Event, Finish, Text, Thinking, ThinkingEnd, ToolCall

HELD_LIMIT = 4096
"""Characters of blanks that are held until something follows; more of them pass."""


class BlanksTrimmer:
    """Events of one choice in, events out: text loses the blanks before and behind thinking, and
    those at the reply's head.
    """

    def __init__(self) -> None:
        self._held: list[Text] = []
        self._behind_thought = True  # or at the head, where an empty one stood

    def feed(self, event: Event) -> list[Event]:
        """Return what goes out now: blanks wait for what follows them."""
        match event:
            case Text() if not event.refusal:
                return self._hear(event)
            case Thinking():
                self._held = []
                self._behind_thought = True
                return [event]
            case ThinkingEnd():
                return [event]
            case ToolCall() | Finish() if self._behind_thought:
                self._held = []  # nothing but blanks stands between the thought and it
                return [event]
            case _:
                return [*self.close(), event]

    def close(self) -> list[Event]:
        """Return what is held: no thought follows."""
        held, self._held = self._held, []
        return [] if self._behind_thought else list(held)

    def plain(self, kind: type[Text] | type[Thinking]) -> tuple[type[Thinking], str] | None:
        """Return thinking alone: any text may end in blanks that wait."""
        return (
            (Thinking, "") if self._behind_thought and not self._held and kind is Thinking else None
        )

    def _hear(self, event: Text) -> list[Event]:
        self._held.append(event)
        if sum(len(text.text) for text in self._held) > HELD_LIMIT:
            return self._release(self._joined())
        said = self._joined().text
        if not said.strip():
            return []
        words = said.rstrip()
        text = self._joined()
        out = self._release(replace(text, text=words))
        self._held = [replace(text, text=said[len(words) :])] if len(words) < len(said) else []
        return out

    def _joined(self) -> Text:
        return replace(self._held[-1], text="".join(text.text for text in self._held))

    def _release(self, text: Text) -> list[Event]:
        behind, self._behind_thought, self._held = self._behind_thought, False, []
        left = replace(text, text=_without_blank_lines(text.text)) if behind else text
        return [left] if left.text else []


def _without_blank_lines(text: str) -> str:
    """Return the text from the line on in which its first word stands."""
    words = text.lstrip()
    blanks = text[: len(text) - len(words)]
    line = max(blanks.rfind("\n"), blanks.rfind("\r"))
    return blanks[line + 1 :] + words if line >= 0 else words
