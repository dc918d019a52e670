"""`row` returns one exchange as a row of the page's list (title, state, times, counts ...), read
from a flow or a running reply. `is_listed` says which flows get a row; `list.js` draws the rows.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from mitmproxy.http import HTTPFlow

from converter.addon.http_messages import content_of, model_of
from converter.addon.keep.flow_record import BEFORE, FlowRecord, client_left, notes_of
from converter.addon.keep.shown_flow import facts_of
from converter.addon.transcript import request
from converter.addon.transcript.turns import Part, ShownTurn
from converter.core.dialects.table import find_endpoint
from converter.core.model.conversation import TextBlock, ToolResult, ToolUse
from converter.core.model.housekeeping import (
    COMPACTION,
    TITLE,
    goes_on_from_summary,
    housekeeping_of,
)
from converter.core.reply import reply_notes
from converter.core.reply.summary import ESTIMATED
from converter.core.wire import json_text
from converter.core.wire.printable import shortened

type Row = dict[str, object]

_GROWING = (
    ("text", "answering"),
    ("calls", "calling"),
    ("calling", "calling"),  # Characters of held text that may be a call.
    ("thinking", "thinking"),
)
"""Counts in a reply's summary, each with the state that a running reply has while the count grows.
If several counts have grown since the last row, the first of them in this table gives the state.
"""
_SHOWN_FACTS = (
    "thoughts",
    "thinking",
    "text",
    "calls",
    "calling",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "thinking_tokens",
    ESTIMATED,
    "first_byte",
    "first_thought",
    "first_text",
)
"""The facts of a reply that a row has under the same names: counts, True for estimated tokens, and
times in seconds.
"""
_TITLE_LENGTH = 70
"""The most characters of a row's title."""
_CLIENT_TAG = re.compile(r"\n\s*<[a-z][\w-]*>")
"""Matches the first tag of the text that a client adds below the user's own text."""
_BEFORE_OUTPUT = re.compile(r"\AChunk ID: .*?\nOutput:\n", re.DOTALL)
"""Matches the lines that Codex 0.171 puts before the output of a command."""
_WISHES = {TITLE: "Title of the session", COMPACTION: "Summary of the session (compaction)"}
"""What the client asks for its own use (a row's `wish`) -> the row's title."""
_LONGEST_READ = 1 << 19
"""A request of more bytes is not read, because mitmproxy's loop would wait. It gets no title,
unless its path says that it asks for a summary (`/compact`).
"""
_LONGEST = 300
"""The most characters that a row shows of a value from a header or a server."""


def is_listed(flow: object) -> TypeGuard[HTTPFlow]:
    """Return True if a flow is a conversation with a model, by its request's method and path."""
    if not isinstance(flow, HTTPFlow):
        return False
    endpoint = find_endpoint(flow.request.method, flow.request.path)
    return endpoint is not None and endpoint[0].is_chat


def row(flow: HTTPFlow, running: FlowRecord | None, before: Row | None) -> Row:
    """Return a flow's row.

    `running`: the flow's record while the reply comes, else None. `before`: the flow's last row,
    None if it has no row yet. The counts that have grown since `before` show the state of a running
    reply.
    """
    noted = notes_of(flow) if running is None else {}
    facts = running.reply_summary if running else facts_of(flow)
    # The request that the client sent. Until the server's response begins, `flow.request` is the
    # request to the server.
    own = running.sides.client_request if running else None
    model = _shortened(str(facts.get("model") or ""))
    if not model:
        # The model that the request names. It is taken from the last row if there is one, so that
        # the body is read only once.
        model = str(before["model"]) if before else _shortened(model_of(content_of(flow.request)))
    server = running.server.name if running else str(noted.get("server") or "")
    address = f"{flow.request.host}:{flow.request.port}"
    values: Row = {
        "id": flow.id,
        "at": round(flow.request.timestamp_start, 3),
        "path": _shortened((own or flow.request).path.partition("?")[0]),
        # The user agent's first word, such as `claude-cli/2.1.332`.
        "client": _shortened(flow.request.headers.get("user-agent", "").partition(" ")[0]),
        "model": model,
        **_title_and_wish(flow, before),
        # The server's name, if it is recognised, and its address: `vllm 10.0.0.5:8000`.
        "server": _shortened(address if server in ("", "generic") else f"{server} {address}"),
        "status": flow.response.status_code if flow.response else 0,
        "again": flow.is_replay == "request",
        **({"broke": _shortened(str(flow.metadata[BEFORE]))} if BEFORE in flow.metadata else {}),
        **{name: facts[name] for name in _SHOWN_FACTS if name in facts},
        **_times(facts),
    }
    # A flow on which the addon acts is running while it has a `FlowRecord`. Any other flow is
    # running until its response has ended.
    ended = flow.error or (flow.response and flow.response.timestamp_end is not None)
    values["running"] = running is not None or (flow.live and not ended)
    if values["running"]:
        values["state"] = _running_state(values, before if before and before["running"] else None)
        return values
    misread = any(note in flow.comment for note in reply_notes.MISREAD)
    values["state"] = "misread" if misread else "done"
    if failure := _failure(flow, facts, noted):
        left = client_left(flow) and not facts.get("failure")
        values |= {"state": "left"} if left else {"state": "broken", "failure": _shortened(failure)}
    return values


def _running_state(now: Row, before: Row | None) -> str:
    """Return the state of a running reply: the state of the first count in `_GROWING` that is
    higher in the row `now` than in the last row `before`, else the last row's state. `before` is
    None if the reply has no earlier row; without counts the state is then `waiting`.
    """
    for name, state in _GROWING:
        if number_in(now, name) > (number_in(before, name) if before else 0):
            return state
    return str(before["state"]) if before else "waiting"


def number_in(values: Mapping[str, object], name: str) -> float:
    """Return the number `name` of a row or a summary, 0 if there is no such number."""
    value = values.get(name)
    return value if isinstance(value, int | float) else 0


def _times(facts: Mapping[str, object]) -> Row:
    """Return a row's times in seconds: `waited`, from the request to the reply's first byte;
    `thought`, the time of thinking after that byte; `end`, from the request to the reply's end.
    Return `{}` if the reply's end was not measured.
    """
    first, end = facts.get("first_byte"), facts.get("end")
    if not isinstance(end, int | float):
        return {}
    waited = min(first, end) if isinstance(first, int | float) else end
    # `end - waited` is 0 for a reply that is not streamed, because all of it arrives at once.
    thought = min(number_in(facts, "thinking_time"), end - waited)
    return {"waited": round(waited, 3), "thought": round(thought, 3), "end": round(end, 3)}


def _failure(flow: HTTPFlow, facts: Mapping[str, object], noted: Mapping[str, object]) -> str:
    """Return why an exchange has failed, empty if it has not.

    `facts`: the reply's summary; `noted`: the addon's notes on the flow, empty if it has none.
    """
    if failure := str(facts.get("failure") or ""):
        return failure
    if flow.error:
        return "" if client_left(flow) and facts.get("finish") else flow.error.msg
    if flow.response is None:
        return "no reply"
    if flow.response.status_code >= 400:
        return f"status {flow.response.status_code}"
    return "the reply has no finish" if noted and not facts.get("finish") else ""


def _title_and_wish(flow: HTTPFlow, before: Row | None) -> Row:
    """Return two fields of a row: `title`, in most cases the beginning of the user's question, and
    `wish`: `TITLE` or `COMPACTION` if the client asks for a title or a summary for its own use,
    else empty. Both are taken from `before`, the flow's last row, if that has a title, so that the
    body is read only once.
    """
    if before and before["title"]:
        return {name: before[name] for name in ("title", "wish")}
    body = content_of(flow.request)
    fields = json_text.object_in(body) if len(body) <= _LONGEST_READ else {}
    wish = housekeeping_of(fields, flow.request.path)
    return {"title": _WISHES.get(wish) or _title(request.read_fields(fields).turns), "wish": wish}


def _title(turns: Sequence[ShownTurn]) -> str:
    """Return a request's title: the beginning of the user's question after the model's last turn,
    up to the first tag that the client added below it. If no question follows that turn, the title
    has the tools whose results follow it (`_results_title`); if no results follow, an earlier
    question. If the question is a summary of earlier messages, the title says so. Empty without any
    of these.
    """
    replies = [at for at, turn in enumerate(turns) if turn.role in ("assistant", "model")]
    new = turns[replies[-1] + 1 :] if replies else turns
    if not (last := _last_question(new)):
        last = _results_title(turns, new) or _last_question(turns)
    if goes_on_from_summary({"content": last}):
        return "Goes on from the summary"
    own = _CLIENT_TAG.split(last[:_LONGEST], maxsplit=1)[0]
    return shortened(" ".join(own.split()), _TITLE_LENGTH)


def _last_question(turns: Sequence[ShownTurn]) -> str:
    """Return the user's last text that does not begin with a tag, empty if there is none. A
    text that begins with a tag counts as added by the client.
    """
    parts = [part for turn in turns if turn.role == "user" for part in turn.parts]
    texts = [part.text for part in parts if isinstance(part, TextBlock)]
    return next((text for text in reversed(texts) if not text.lstrip().startswith("<")), "")


def _results_title(turns: Sequence[ShownTurn], new: Sequence[ShownTurn]) -> str:
    """Return the names of the tools with results in `new`, and the beginning of the last result:
    `← read_file, bash: total 12`. Return an empty text if `new` has no result.

    `turns`: all turns of the request, whose calls have the tools' names. `new`: the turns after the
    model's last turn.
    """
    calls = {part.id: part.name for part in _parts(turns) if isinstance(part, ToolUse)}
    results = [part for part in _parts(new) if isinstance(part, ToolResult)]
    names = [part.name or calls.get(part.tool_use_id, "") or "a tool" for part in results]
    last = _BEFORE_OUTPUT.sub("", results[-1].text[:_LONGEST]) if results else ""
    return f"← {', '.join(dict.fromkeys(names))}: {last}" if results else ""


def _parts(turns: Sequence[ShownTurn]) -> list[Part]:
    """Return the parts of all turns in one list."""
    return [part for turn in turns for part in turn.parts]


def _shortened(text: str) -> str:
    """Return a text with at most `_LONGEST` characters."""
    return shortened(text, _LONGEST)
