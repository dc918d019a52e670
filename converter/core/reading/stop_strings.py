"""A stage that cuts the answer at the first stop string, in place of the server.

A server also looks for stop strings in thoughts. So an evaluation that sends the stop string
`Question:` with each request gets no answer if the thought has this word. Other servers ignore stop
strings (mlx-vlm 0.7.10, mlx-openai-server 1.8.1).
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from converter.core.model.events import Event, Finish, Text, TextKind
from converter.core.reading.findings import Findings

STOPS_LIMIT = 1_024
"""If the stop strings of a request have more characters than this together, they go to the server
instead. Evaluations send about ten strings. The limit is there because each piece of text is
compared with all beginnings of the strings.
"""


class StopStrings:
    """The stage, for one choice: events up to the first stop string in the answer.

    Stop strings in calls do not count, and neither do strings in the blanks before the answer's
    first word. `included`: the string itself stays in the answer.
    """

    def __init__(self, strings: Sequence[str], included: bool, findings: Findings) -> None:
        ordered = sorted(strings, key=len, reverse=True)  # so that `re` finds the longest string
        self._pattern = re.compile("|".join(map(re.escape, ordered)))
        self._firsts = "".join(sorted({string[0] for string in strings}))
        self._begun = {string[:size] for string in strings for size in range(1, len(string))}
        self._longest = max(map(len, strings)) - 1
        self._included, self._findings = included, findings
        self._held: Text | None = None
        self._has_text = self._is_over = False

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the event up to a stop string. A possible beginning of a string, at the end of the
        text, waits.
        """
        if self._is_over:
            return []
        if isinstance(event, Text) and not event.refusal:
            return self._text(event)
        return [*self.close(), event]

    def close(self) -> Sequence[Event]:
        """Return the text that waits."""
        held, self._held = self._held, None
        return [held] if held else []

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Pass plain text on, if nothing waits; see `Stage.plain`. Text of the answer with the
        first character of a stop string is not plain.
        """
        if self._held or self._is_over:
            return None
        if kind is not Text:
            return kind, ""
        return (kind, self._firsts) if self._has_text else None

    def _text(self, event: Text) -> Sequence[Event]:
        text = (self._held.text if self._held else "") + event.text
        self._held = None
        for match in self._pattern.finditer(text):
            if self._has_text or text[: match.end()].strip():
                return self._cut(event, text, match)
        self._has_text = self._has_text or bool(text.strip())
        sizes = range(min(self._longest, len(text)), 0, -1)
        waits = next((size for size in sizes if text[-size:] in self._begun), 0)
        before, held = text[: len(text) - waits], text[len(text) - waits :]
        self._held = replace(event, text=held) if held else None
        return [replace(event, text=before)] if before else []

    def _cut(self, event: Text, text: str, match: re.Match[str]) -> Sequence[Event]:
        """Return the last text of the answer, and a finish. The rest of the reply is dropped."""
        self._is_over = self._findings.stopped = True
        before = text[: match.end() if self._included else match.start()]
        events = [replace(event, text=before)] if before else []
        return [*events, Finish("stop", match[0], event.choice)]
