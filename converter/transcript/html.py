"""The values of a transcript as HTML that needs nothing else: no script, nothing from elsewhere, in
the ink of the page's style sheet. All that a client or a model wrote is text.
"""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from converter.observe.printable import visible


def text(words: object) -> str:
    """Return words that are never markup, with all that acts on their reader spelled out."""
    return escape(visible(str(words)))


def turn(shown: Mapping[str, Any]) -> str:
    """Return who speaks, and each part."""
    role = str(shown["role"])
    kind = role if role.isalnum() else ""
    inside = "".join(map(part, shown["parts"]))
    head = f"<h3>{text(role)}</h3>"
    return f'<section class="turn {kind}">{head}<div class="body">{inside}</div></section>'


def part(shown: Mapping[str, Any]) -> str:
    """Return a part."""
    return _PARTS[str(shown["kind"])](shown)


def folded(kind: str, label: object, about: object, inside: str) -> str:
    """Return what its reader can fold."""
    head = f"<summary>{text(label)}<small>{text(about)}</small></summary>"
    return f'<details class="part {kind}" open>{head}{inside}</details>'


def _said(words: object) -> str:
    return f'<div class="md"><p>{text(str(words).strip(_LINE_ENDS))}</p></div>'


def _pre(words: object) -> str:
    return f"<pre>{text(words)}</pre>"


def _result(shown: Mapping[str, Any]) -> str:
    failed = "failed " if shown["failed"] else ""
    return folded(
        f"result {failed}",
        f"← {failed}{shown['name'] or 'result'}",
        shown["id"],
        _pre(shown["text"]),
    )


def _media(shown: Mapping[str, Any]) -> str:
    picture = f'<img alt="" src="{escape(str(shown["source"]))}">' if "source" in shown else ""
    return (
        f'<figure class="part">{picture}<figcaption>[{text(shown["text"])}]</figcaption></figure>'
    )


_LINE_ENDS = "\r\n"
_PARTS: Mapping[str, Callable[[Any], str]] = {
    "thinking": lambda part: folded("thinking", "Thinking", part["note"], _said(part["text"])),
    "text": lambda part: f'<div class="part said">{_said(part["text"])}</div>',
    "call": lambda part: folded("call", f"→ {part['name']}", part["id"], _pre(part["text"])),
    "result": _result,
    "media": _media,
    "field": lambda part: (
        f'<div class="part field">{text(part["name"])}: {text(part["text"])}</div>'
    ),
    "error": lambda part: (
        f'<div class="part error"><b>Error {text(part["name"])}</b> {text(part["text"])}</div>'
    ),
    "raw": lambda part: f'<pre class="part">{text(part["text"])}</pre>',
}
