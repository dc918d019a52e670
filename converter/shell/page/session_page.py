"""A session as one HTML file in the page's own ink: what each exchange added, what sub-agents were
told, and where two requests differ. Saved, it needs nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from converter.shell.page.session import Told, differences, read
from converter.transcript import html

type _Exchange = Mapping[str, Any]

_SECURITY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_KNOWN = (
    ("model", "{}"),
    ("client", "{}"),
    ("waited", "waited {:.1f} s"),
    ("thought", "thought {:.1f} s"),
    ("end", "{:.1f} s in all"),
    ("input_tokens", "{:,} tokens read"),
    ("output_tokens", "{:,} written"),
    ("failure", "{}"),
)
"""What a row knows of an exchange, and how it is told."""


class SessionPage:
    """A session for people to read. `style`: the element of its style sheet. `saved`: it asks the
    proxy for nothing.
    """

    def __init__(self, exchanges: Sequence[Told], style: str, saved: bool) -> None:
        self._told = exchanges
        self._style = style
        self._saved = saved

    def write(self, pair: tuple[str, str] = ("", "")) -> str:
        """Return the file. `pair`: the exchanges whose requests are compared."""
        exchanges: list[_Exchange] = [
            {**each, "number": number} for number, each in enumerate(read(self._told), 1)
        ]
        title = html.text(next((each["title"] for each in exchanges), "") or "A session")
        rule = f'<meta http-equiv="Content-Security-Policy" content="{_SECURITY}">'
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{rule * self._saved}'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="color-scheme" content="light dark"><title>{title}</title>{self._style}'
            f'</head><body class="session"><main><h1>{title}</h1>'
            f"{'' if self._saved else _actions(exchanges)}{self._differences(*pair)}"
            f"{_tree(exchanges)}</main></body></html>\n"
        )

    def _differences(self, before: str, now: str) -> str:
        asked = {str(each.row["id"]): each.fields() for each in self._told}
        if before not in asked or now not in asked:
            return ""
        found = [
            html.folded("call", name, "", f"<pre>{''.join(map(_marked, compared))}</pre>")
            for name, compared in differences(asked[before], asked[now])
        ]
        return f"<section id=differs><h2>What differs</h2>{''.join(found) or 'Nothing.'}</section>"


def _actions(exchanges: Iterable[_Exchange]) -> str:
    options = "".join(
        f'<option value="{html.text(each["id"])}">{html.text(_label(each))}</option>'
        for each in exchanges
    )
    choices = "".join(
        f'<label>{words} <select name="{name}">{options}</select></label>'
        for words, name in (("Compare the request of", "from"), ("with that of", "to"))
    )
    return (
        '<p class="actions"><a class="button" href="session.html">Save as HTML</a>'
        '<a class="button" href="session.jsonl">Save as JSON lines</a></p>'
        f'<form class="actions">{choices}<button>Show what differs</button></form>'
    )


def _marked(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1], "span")
    return f"<{tag}>{html.text(line)}</{tag}>\n"


def _tree(exchanges: Sequence[_Exchange]) -> str:
    """Return all sessions. One whose parent is not in mitmweb's list any more stands by itself."""
    by_session = dict[object, list[_Exchange]]()
    for each in exchanges:
        by_session.setdefault(each["session"], []).append(each)
    return "".join(
        _session(own, by_session)
        for own in by_session.values()
        if own[0]["within"] not in by_session
    )


def _session(own: Sequence[_Exchange], by_session: Mapping[object, Sequence[_Exchange]]) -> str:
    """Return the exchanges of a session; a branch stands behind the one in which it began."""
    name = own[0]["session"]
    branches = [branch for branch in by_session.values() if branch[0]["within"] == name]
    ends = [*(each["number"] for each in own[1:]), inf]
    written = list[str]()
    for each, end in zip(own, ends, strict=True):
        written.append(_exchange(each))
        begun = [branch for branch in branches if branch[0]["number"] < end]
        branches = branches[len(begun) :]
        for branch in begun:
            label = f"Sub-agent · {branch[0]['title']}"
            written.append(html.folded("branch", label, "", _session(branch, by_session)))
    return "".join(written)


def _label(told: _Exchange) -> str:
    return f"{told['number']} · {told['title']}"


def _exchange(told: _Exchange) -> str:
    asked, reply, number = told["request"], told["reply"], told["number"]
    about = " · ".join(form.format(told[name]) for name, form in _KNOWN if told.get(name))
    settings = "".join(f"<span>{html.text(' '.join(each))}</span>" for each in asked["asked"])
    turns = "".join(map(html.turn, [*asked["turns"], *reply["turns"]]))
    rest = "".join(map(html.part, [*asked["rest"], *reply["rest"]]))
    return (
        f'<article id="x{number}"><div class="title"><h2>{html.text(_label(told))}</h2>'
        f'<p class="about">{html.text(about)}</p></div>'
        f'<p class="asks">{settings}</p>{turns}{rest}</article>'
    )
