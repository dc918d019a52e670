"""`StopStrings`, a stage, ends the reply at the first stop string in the answer, in place of the
server.

Servers also end a reply at a stop string in a thought: if an evaluation sends the stop string
`Question:` and the model thinks this word, the reply has no answer. Other servers ignore stop
strings (mlx-vlm 0.7.10, mlx-openai-server 1.8.1).
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from converter.core.model.events import Event, Finish, Text, TextKind
from converter.core.reading.findings import Findings

STOPS_LIMIT = 1_024
"""The most characters that all stop strings of a request may have together. If they have more, the
server must look for them, because this stage compares each piece of text with all beginnings of the
strings. Evaluations send about ten strings.
"""


class StopStrings:
    """The stage, for one choice: it drops all events behind the first stop string in the answer.

    Stop strings in thoughts, calls and refusals do not count, nor does a stop string of blanks
    before the answer's first word. `included`: True if the stop string itself stays in the answer.
    """

    def __init__(self, strings: Sequence[str], included: bool, findings: Findings) -> None:
        ordered = sorted(strings, key=len, reverse=True)  # so that `re` tries the longest first
        self._pattern = re.compile("|".join(map(re.escape, ordered)))
        self._firsts = "".join(sorted({string[0] for string in strings}))
        self._begun = {string[:size] for string in strings for size in range(1, len(string))}
        self._longest = max(map(len, strings)) - 1
        self._included, self._findings = included, findings
        self._held: Text | None = None
        self._has_text = self._is_over = False

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the event, with the held text before it. If its text has a stop string, return the
        text up to this string, and behind it a finish; later events are dropped. If the text ends
        with the beginning of a stop string, this end is held until the next event.
        """
        if self._is_over:
            return []
        if not isinstance(event, Text) or event.refusal:
            return [*self.close(), event]
        text = (self._held.text if self._held else "") + event.text
        self._held = None
        for match in self._pattern.finditer(text):
            if self._has_text or text[: match.end()].strip():
                self._is_over = self._findings.stopped = True
                before = text[: match.end() if self._included else match.start()]
                events = [replace(event, text=before)] if before else []
                return [*events, Finish("stop", match[0], event.choice)]
        self._has_text = self._has_text or bool(text.strip())
        sizes = range(min(self._longest, len(text)), 0, -1)
        waits = next((size for size in sizes if text[-size:] in self._begun), 0)
        before, held = text[: len(text) - waits], text[len(text) - waits :]
        self._held = replace(event, text=held) if held else None
        return [replace(event, text=before)] if before else []

    def close(self) -> Sequence[Event]:
        """Return the held text. It is no stop string, because the rest of one has not come."""
        held, self._held = self._held, None
        return [held] if held else []

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `kind`, if text of this kind may now skip this stage on the fast path
        (`Stage.plain`), and the characters that such text must not have: in the answer, the first
        characters of stop strings. Return `None` if it must be fed: while text is held, behind a
        stop string, and, in the answer, before its first word.
        """
        if self._held or self._is_over:
            return None
        if kind is not Text:
            return kind, ""
        return (kind, self._firsts) if self._has_text else None
