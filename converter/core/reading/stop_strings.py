"""Stop strings that act on the answer alone: a stage that cuts the answer at the first of them.

A server looks for stop strings in thoughts as well, so that an evaluation that sends `Question:`
with each request gets no answer. Some servers look for none (mlx-vlm 0.7.10, mlx-openai-server
1.8.1).
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from converter.core.model.events import Event, Finish, Text, TextKind
from converter.core.reading.findings import Findings

STOPS_LIMIT = 1_024
"""Characters of all stop strings of a request that are cut here; others act as the server has it.
Evaluations send some ten; each of their beginnings is looked for in each piece of text.
"""


class StopStrings:
    """Events of one choice in, events out, up to a string in the answer; calls have none. Blanks
    before the answer's first word are none of it. `included`: the string is told as well.
    """

    def __init__(self, strings: Sequence[str], included: bool, findings: Findings) -> None:
        ordered = sorted(strings, key=len, reverse=True)  # of two that begin alike the longer one
        self._pattern = re.compile("|".join(map(re.escape, ordered)))
        self._firsts = "".join(sorted({string[0] for string in strings}))
        self._begun = {string[:size] for string in strings for size in range(1, len(string))}
        self._longest = max(map(len, strings)) - 1
        self._included, self._findings = included, findings
        self._held: Text | None = None
        self._spoke = self._is_over = False

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that are decided."""
        if self._is_over:
            return []
        if isinstance(event, Text) and not event.refusal:
            return self._text(event)
        return [*self.close(), event]

    def close(self) -> Sequence[Event]:
        """Return the text that might have become a string."""
        held, self._held = self._held, None
        return [held] if held else []

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return words as they are. In those of the answer a string may begin."""
        if self._held or self._is_over:
            return None
        if kind is not Text:
            return kind, ""
        return (kind, self._firsts) if self._spoke else None

    def _text(self, event: Text) -> Sequence[Event]:
        text = (self._held.text if self._held else "") + event.text
        self._held = None
        for match in self._pattern.finditer(text):
            if self._spoke or text[: match.end()].strip():
                return self._cut(event, text, match)
        self._spoke = self._spoke or bool(text.strip())
        sizes = range(min(self._longest, len(text)), 0, -1)
        waits = next((size for size in sizes if text[-size:] in self._begun), 0)
        before, held = text[: len(text) - waits], text[len(text) - waits :]
        self._held = replace(event, text=held) if held else None
        return [replace(event, text=before)] if before else []

    def _cut(self, event: Text, text: str, match: re.Match[str]) -> Sequence[Event]:
        """Return the answer's end, and its finish. The rest of the reply is dropped."""
        self._is_over = self._findings.stopped = True
        before = text[: match.end() if self._included else match.start()]
        events = [replace(event, text=before)] if before else []
        return [*events, Finish("stop", match[0], event.choice)]
