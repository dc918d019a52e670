"""Write a transcript as plain text for a content view of mitmproxy. The text is always valid YAML,
so that mitmproxy's highlighter colours it.

Thinking is written as comments, which every palette of mitmproxy shows dim; each line has a bar,
because mitmweb shows no colours. Text is written as block scalars. A model's text cannot end a
comment or a block scalar, and both are highlighted in linear time. After invalid YAML all later
lines would lose their colours, and an unclosed `{` would take seconds to highlight (5 MB of JSON
lines: 90 s, mitmproxy_rs 0.12).
"""

import re
from collections.abc import Iterable
from typing import Final

from converter.addon.transcript import facts as in_words
from converter.addon.transcript import shown
from converter.addon.transcript.turns import Facts, Field, Part, Raw, ShownTurn, Transcript
from converter.core.model.conversation import TextBlock, ToolUse
from converter.core.wire.printable import (
    laid_out,
    object_of,
    one_line,
    trimmed,
    visible,
    without_data,
)

HIGHLIGHT: Final = "yaml"
"""The name of the syntax by which mitmproxy highlights the text that `write` returns."""
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9/][\w./@+,()%-]*(?:[ :][\w./@+,(){}%-]+)*", re.ASCII)
"""Matches a value that needs no quotes in YAML."""
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w./-]*+(?: [\w./-]++)*", re.ASCII)
"""Matches a key that needs no quotes in YAML."""
_LONGEST_ROW = 400
"""The most characters of a field's value that is written on the same line as the field's key."""
_LONGEST_KEY = 200
"""The most characters of a name that become a YAML key; the rest is cut off. YAML allows 1,024."""
_INSET = "  "
"""The indent of the lines under a key."""
_LINE_START = re.compile(r"^(?=[^\n])", re.MULTILINE)
"""Finds the beginning of each line that is not empty, so that `_prefix_lines` can insert a prefix
there.
"""


def write(transcript: Transcript, more: Facts | None = None) -> str:
    """Return a transcript as YAML text. `more`: facts that were recorded while the reply came, such
    as its times.
    """
    settings = ((name, in_words.as_text(value)) for name, value in transcript.settings.items())
    facts = _yaml_mapping(in_words.fact_lines(in_words.merge_facts(transcript.facts, more)))
    parts = [_yaml_mapping(settings), *map(_yaml_turn, transcript.turns)]
    parts += [facts + "".join(map(_yaml_part, transcript.beside))]
    unread = (visible(shown.part_json(Raw(rest))["text"]) for rest in transcript.rest)
    parts += [_scalar("rest", text) for text in unread]
    return "\n".join(filter(None, parts))


def _yaml_mapping(rows: Iterable[tuple[str, str]]) -> str:
    """Return rows of a name and a text as lines `name: text`."""
    return "".join(f"{_yaml_key(name)}: {_yaml_value(value)}\n" for name, value in rows)


def _yaml_key(name: str) -> str:
    """Return a name as a YAML key: shortened, and quoted if needed."""
    is_plain = _PLAIN_KEY.fullmatch(name) and len(name) <= _LONGEST_KEY
    return name if is_plain else _quote(one_line(name[:_LONGEST_KEY]))


def _yaml_value(text: str) -> str:
    """Return a text as a YAML value on one line, quoted if needed: `a: b` -> `'a: b'`. JSON is not
    quoted, because JSON is YAML.
    """
    line = one_line(text)
    return line if _PLAIN_VALUE.fullmatch(line) or laid_out(line) != line else _quote(line)


def _quote(line: str) -> str:
    """Return a line as a YAML string in single quotes."""
    return "'" + line.replace("'", "''") + "'"


def _yaml_turn(turn: ShownTurn) -> str:
    """Return a turn as YAML: a key with the turn's role (`assistant:`), and the turn's parts as its
    value, without texts of blanks alone.
    """
    label = turn.role if not turn.choice else f"{turn.role} {turn.choice + 1}"
    parts = [part for part in turn.parts if not isinstance(part, TextBlock) or part.text.strip()]
    match parts:
        case [TextBlock(stood_in="") as only] if turn.role not in ("assistant", "model"):
            return _scalar(label, visible(without_data(only.text)))
        case []:
            return f"{_yaml_key(label)}:\n"
        case _:
            return f"{_yaml_key(label)}:\n" + _prefix_lines("".join(map(_yaml_part, parts)), _INSET)


def _prefix_lines(text: str, prefix: str) -> str:
    """Return the text with `prefix` before each line that is not empty. It ends with a line end."""
    body = text.removesuffix("\n")
    return _LINE_START.sub(prefix, body) + "\n"


def _scalar(name: str, text: str) -> str:
    """Return the key `name` with the text as a YAML block scalar: `name: |`, then indented lines.
    If the text begins with a blank, it is `name: |2`, because YAML would else count the blank as a
    part of the indent. A text of blanks is quoted on the line of the key.
    """
    body = trimmed(text)
    if not body.strip():
        return f"{_yaml_key(name)}: {_quote(one_line(body))}\n"
    return f"{_yaml_key(name)}: |{'2' if body[0].isspace() else ''}\n{_prefix_lines(body, _INSET)}"


def _yaml_part(part: Part) -> str:
    """Return a part as YAML lines."""
    if isinstance(part, ToolUse) and (arguments := object_of(part.arguments)):
        rows = "".join(_yaml_part(Field(name, value)) for name, value in arguments.items())
        note = _yaml_comment(shown.call_note(part))
        return f"{_yaml_key(_join('call', part.name))}:{note}\n{_prefix_lines(rows, _INSET)}"
    values = shown.part_json(part)
    kind, text, name = values["kind"], visible(without_data(values["text"])), values.get("name", "")
    if kind == "thinking":
        lines = trimmed(text).split("\n") if trimmed(text) else []
        barred = (f"{_INSET}#│ {line}".rstrip() + "\n" for line in lines)
        return f"thinking:{_yaml_comment(values['note'])}\n" + "".join(barred)
    if kind == "media":
        name, _, text = text.partition(" ")
    if kind == "media" or (kind == "field" and "\n" not in text and len(text) <= _LONGEST_ROW):
        return _yaml_mapping([(name, text)])
    if kind in ("field", "text"):
        return _scalar(name or values.get("note") or kind, text)
    label = "failed" if values.get("failed") else "unread" if kind == "raw" else kind
    return _scalar(_join(label, name, values.get("id", "")), text)


def _join(*parts: str) -> str:
    """Return the texts that are not empty, with a blank between two of them."""
    return " ".join(filter(None, parts))


def _yaml_comment(text: str) -> str:
    """Return a text as a YAML comment, to be appended to a line; empty if the text is empty."""
    return f"  # {one_line(text)}" if text else ""
