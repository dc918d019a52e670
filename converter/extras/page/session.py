"""A whole session: the turns that each exchange added, and the differences of two requests.

`session_exchange` runs on mitmproxy's loop and takes from a flow all values that may still change.
The other functions read these values only, so they may run in a thread.
"""

import difflib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import dropwhile
from math import inf
from typing import Any

from mitmproxy.http import HTTPFlow

from converter.addon.keep.shown_flow import answer_of, facts_of
from converter.addon.transcript import request, shown
from converter.addon.transcript.shown import Values
from converter.addon.transcript.turns import Transcript
from converter.core.model.conversation import ToolUse
from converter.core.model.raw_messages import (
    MESSAGE_FIELDS,
    SYSTEM,
    SYSTEM_FIELDS,
    messages_of,
    shared_count,
    texts_of,
    with_messages,
)
from converter.core.wire import json_text
from converter.core.wire.printable import trimmed, visible
from converter.extras.page.row import Row

_PROMPT = (*MESSAGE_FIELDS, *SYSTEM_FIELDS, "tools")
_MOST_LINES = 5000
"""The most lines of a text that `difflib` compares: its time may grow with their square."""


@dataclass(frozen=True, slots=True)
class SessionExchange:
    """An exchange of a session, taken from its flow.

    Attributes:
        row: the exchange's row in the page's list.
        body: the body of the request that the client sent.
        got: a function that reads the client's reply; None while the reply still comes.
        facts: the reply's counts and times.
    """

    row: Row
    body: bytes
    got: Callable[[], Transcript] | None
    facts: Mapping[str, object]

    def fields(self) -> Mapping[str, object]:
        """Return the fields of the request that the client sent, `{}` if it is no JSON object."""
        return json_text.object_in(self.body)


def session_exchange(flow: HTTPFlow, row: Row, body: bytes) -> SessionExchange:
    """Return a flow's exchange. `body`: the body of the client's request."""
    got = None if row["running"] else partial(answer_of, flow)
    own = {"session": flow.id, "within": ""}
    return SessionExchange({**own, **row}, body, got, facts_of(flow))


def read(exchanges: Iterable[SessionExchange]) -> Iterator[Values]:
    """Yield each exchange's row with two more fields: `request`, which has the turns that the
    request added to the session, and `reply`.
    """
    before = dict[object, Mapping[str, object]]()
    for each in exchanges:
        fields = each.fields()
        own = each.row["session"]
        question = _added_turns(before.get(own), fields) if fields else request.read(each.body)
        before[own] = fields
        answer = each.got() if each.got else Transcript()
        yield {
            **each.row,
            "request": shown.transcript(question),
            "reply": shown.transcript(answer, each.facts),
        }


def called(exchanges: Iterable[SessionExchange]) -> set[str]:
    """Return the names of the tools that models have called."""
    turns = (turn for each in exchanges if each.got for turn in each.got().turns)
    return {part.name for turn in turns for part in turn.parts if isinstance(part, ToolUse)}


type ToolCost = tuple[str, int, int, int, int, int]
"""A tool's name, the number of its calls, the number of its failed calls, and the estimated tokens
of its calls, its results and its description.
"""
_NEVER_CALLED = "never called"
_BYTES = 4
"""The bytes of a token, estimated for English text and JSON."""


def tools(exchanges: Sequence[SessionExchange]) -> list[ToolCost]:
    """Return the cost of each tool in a session, the most called tool first. A call or result
    counts once, though all later requests repeat it. Tools that were never called share the last
    row.
    """
    counts = dict[str, Counter[str]]()
    names, described = dict[str, str](), dict[str, int]()
    for each in exchanges:
        offered = each.fields().get("tools")
        for tool in offered if isinstance(offered, list) else []:
            described[request.tool_name(tool)] = len(json_text.write(tool))
    for shown_exchange in read(exchanges):
        written, new = _parts_of(shown_exchange["reply"]), _parts_of(shown_exchange["request"])
        calls = [part for part in (*written, *new) if part["kind"] == "call"]
        names |= {part["id"].partition(",")[0]: part["name"] for part in calls}
        for part in written:
            if part["kind"] == "call":
                counts.setdefault(part["name"], Counter()).update(calls=1, written=_size(part))
        for part in new:
            if part["kind"] == "result":
                name = part["name"] or names.get(part["id"], "") or "unknown"
                failed = bool(part["failed"])
                counts.setdefault(name, Counter()).update(failed=failed, results=_size(part))
    costs = [_cost(name, counts[name], described.pop(name, 0)) for name in counts]
    idle = [_cost(_NEVER_CALLED, Counter(), sum(described.values()))] if described else []
    return [*sorted(costs, key=lambda cost: (-cost[1], -sum(cost[3:]))), *idle]


def _cost(name: str, of: Counter[str], described: int) -> ToolCost:
    """Return a tool's row. `of` has the counts, `described` the bytes of the tool's description."""
    sizes = [size // _BYTES for size in (of["written"], of["results"], described)]
    return name, of["calls"], of["failed"], sizes[0], sizes[1], sizes[2]


def _parts_of(shown: Values) -> list[Values]:
    return [part for turn in shown["turns"] for part in turn["parts"]]


def _size(part: Values) -> int:
    """Return the bytes of a part's text."""
    return len(part["text"].encode(errors="replace"))


def _added_turns(before: Mapping[str, object] | None, now: Mapping[str, object]) -> Transcript:
    """Return the new turns and fields of the request `now`: those that are neither in `before`, the
    session's previous request, nor in the reply to `before`.
    """
    if before is None:
        return request.of_fields(now)
    messages = messages_of(now)
    fresh = {name: value for name, value in now.items() if before.get(name) != value}
    added = messages[shared_count(messages_of(before), messages) :]
    question = request.of_fields(with_messages(fresh, added))
    new = dropwhile(lambda turn: turn.role == "assistant", question.turns)
    return replace(question, turns=tuple(new))


def differences(
    before: Mapping[str, object], now: Mapping[str, object]
) -> Iterator[tuple[str, list[str]]]:
    """Yield each field and each part of the prompt (a message, a tool) that differs in two
    requests: its name, and the lines of a unified diff.
    """
    for name in [*before, *(now.keys() - before.keys())]:
        if name not in _PROMPT and before.get(name) != now.get(name):
            yield name, _diff(json.dumps(before.get(name)), json.dumps(now.get(name)))
    one, other = texts_of(before), texts_of(now)
    for name in [*one, *(each for each in other if each not in one)]:
        if one.get(name) != other.get(name):
            yield name, _diff(one.get(name, ""), other.get(name, ""))
    if one.keys() == other.keys() and [*one] != [*other]:
        yield "the order of the tools", _diff("\n".join(one), "\n".join(other))


def _diff(before: str, now: str) -> list[str]:
    """Return a unified diff without its two header lines. For very long texts return the numbers of
    their lines instead.
    """
    one, other = before.splitlines(), now.splitlines()
    if max(len(one), len(other)) > _MOST_LINES:
        return [f"- {len(one):,} lines", f"+ {len(other):,} lines"]
    return [*difflib.unified_diff(one, other, lineterm="")][2:]


type _Exchange = Mapping[str, Any]

_ABOUT = (
    ("model", "{}"),
    ("client", "{}"),
    ("waited", "waited {:.1f} s"),
    ("thought", "thought {:.1f} s"),
    ("end", "{:.1f} s in all"),
    ("input_tokens", "{:,} tokens read"),
    ("output_tokens", "{:,} written"),
    ("failure", "{}"),
)
"""The fields of a row that are written below an exchange's title, each with its format."""


def page(session: Sequence[SessionExchange], head: str, pair: tuple[str, str] = ("", "")) -> str:
    """Return a session as one HTML page. Text of clients and models is escaped.

    `head`: the elements that link to the style sheet. `pair`: the ids of the two exchanges whose
    requests are compared; empty ids for no comparison.
    """
    exchanges: list[_Exchange] = [
        {**each, "number": number} for number, each in enumerate(read(session), 1)
    ]
    title = _escaped(next((each["title"] for each in exchanges), "") or "A session")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title>{head}'
        f'</head><body class="session"><main><h1>{title}</h1>'
        f"{_form_html(exchanges, pair)}{_differences_html(session, *pair)}"
        f"{_tree_html(exchanges)}</main></body></html>\n"
    )


def _differences_html(session: Iterable[SessionExchange], before: str, now: str) -> str:
    """Return the HTML of the differences of two requests, empty if an id is unknown."""
    requests = {str(each.row["id"]): each.fields() for each in session}
    if before not in requests or now not in requests:
        return ""
    changed = [
        _foldable("call", name, "", f"<pre>{''.join(map(_line_html, compared))}</pre>")
        for name, compared in differences(requests[before], requests[now])
    ]
    return f"<section id=differs><h2>What differs</h2>{''.join(changed) or 'Nothing.'}</section>"


def _form_html(exchanges: Sequence[_Exchange], pair: tuple[str, str]) -> str:
    """Return the HTML form that chooses two requests to compare. The last two are preselected if
    `pair` is empty.
    """
    last = [str(each["id"]) for each in exchanges[-2:]] or [""]
    chosen = pair[0] or last[0], pair[1] or last[-1]
    choices = "".join(
        f'<label>{label} <select name="{name}">{_options_html(exchanges, named)}</select></label>'
        for label, name, named in (
            ("Compare the request of", "from", chosen[0]),
            ("with that of", "to", chosen[1]),
        )
    )
    return f'<form class="actions">{choices}<button>Show what differs</button></form>'


def _options_html(exchanges: Iterable[_Exchange], chosen: str) -> str:
    """Return an HTML `option` for each exchange; the one with the id `chosen` is selected."""
    return "".join(
        f'<option value="{_escaped(each["id"])}"{" selected" * (each["id"] == chosen)}>'
        f"{_escaped(_numbered_title(each))}</option>"
        for each in exchanges
    )


def _line_html(line: str) -> str:
    """Return a line of a diff as HTML, marked as inserted or deleted."""
    tag = {"+": "ins", "-": "del"}.get(line[:1], "span")
    return f"<{tag}>{_escaped(line)}</{tag}>\n"


def _tree_html(exchanges: Sequence[_Exchange]) -> str:
    """Return the HTML of all sessions. A branch stands within its parent session, or on the top
    level if the parent is no longer in mitmweb's list.
    """
    by_session = dict[object, list[_Exchange]]()
    for each in exchanges:
        by_session.setdefault(each["session"], []).append(each)
    return "".join(
        _nested(own, by_session)
        for own in by_session.values()
        if own[0]["within"] not in by_session
    )


def _nested(own: Sequence[_Exchange], by_session: Mapping[object, Sequence[_Exchange]]) -> str:
    """Return the HTML of a session's exchanges `own`. A branch of the session, from `by_session`,
    follows the exchange during which it began.
    """
    name = own[0]["session"]
    branches = [branch for branch in by_session.values() if branch[0]["within"] == name]
    ends = [*(each["number"] for each in own[1:]), inf]
    written = list[str]()
    for each, end in zip(own, ends, strict=True):
        written.append(_exchange_html(each))
        begun = [branch for branch in branches if branch[0]["number"] < end]
        branches = branches[len(begun) :]
        for branch in begun:
            label = f"Sub-agent · {branch[0]['title']}"
            written.append(_foldable("branch", label, "", _nested(branch, by_session)))
    return "".join(written)


def _numbered_title(exchange: _Exchange) -> str:
    return f"{exchange['number']} · {exchange['title']}"


def _exchange_html(exchange: _Exchange) -> str:
    request, reply, number = exchange["request"], exchange["reply"], exchange["number"]
    about = " · ".join(form.format(exchange[name]) for name, form in _ABOUT if exchange.get(name))
    settings = "".join(f"<span>{_escaped(' '.join(each))}</span>" for each in request["asked"])
    turns = "".join(map(turn_as_html, [*request["turns"], *reply["turns"]]))
    rest = "".join(map(part_as_html, [*request["rest"], *reply["rest"]]))
    return (
        f'<article id="x{number}"><div class="title"><h2>{_escaped(_numbered_title(exchange))}</h2>'
        f'<p class="about">{_escaped(about)}</p></div>'
        f'<p class="asks">{settings}</p>{turns}{rest}</article>'
    )


def _escaped(value: object) -> str:
    """Return a value as text escaped for HTML, in which invisible characters are made visible."""
    return escape(visible(str(value)))


def turn_as_html(shown: Mapping[str, Any]) -> str:
    """Return a turn as HTML: its role and its parts."""
    role = str(shown["role"])
    kind = role if role.isalnum() else ""
    inside = "".join(map(part_as_html, shown["parts"]))
    if role in SYSTEM:  # System prompts are folded, because they are long and repeated.
        length = sum(len(part["text"]) for part in shown["parts"])
        return _foldable("fold", f"{role} prompt", f"{length:,} characters", inside, is_open=False)
    head = f"<h3>{_escaped(role)}</h3>"
    return f'<section class="turn {kind}">{head}<div class="body">{inside}</div></section>'


def part_as_html(shown: Mapping[str, Any]) -> str:
    """Return a part of a turn as HTML: thinking, text, a call, a result, a picture, an error ..."""
    kind, text, name = shown["kind"], _escaped(shown["text"]), shown.get("name", "")
    markdown = f'<div class="md"><p>{trimmed(text)}</p></div>'
    match kind:
        case "thinking":
            return _foldable(kind, "Thinking", shown["note"], markdown)
        case "text":
            return f'<div class="part said">{markdown}</div>'
        case "call" | "result":
            failed = "failed " if shown.get("failed") else ""
            label = f"{'→' if kind == 'call' else '←'} {failed}{name or kind}"
            return _foldable(f"{kind} {failed}", label, shown["id"], f"<pre>{text}</pre>")
        case "media":
            source = escape(shown.get("source", ""))
            picture = f'<img alt="" src="{source}">' if source else ""
            return f'<figure class="part">{picture}<figcaption>[{text}]</figcaption></figure>'
        case "raw":
            return f'<pre class="part">{text}</pre>'
    label = f"<b>Error {_escaped(name)}</b>" if kind == "error" else f"{_escaped(name)}:"
    return f'<div class="part {kind}">{label} {text}</div>'


def _foldable(kind: str, label: object, about: object, inside: str, *, is_open: bool = True) -> str:
    """Return an HTML element that the page's reader can fold. `kind`: its CSS class. `label` and
    `about` (in small type) stand in its head; `inside` is the markup that is folded.
    """
    head = f"<summary>{_escaped(label)}<small>{_escaped(about)}</small></summary>"
    return f'<details class="part {kind}"{" open" * is_open}>{head}{inside}</details>'
