"""The values of a transcript as HTML that needs nothing else: no script, nothing from elsewhere, in
the ink of the page's style sheet. All that a client or a model wrote is text.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

from converter.observe.printable import visible

_LINE_ENDS = "\r\n"


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
    kind, words, name = shown["kind"], text(shown["text"]), shown.get("name", "")
    said = f'<div class="md"><p>{words.strip(_LINE_ENDS)}</p></div>'
    match kind:
        case "thinking":
            return folded(kind, "Thinking", shown["note"], said)
        case "text":
            return f'<div class="part said">{said}</div>'
        case "call" | "result":
            failed = "failed " if shown.get("failed") else ""
            label = f"{'→' if kind == 'call' else '←'} {failed}{name or kind}"
            return folded(f"{kind} {failed}", label, shown["id"], f"<pre>{words}</pre>")
        case "media":
            source = escape(shown.get("source", ""))
            picture = f'<img alt="" src="{source}">' if source else ""
            return f'<figure class="part">{picture}<figcaption>[{words}]</figcaption></figure>'
        case "raw":
            return f'<pre class="part">{words}</pre>'
    label = f"<b>Error {text(name)}</b>" if kind == "error" else f"{text(name)}:"
    return f'<div class="part {kind}">{label} {words}</div>'


def folded(kind: str, label: object, about: object, inside: str) -> str:
    """Return what its reader can fold."""
    head = f"<summary>{text(label)}<small>{text(about)}</small></summary>"
    return f'<details class="part {kind}" open>{head}{inside}</details>'
