"""An answer that a server sends as thinking, though the request turns thinking off: a stage that
makes it an answer again.

SGLang 0.5.23 with `--reasoning-parser deepseek-r1`, and vLLM 0.32 with `deepseek_r1` in whole
replies, take a reply without `</think>` for one long thought.
"""

from collections.abc import Sequence

from converter.core.model.events import Event, Finish, Text, Thinking, ThinkingEnd, WordKind
from converter.core.reading.findings import Findings

LONGEST = 1 << 18
"""Characters that wait. A thought may be longer than that, an answer hardly."""


class UnaskedThought:
    """Events of one choice in, events out, before tags are read. The server's own thinking waits
    for what tells: it is the answer where the model stops without another word or a call, else a
    thought.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._held: list[Event] = []
        self._size = 0
        self._waits = True

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that are decided."""
        if not self._waits:
            return [event]
        match event:
            case Thinking() if self._size <= LONGEST:
                self._size += len(event.text)
                self._held.append(event)
                return []
            case ThinkingEnd() | Text(refusal=False, own=None) if _says_nothing(event):
                if self._held:
                    self._held.append(event)
                    return []
                return [event]
            case Finish(reason="stop") if self._held:
                self._findings.answers_as_thinking = True
                held = [
                    Text(each.text, each.choice) if isinstance(each, Thinking) else each
                    for each in self._decided()
                    if not isinstance(each, ThinkingEnd)
                ]
                return [*held, event]
            case _:
                return [*self._decided(), event]

    def close(self) -> Sequence[Event]:
        """Return the thinking that waits: without a finish nobody knows."""
        return self._decided() if self._held else []

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return words as they are, as soon as nothing waits any more."""
        return None if self._waits else (kind, "")

    def _decided(self) -> list[Event]:
        held, self._held, self._waits = self._held, [], False
        return held


def _says_nothing(event: Event) -> bool:
    return not isinstance(event, Text) or not event.text.strip()
