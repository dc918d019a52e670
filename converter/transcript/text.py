"""A transcript as plain text for a content view. It is always valid YAML, for mitmproxy's
highlighter of that name.

Thinking is comments, which every palette of mitmproxy shows dim, with a bar at each line, because
mitmweb shows no colours; words stand in block scalars. No words of a model can leave them, whatever
they look like, and both are read in linear time: invalid YAML would cost the colours of all that
follows, and a lone `{` seconds of highlighting (5 MB of JSON lines: 90 s, mitmproxy_rs 0.12).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from converter.observe.printable import (
    compact,
    fits,
    laid_out,
    object_of,
    one_line,
    trimmed,
    visible,
    without_base64,
    without_data,
)
from converter.transcript import facts as in_words
from converter.transcript.blocks import json_of
from converter.transcript.turns import (
    CallPart,
    Facts,
    FailurePart,
    Field,
    Media,
    Part,
    Raw,
    ResultPart,
    ShownTurn,
    TextPart,
    ThinkingPart,
    Transcript,
)

HIGHLIGHT: Final = "yaml"
"""The highlighter of mitmproxy's that this text is made for."""
_PLAIN = re.compile(r"[A-Za-z0-9/][\w./@+,()%-]*(?:[ :][\w./@+,(){}%-]+)*", re.ASCII)
"""Values that need no quotes: none that YAML reads as anything else than one scalar."""
_KEY = re.compile(r"[A-Za-z_][\w./-]{0,99}", re.ASCII)
_LABEL = re.compile(r"[A-Za-z_][\w./-]*+(?: [\w./-]++)*", re.ASCII)
_LIKE_JSON = re.compile(r"true|false|null|-?\d[\d.eE+-]*", re.ASCII)
"""Words that would read as a number or the like."""
_LONGEST_KEY = 200
"""Characters; YAML has keys of 1,024 at most."""
_BLOCK = "  "
_LINE = re.compile(r"^(?=[^\n])", re.MULTILINE)


def write(transcript: Transcript, more: Facts | None = None) -> str:
    """Return the text. `more`: facts known from elsewhere, a reply's times; they count for more
    than its own.
    """
    parts = [_mapping(transcript.asked.items())]
    parts += map(_turn, transcript.turns)
    facts = _mapping(in_words.lines(in_words.together(transcript.facts, more)))
    parts += [facts + "".join(map(_field, transcript.beside))]
    parts += [_scalar("rest", without_base64(visible(laid_out(rest)))) for rest in transcript.rest]
    return "\n".join(part for part in parts if part)


def _mapping(rows: Iterable[tuple[str, object]]) -> str:
    return "".join(f"{_key(name)}: {_one_line(value)}\n" for name, value in rows)


def _one_line(value: object) -> str:
    """Return a value in one line: words, and all else as the JSON that YAML reads as well."""
    return _value(value) if isinstance(value, str) else visible(without_base64(compact(value)))


def _row(name: str, value: object) -> str:
    """Return a value in a line, or in a block where it does not fit in one."""
    if fits(value):
        return f"{_key(name)}: {_one_line(value)}\n"
    return _scalar(name, visible(without_base64(json_of(value))))


def _key(name: str) -> str:
    return name if _is_label(name) else _quoted(one_line(name[:_LONGEST_KEY]))


def _value(value: str) -> str:
    shown = one_line(value)
    return shown if _PLAIN.fullmatch(shown) else _quoted(shown)


def _quoted(line: str) -> str:
    return "'" + line.replace("'", "''") + "'"


def _turn(turn: ShownTurn) -> str:
    label = turn.role if not turn.choice else f"{turn.role} {turn.choice + 1}"
    parts = [part for part in turn.parts if not isinstance(part, TextPart) or part.text.strip()]
    match parts:
        case [TextPart(place="") as only] if turn.role not in ("assistant", "model"):
            return _scalar(label, visible(without_data(only.text)))
        case []:
            return f"{_key(label)}:\n"
        case _:
            return f"{_key(label)}:\n" + _prefixed(
                "".join(_PARTS[type(part)](part) for part in parts), _BLOCK
            )


def _prefixed(text: str, prefix: str) -> str:
    """Return the text with its lines prefixed, blank ones left blank; it ends with a line end."""
    body = text.removesuffix("\n")
    return _LINE.sub(prefix, body) + "\n"


def _scalar(name: str, text: str) -> str:
    """Return a key whose value is the text, in a block; `2` where the text's own blanks would pass
    for the block's.
    """
    body = trimmed(text)
    if not body.strip():
        return f"{_key(name)}: {_quoted(one_line(body))}\n"
    return f"{_key(name)}: |{'2' if body[0].isspace() else ''}\n{_prefixed(body, _BLOCK)}"


def _scalar_of(name: str, *about: str, text: str) -> str:
    """Return the same, with other facts in the key, or above it, because the highlighter knows no
    comment behind a block's `|`.
    """
    known = [word for word in about if word]
    if all(map(_KEY.fullmatch, known)):
        return _scalar(" ".join([name, *known]), text)
    return f"# {one_line(' '.join(known))}\n" + _scalar(name, text)


def _thinking(part: ThinkingPart) -> str:
    note = f"  # {one_line(part.note)}" if part.note else ""
    text = visible(trimmed(part.text))
    lines = text.split("\n") if text else []
    return f"thinking:{note}\n" + "".join(f"{_BLOCK}#│ {line}".rstrip() + "\n" for line in lines)


def _tool_call(part: CallPart) -> str:
    given = object_of(part.arguments)
    if not given or not _KEY.fullmatch(part.name) or not all(map(_is_label, given)):
        return _scalar_of(
            "call", part.name, part.note, text=visible(without_base64(laid_out(part.arguments)))
        )
    note = f"  # {one_line(part.note)}" if part.note else ""
    return f"call {part.name}:{note}\n" + _prefixed("".join(map(_argument, given.items())), _BLOCK)


def _is_label(name: str) -> bool:
    return bool(_LABEL.fullmatch(name)) and len(name) <= _LONGEST_KEY


def _argument(given: tuple[str, object]) -> str:
    """Return a call's argument: words as they are, line by line; quoted where they would pass for
    something else.
    """
    name, value = given
    if isinstance(value, str) and (_LIKE_JSON.fullmatch(value) or not value.strip()):
        return f"{_key(name)}: {_quoted(one_line(value))}\n"
    return _row(name, value)


def _field(part: Field) -> str:
    if len(part.name) <= _LONGEST_KEY:
        return _row(part.name, part.value)
    return _scalar("field", visible(without_base64(f"{part.name}: {json_of(part.value)}")))


def _tool_result(part: ResultPart) -> str:
    kind, text = "failed" if part.error else "result", visible(without_data(part.text))
    return _scalar_of(kind, part.name, part.id, text=text)


_PARTS: Mapping[type[Part], Callable[[Any], str]] = {
    ThinkingPart: _thinking,
    TextPart: lambda part: _scalar(part.place or "text", visible(without_data(part.text))),
    CallPart: _tool_call,
    ResultPart: _tool_result,
    Media: lambda part: f"{_key(part.kind)}: {_value(part.words)}\n",
    Field: _field,
    FailurePart: lambda part: _scalar_of("error", part.kind, text=visible(part.message)),
    Raw: lambda part: _scalar("unread", visible(without_base64(part.text))),
}
