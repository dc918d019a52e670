"""`session_json` returns a whole session as JSON: the turns that each `SessionExchange` added, and
the differences of two requests. `tool_costs` returns the cost of each tool. `sessions.py` decides
what belongs to a session.

`session_exchange` runs on mitmproxy's loop and takes from a flow all values that may still change.
The other functions read these values only, so they may run in a thread.
"""

import difflib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile

from mitmproxy.http import HTTPFlow

from converter.addon.keep.shown_flow import answer_of, facts_of
from converter.addon.transcript import request, shown
from converter.addon.transcript.shown import Values
from converter.addon.transcript.turns import Transcript
from converter.core.model.conversation import ToolUse
from converter.core.model.raw_messages import (
    MESSAGE_FIELDS,
    SYSTEM_FIELDS,
    messages_of,
    prompt_texts,
    shared_count,
    with_messages,
)
from converter.core.wire import json_text
from converter.extras.page.row import Row

_PROMPT_FIELDS = (*MESSAGE_FIELDS, *SYSTEM_FIELDS, "tools")
"""Fields of a request that `request_differences` compares by their parts, not as a whole."""
_MOST_LINES = 5000
"""Texts of more lines are not compared: the time of `difflib` may grow with the square."""


@dataclass(frozen=True, slots=True)
class SessionExchange:
    """An exchange of a session, taken from its flow."""

    row: Row
    """The exchange's row in the page's list."""
    request_body: bytes
    """The body of the request that the client sent."""
    read_reply: Callable[[], Transcript] | None
    """A function that reads the client's reply; None while the reply still comes."""
    reply_facts: Mapping[str, object]
    """The reply's counts and times: name -> value."""

    def fields(self) -> Mapping[str, object]:
        """Return the fields of the request that the client sent, `{}` if it is no JSON object."""
        return json_text.object_in(self.request_body)


def session_exchange(flow: HTTPFlow, row: Row, body: bytes) -> SessionExchange:
    """Return a flow as an exchange of its session. `body`: the body of the client's request."""
    got = None if row["running"] else partial(answer_of, flow)
    own = {"session": flow.id, "within": ""}
    return SessionExchange({**own, **row}, body, got, facts_of(flow))


def read_exchanges(exchanges: Iterable[SessionExchange]) -> Iterator[Values]:
    """Yield each exchange's row with two more fields: `request`, the turns and fields that the
    request added to its session, and `reply`, which the client got (without turns while it still
    comes).
    """
    before = dict[object, Mapping[str, object]]()
    for each in exchanges:
        fields = each.fields()
        own = each.row["session"]
        added = _added_turns(before.get(own), fields) if fields else request.read(each.request_body)
        before[own] = fields
        answer = each.read_reply() if each.read_reply else Transcript()
        yield {
            **each.row,
            "request": shown.transcript_json(added),
            "reply": shown.transcript_json(answer, each.reply_facts),
        }


def called_tools(exchanges: Iterable[SessionExchange]) -> set[str]:
    """Return the names of the tools that are called in the replies of these exchanges."""
    turns = (turn for each in exchanges if each.read_reply for turn in each.read_reply().turns)
    return {part.name for turn in turns for part in turn.parts if isinstance(part, ToolUse)}


type ToolCost = tuple[str, int, int, int, int, int]
"""A tool's name, the number of its calls, the number of its failed calls, and the estimated tokens
of its calls, its results and its description.
"""
_BYTES_PER_TOKEN = 4
"""About how many bytes of English text or JSON one token has."""


def tool_costs(exchanges: Sequence[SessionExchange]) -> list[ToolCost]:
    """Return the cost of each tool in a session, the most called tool first. A call or result
    counts once, though all later requests repeat it. Tools that were offered and never called share
    the last row, `never called`.
    """
    counts = dict[str, Counter[str]]()
    names, described = dict[str, str](), dict[str, int]()
    for each in exchanges:
        offered = each.fields().get("tools")
        for tool in offered if isinstance(offered, list) else []:
            described[request.tool_name(tool)] = len(json_text.write(tool))
    for shown_exchange in read_exchanges(exchanges):
        written, new = _parts_of(shown_exchange["reply"]), _parts_of(shown_exchange["request"])
        calls = [part for part in (*written, *new) if part["kind"] == "call"]
        names |= {part["id"].partition(",")[0]: part["name"] for part in calls}
        for part in written:
            if part["kind"] == "call":
                counts.setdefault(part["name"], Counter()).update(calls=1, written=_text_size(part))
        for part in new:
            if part["kind"] == "result":
                name = part["name"] or names.get(part["id"], "") or "unknown"
                failed = bool(part["failed"])
                counts.setdefault(name, Counter()).update(failed=failed, results=_text_size(part))
    costs = [_tool_cost(name, counts[name], described.pop(name, 0)) for name in counts]
    idle = [_tool_cost("never called", Counter(), sum(described.values()))] if described else []
    return [*sorted(costs, key=lambda cost: (-cost[1], -sum(cost[3:]))), *idle]


def _tool_cost(name: str, counts: Counter[str], described: int) -> ToolCost:
    """Return a tool's cost. Keys of `counts`: `calls` and `failed`, numbers of calls; `written` and
    `results`, the bytes of all calls and of all results. `described`: the bytes of the tool's
    description.
    """
    sizes = [size // _BYTES_PER_TOKEN for size in (counts["written"], counts["results"], described)]
    return name, counts["calls"], counts["failed"], sizes[0], sizes[1], sizes[2]


def _parts_of(shown: Values) -> list[Values]:
    """Return the parts of all turns of `shown`, a transcript as the page's JSON."""
    return [part for turn in shown["turns"] for part in turn["parts"]]


def _text_size(part: Values) -> int:
    """Return the number of bytes of a part's text."""
    return len(part["text"].encode(errors="replace"))


def _added_turns(before: Mapping[str, object] | None, now: Mapping[str, object]) -> Transcript:
    """Return the new turns and fields of the request `now`: those that are neither in `before`, the
    session's previous request, nor in the reply to `before`. If `before` is None, all are new.
    """
    if before is None:
        return request.read_fields(now)
    messages = messages_of(now)
    fresh = {name: value for name, value in now.items() if before.get(name) != value}
    added = messages[shared_count(messages_of(before), messages) :]
    question = request.read_fields(with_messages(fresh, added))
    new = dropwhile(lambda turn: turn.role == "assistant", question.turns)
    return replace(question, turns=tuple(new))


def request_differences(
    before: Mapping[str, object], now: Mapping[str, object]
) -> Iterator[tuple[str, list[str]]]:
    """Yield each field and each part of the prompt (a message, a tool) that differs in two
    requests: its name, and the lines of a diff (`_diff`). If both requests have the same parts in
    another order, yield a diff of the two orders last.
    """
    for name in [*before, *(now.keys() - before.keys())]:
        if name not in _PROMPT_FIELDS and before.get(name) != now.get(name):
            yield name, _diff(json.dumps(before.get(name)), json.dumps(now.get(name)))
    one, other = prompt_texts(before), prompt_texts(now)
    for name in [*one, *(each for each in other if each not in one)]:
        if one.get(name) != other.get(name):
            yield name, _diff(one.get(name, ""), other.get(name, ""))
    if one.keys() == other.keys() and [*one] != [*other]:
        yield "the order of the tools", _diff("\n".join(one), "\n".join(other))


def _diff(before: str, now: str) -> list[str]:
    """Return the lines of a unified diff, without its two header lines. For a text of more than
    `_MOST_LINES` return the two numbers of lines instead: `["- 6,000 lines", "+ 6,001 lines"]`.
    """
    one, other = before.splitlines(), now.splitlines()
    if max(len(one), len(other)) > _MOST_LINES:
        return [f"- {len(one):,} lines", f"+ {len(other):,} lines"]
    return [*difflib.unified_diff(one, other, lineterm="")][2:]


def session_json(exchanges: Sequence[SessionExchange], before: str, now: str) -> str:
    """Return a session as JSON: its `exchanges` as `read_exchanges` yields them, and the
    `differences` between the requests of the exchanges with the ids `before` and `now`; null if an
    id is unknown.
    """
    requests = {str(each.row["id"]): each.fields() for each in exchanges}
    listed = before in requests and now in requests
    changed = [*request_differences(requests[before], requests[now])] if listed else None
    return json.dumps({"exchanges": [*read_exchanges(exchanges)], "differences": changed})
