"""A transcript as Markdown, thinking folded. HTML in it is never interpreted, and nothing in it can
end the block it stands in.

Fenced code in model text is fenced anew, with a fence that the code cannot close; all other text
has its `<`, `&` and pictures escaped. In a code span these would show as `&lt;`, so a span that
holds any becomes a `code` element: should a renderer see the span's ends elsewhere, it is still
nothing but escaped text.
"""

import re
from collections.abc import Iterator
from functools import singledispatch

from converter.observe.printable import (
    fits,
    in_json,
    laid_out,
    one_line,
    trimmed,
    visible,
    without_base64,
    without_data,
)
from converter.transcript import facts as in_words
from converter.transcript.turns import (
    Facts,
    Failure,
    Field,
    Media,
    Part,
    Raw,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)

_FENCE = re.compile(r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[\w+.#-]*)[^`\n]*")
_SPAN = re.compile(r"(?<!`)(?P<marks>`{1,4})(?!`)(?P<code>[^`\n]+)(?P=marks)(?!`)")
_MARKUP = re.compile(r"[\\`*_{}\[\]()#+!|~$@:]")
_ESCAPED = {"<", "&"}
_ESCAPES = str.maketrans({"<": "&lt;", "&": "&amp;"})


def write(transcript: Transcript, more: Facts | None = None) -> str:
    """Return the document. `more`: facts known from elsewhere, a reply's times."""
    asked = [(name, in_words.of(value)) for name, value in transcript.asked.items()]
    said = [block for turn in transcript.turns for block in _turn(turn)]
    rest = [block for text in transcript.rest for block in ("## unread", _raw(Raw(text)))]
    facts = in_words.lines(in_words.together(transcript.facts, more))
    facts += [
        (part.name, in_words.of(part.value)) for part in transcript.beside if fits(part.value)
    ]
    long = [_part(part) for part in transcript.beside if not fits(part.value)]
    end = [_list(facts), *long]
    return (
        "\n\n".join(filter(None, [_list(asked), *said, *rest, "---" if any(end) else "", *end]))
        + "\n"
    )


def _list(rows: list[tuple[str, str]]) -> str:
    return "\n".join(f"- {inline(label)}: {inline(words)}" for label, words in rows)


def _turn(turn: Turn) -> Iterator[str]:
    yield f"## {inline(turn.role)}" + (f" {turn.choice + 1}" if turn.choice else "")
    yield from map(_part, turn.parts)


def inline(text: str) -> str:
    """Return text that is nothing but words, in one line."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text)).translate(_ESCAPES)


def fenced(text: str, language: str = "") -> str:
    """Return text in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def escaped(text: str) -> str:
    """Return model text as Markdown that a renderer shows as its writer meant it, but for HTML and
    pictures.
    """
    out: list[str] = []
    code: list[str] = []
    fence: re.Match[str] | None = None
    for line in visible(trimmed(without_data(text))).split("\n"):
        found = _FENCE.fullmatch(line.strip(" ")) if "```" in line or "~~~" in line else None
        if fence is None and found is None:
            out.append(_line(line))
        elif fence is None:
            fence = found
        elif found and _closes(line, fence):
            out.append(fenced("\n".join(code), fence["language"]))
            fence, code = None, []
        else:
            code.append(line)
    return "\n".join([*out, *([fenced("\n".join(code), fence["language"])] if fence else [])])


def _line(line: str) -> str:
    """Return a line of text, escaped."""
    if _ESCAPED.isdisjoint(line):
        return _words(line)
    out, begin = [], 0
    for span in _SPAN.finditer(line):
        if not _ESCAPED.isdisjoint(span["code"]):
            out += [
                _words(line[begin : span.start()]),
                f"<code>{inline(span['code'].strip())}</code>",
            ]
            begin = span.end()
    return "".join([*out, _words(line[begin:])])


def _words(text: str) -> str:
    return text.translate(_ESCAPES).replace("![", "!\\[")


def _closes(line: str, fence: re.Match[str]) -> bool:
    marks = line.strip()
    return (
        marks == marks[:1] * len(marks)
        and marks[0] == fence["marks"][0]
        and len(marks) >= len(fence["marks"])
    )


@singledispatch
def _part(part: Part) -> str:
    raise TypeError(part)


@_part.register
def _thinking(part: Thinking) -> str:
    about = f" ({inline(part.note)})" if part.note else f" ({len(part.text):,} characters)"
    return f"<details>\n<summary>Thinking{about}</summary>\n\n{escaped(part.text)}\n\n</details>"


@_part.register
def _text(part: Text) -> str:
    said = escaped(part.text) if part.text.strip() else ""
    return f"**{inline(part.place)}**\n\n{said}" if part.place else said


@_part.register
def _tool_call(part: ToolCall) -> str:
    head = f"**Tool call** {inline(part.name)}" + (f" ({inline(part.note)})" if part.note else "")
    return f"{head}\n\n" + fenced(visible(without_base64(laid_out(part.arguments))), "json")


@_part.register
def _tool_result(part: ToolResult) -> str:
    words = [
        "**Tool failed**" if part.error else "**Tool result**",
        inline(part.name),
        f"({inline(part.id)})" if part.id else "",
    ]
    return " ".join(filter(None, words)) + "\n\n" + fenced(visible(without_data(part.text)))


@_part.register
def _media(part: Media) -> str:
    return inline(f"[{part.kind} {part.words}]")


@_part.register
def _field(part: Field) -> str:
    if fits(part.value):
        return f"**{inline(part.name)}** {inline(in_words.of(part.value))}"
    said = part.value if isinstance(part.value, str) else in_json(part.value)
    return f"**{inline(part.name)}**\n\n" + fenced(visible(without_base64(said)))


@_part.register
def _failure(part: Failure) -> str:
    return f"**Error** {inline(part.kind)}\n\n{fenced(visible(part.message))}"


@_part.register
def _raw(part: Raw) -> str:
    return fenced(visible(without_base64(part.text)))
