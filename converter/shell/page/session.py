"""A session whole: what each exchange added to the ones before it, and where two requests differ.

What is read of flows is taken on mitmproxy's loop; reading it may take its time in a thread.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import dropwhile

from mitmproxy.http import HTTPFlow

from converter.observe.prefix import Fields, alike, messages_of, texts_of
from converter.shell.page.conversation import Body, answer_of
from converter.shell.page.row import Row
from converter.shell.watch.views import facts_of
from converter.transcript import request, shown
from converter.transcript.shown import Values
from converter.transcript.turns import CallPart, Transcript
from converter.wire import json_text

_PROMPT = ("messages", "input", "system", "tools")
_MOST_LINES = 5000
"""Lines of a part that are compared one by one: what is repeated takes longer and longer."""


@dataclass(frozen=True, slots=True)
class Told:
    """An exchange of a session, taken from its flow. `got`: what its client got, once it is over.
    `facts`: what else is known of the reply.
    """

    row: Row
    body: bytes
    got: Body | None
    facts: Mapping[str, object]

    def fields(self) -> Fields:
        """Return the request that its client sent."""
        read = json_text.read_or_none(self.body)
        return read if isinstance(read, dict) else {}


def told(flow: HTTPFlow, row: Row, asked: bytes) -> Told:
    """Take an exchange from its flow. `asked`: the body of its client's request."""
    got = None if row["running"] else answer_of(flow)
    own = {"session": flow.id, "within": ""}
    return Told({**own, **row}, asked, got, facts_of(flow))


def read(exchanges: Iterable[Told]) -> Iterator[Values]:
    """Yield each exchange's row with what its request added to its session, and its reply."""
    before = dict[object, Fields]()
    for each in exchanges:
        fields = each.fields()
        own = each.row["session"]
        question = _question(before.get(own), fields) if fields else request.read(each.body)
        before[own] = fields
        answer = each.got.read() if each.got else Transcript()
        yield {
            **each.row,
            "request": shown.transcript(question),
            "reply": shown.transcript(answer, each.facts),
        }


def called(exchanges: Iterable[Told]) -> set[str]:
    """Return the names of the tools that models have called."""
    turns = (turn for each in exchanges if each.got for turn in each.got.read().turns)
    return {part.name for turn in turns for part in turn.parts if isinstance(part, CallPart)}


def lines(exchanges: Iterable[Told]) -> str:
    """Return an exchange a line, as JSON."""
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in read(exchanges))


def _question(before: Fields | None, now: Fields) -> Transcript:
    """Return what a request says that the one before it has not said, nor the reply to that."""
    if before is None:
        return request.of_fields(now)
    messages = messages_of(now)
    fresh = {name: value for name, value in now.items() if before.get(name) != value}
    fresh["messages" if "messages" in now else "input"] = [
        *messages[alike(messages_of(before), messages) :]
    ]
    question = request.of_fields(fresh)
    new = dropwhile(lambda turn: turn.role == "assistant", question.turns)
    return replace(question, turns=tuple(new))


def differences(before: Fields, now: Fields) -> Iterator[tuple[str, list[str]]]:
    """Yield where two requests differ: the name of a setting or of a part of the prompt, and its
    lines, marked as `difflib` does.
    """
    for name in [*before, *(now.keys() - before.keys())]:
        if name not in _PROMPT and before.get(name) != now.get(name):
            yield name, _compared(json.dumps(before.get(name)), json.dumps(now.get(name)))
    one, other = texts_of(before), texts_of(now)
    for name in [*one, *(each for each in other if each not in one)]:
        if one.get(name) != other.get(name):
            yield name, _compared(one.get(name, ""), other.get(name, ""))
    if one.keys() == other.keys() and [*one] != [*other]:
        yield "the order of the tools", _compared("\n".join(one), "\n".join(other))


def _compared(before: str, now: str) -> list[str]:
    """Return the lines that differ, with some of those around them."""
    one, other = before.splitlines(), now.splitlines()
    if max(len(one), len(other)) > _MOST_LINES:
        return [f"- {len(one):,} lines", f"+ {len(other):,} lines"]
    return [*difflib.unified_diff(one, other, lineterm="")][2:]
