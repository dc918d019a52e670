"""Write a transcript as text for a terminal, at once or while it grows. Roles are bold, the answer
is plain, and thinking is dim, with a bar before each line. The callers print the text, such as
`converter/extras/watch/terminal.py`.

Without colours the bar still sets thinking apart. Control characters and escape sequences in a
model's text are written as visible text.
"""

import os
from collections.abc import Iterable
from typing import TextIO

from converter.addon.transcript import facts as in_words
from converter.addon.transcript import shown
from converter.addon.transcript.accumulator import News
from converter.addon.transcript.turns import Facts, Field, Part, Raw, Transcript
from converter.core.model.conversation import TextBlock, ThinkingBlock
from converter.core.wire.printable import one_line, visible, without_base64, without_data

BOLD, DIM, RED, CYAN, PLAIN = "1", "2", "31", "36", ""
"""Styles of a text: parameters of the escape sequence `ESC [ ... m`; `PLAIN` needs none."""
_BAR = "│ "
"""The beginning of each line of a thought."""
_INDENT = "  "
"""The beginning of each line of a call's arguments or of a tool's result."""
_LINE_ENDS = "\r\n"
"""The characters that end a line."""
type _Styled = tuple[str, str]
"""A text, and the style in which it is printed, such as `DIM`."""


class TerminalWriter:
    """Turns new parts of a reply (`News`) into text for the terminal. Text and thinking are written
    as they come; every other part is written when it is complete, in lines of its own. `colour`:
    True to mark styles by escape sequences.
    """

    def __init__(self, colour: bool = False) -> None:
        self._colour = colour
        self._kind: type[Part] | None = None
        self._choice = 0
        self._printed = False  # True if some text of the current part has been printed
        # the last line ends of the current part's text, printed only if more text follows
        self._held = ""
        self._begun = False  # True if anything has been printed
        self._gap = False  # True if an empty line must be printed before the next part

    def feed(self, news: Iterable[News]) -> str:
        """Return the text to print for new parts and new text."""
        return "".join(map(self._news_text, news))

    def close(self, facts: Facts | None = None, beside: Iterable[Field] = ()) -> str:
        """Return the text that ends the reply: a line end if the last line has none, a line for
        each of its facts, and lines for the fields `beside`, which belong to no turn.
        """
        rows = in_words.fact_lines(facts or {})
        return self._end() + self.lines_of(rows) + self._part_lines(beside)

    def lines_of(self, rows: Iterable[tuple[str, str]]) -> str:
        """Return a line `label: value` for each row, a pair of label and value."""
        lines = [self._styled(one_line(f"{label}: {value}"), DIM) + "\n" for label, value in rows]
        gap = "\n" if lines and self._begun else ""
        self._begun = self._begun or bool(lines)
        return gap + "".join(lines)

    def role_line(self, label: str) -> str:
        """Return the bold line that begins a turn. `label`: its role, such as `assistant`."""
        head = self._end() + ("\n" if self._begun else "")
        self._begun, self._gap = True, False
        return head + self._styled(one_line(label), BOLD) + "\n"

    def progress_text(self, label: str, number: str) -> str:
        """Return the text that adds `number` to a line of numbers: ` 1,000` for the line
        `characters: 500 1,000`. For the first number, it also begins the line with `label`.
        """
        head = (
            "" if self._kind is Field else self._end() + self._pop_gap() + self._styled(label, DIM)
        )
        self._kind, self._printed = Field, True
        return f"{head} {self._styled(number, DIM)}"

    def _news_text(self, news: News) -> str:
        """Return the text to print for one new part, or for new text of the last part."""
        head = self.role_line(f"choice {news.choice + 1}") if news.choice != self._choice else ""
        self._choice = news.choice
        if isinstance(news.part, TextBlock | ThinkingBlock):
            return head + self._growing_text(news.part, news.fresh)
        return head + self._end() + self._pop_gap() + self._part_lines([news.part])

    def _part_lines(self, parts: Iterable[Part]) -> str:
        """Return the lines to print for complete parts."""
        rows = (row for part in parts for row in _styled_texts(part) if row[0])
        return "".join(self._styled(*row) + "\n" for row in rows)

    def _growing_text(self, part: TextBlock | ThinkingBlock, fresh: bool) -> str:
        """Return the text to print when text or a thought begins or goes on, with the lines that
        separate it from the part before. `part`: has only the new text. `fresh`: True if it begins
        a new part.
        """
        head = self._end() if fresh or self._kind is not type(part) else ""
        self._kind = type(part)
        text = self._held + part.text
        body = text.rstrip(_LINE_ENDS)
        self._held = text[len(body) :]
        if not self._printed:
            body = body.lstrip(_LINE_ENDS)
            note = part.note if isinstance(part, ThinkingBlock) else part.stood_in
            head += self._pop_gap() if body or note else ""
            body = f"({note}) {body}" if note else body
            self._held = self._held if body else ""
        shown_text = visible(without_data(body))
        if self._kind is ThinkingBlock:  # a bar before each line
            begin = "" if self._printed or not shown_text else _BAR
            shown_text = begin + shown_text.replace("\n", f"\n{_BAR}")
        self._printed = self._printed or bool(body)
        return head + self._styled(shown_text, DIM if self._kind is ThinkingBlock else PLAIN)

    def _pop_gap(self) -> str:
        """Return the empty line that separates the next part from the part before; empty if there
        is no part before.
        """
        gap, self._gap, self._begun = "\n" if self._gap else "", True, True
        return gap

    def _end(self) -> str:
        """End the current part, a thought or text; return a line end, empty if nothing of the part
        was printed.
        """
        printed, self._printed, self._kind, self._held = self._printed, False, None, ""
        return "\n" if printed else ""

    def _styled(self, text: str, style: str) -> str:
        """Return a text in a style; unchanged if the writer uses no colours."""
        return f"\x1b[{style}m{text}\x1b[0m" if self._colour and style and text else text


def shows_colours(file: TextIO) -> bool:
    """Return True if `file` is a terminal that shows colours, and the environment variable
    `NO_COLOR` is not set.
    """
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write(transcript: Transcript, more: Facts | None = None, *, colour: bool = False) -> str:
    """Return a whole transcript as text for a terminal. `more`: facts that were recorded while the
    reply came, such as its times. `colour`: True to mark styles by escape sequences.
    """
    writer = TerminalWriter(colour)
    settings = ((name, in_words.as_text(value)) for name, value in transcript.settings.items())
    out = [writer.lines_of(settings)]
    for turn in transcript.turns:
        out.append(writer.role_line(f"{turn.role} {turn.choice + 1}" if turn.choice else turn.role))
        out.append(writer.feed(map(News, turn.parts)))
    if transcript.rest:
        out.append(writer.role_line("unread"))
        out.append(writer.feed(News(Raw(rest)) for rest in transcript.rest))
    out.append(writer.close(in_words.merge_facts(transcript.facts, more), transcript.beside))
    return "".join(out)


def _styled_texts(part: Part) -> list[_Styled]:
    """Return the texts of a complete part, each with its style: a call or a result as its head in
    cyan (red if it failed), then its arguments or text without a style.
    """
    values = shown.part_json(part)
    kind, text, name = values["kind"], values["text"], values.get("name", "")
    match kind:
        case "call" | "result":
            failed = values.get("failed")
            about = "→" if kind == "call" else "←", "failed" if failed else "", name, values["id"]
            head = one_line(" ".join(filter(None, about)))
            body = visible(without_base64(text)).replace("\n", f"\n{_INDENT}")
            return [(head, RED if failed else CYAN), (_INDENT + body if text else "", PLAIN)]
        case "media":
            return [(one_line(f"[{text}]"), CYAN)]
        case "error":
            return [(visible(f"{f'error {name}'.rstrip()}: {text}"), RED)]
        case "field":
            return [(visible(f"{name}: {text}"), DIM)]
    return [(visible(text), PLAIN)]
