"""The laws with each option that other recordings leave off, or whose two values differ in little: a
reply stays one message however it comes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.settings import RECORDED
from converter.addon.keep.notes import NotedFacts
from converter.core.dialects.request_facts import COUNTING
from converter.core.dialects.signs_of_life import COMMENT, DELTA, NONE
from converter.core.dialects.table import ANTHROPIC, DIALECTS, OPENAI_CHAT, Dialect, Form
from converter.core.reply.rewriter import Rewriter
from converter.extras.recordings.recording import Recording
from laws import laws
from laws.client_view import view_of
from laws.variants import Variant, body_of, with_body
from tests.support.frames import DONE, END, ROLE, delta, finish, text
from tests.support.recordings_of import recording, streamed, two_replies
from tests.support.strategies import share_of

LLAMA = NotedFacts(server="llama.cpp")
SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
TOOL = {"type": "function", "function": {"name": "draw", "parameters": SCHEMA}}
CALLED = '<tool_call>\n{"name": "draw", "arguments": {"count": "5"}}\n</tool_call>'
FUNCTION = {"name": "draw", "arguments": '{"count": "5"}'}
CALL = {"index": 0, "id": "c", "type": "function", "function": FUNCTION}
LONG = "I need to think about it."
LOOP = "ab cd ef gh " * 64


@dataclass(frozen=True, slots=True)
class Row:
    """A reply that shows the option: its two values give a client different content. `but`: the
    laws that have a limit there.
    """

    sample: Recording
    on: Mapping[str, Any]
    off: Mapping[str, Any]
    but: tuple[int, ...] = ()


THOUGHT = streamed("\n<think>", "I add.", "</think>\n\n", "It is 5.")
ROWS = {
    "tags": Row(THOUGHT, {"tags": ["seed"]}, {"tags": ["auto"]}),
    "start": Row(streamed("I add.", "</think>", "It is 5."), {"start": "thinking"}, {}),
    "attributes": Row(
        streamed('<thinking thought="I add."/>', "It is 5."), {"attributes": False}, {}
    ),
    "fields": Row(THOUGHT, {"fields": ["reasoning", "reasoning_content"]}, {}),
    "signature": Row(THOUGHT, {"signature": "mine"}, {}),
    "map": Row(
        recording(b"".join([ROLE, delta(notes="I note."), *text("It is 5."), *END])),
        {"map": ["notes=thinking:thinking"]},
        {},
    ),
    "markers": Row(
        streamed("Let me think step by step.\n", "Two and ", "three.\n\n", "Answer: 5"),
        {"markers": True},
        {},
        but=(5,),
    ),
    "tools": Row(streamed("<think>I draw.</think>", CALLED, tools=[TOOL]), {"tools": "off"}, {}),
    "values": Row(streamed("I draw.", CALLED, tools=[TOOL], facts=LLAMA), {}, {"values": "sent"}),
    "values of a server's call": Row(
        recording(
            b"".join([ROLE, delta(tool_calls=[CALL]), finish("tool_calls"), *END[1:]]), tools=[TOOL]
        ),
        {},
        {"values": "sent"},
    ),
    "budget": Row(
        two_replies(*text("<think>", LONG)), {"budget": "enforce", "budget_tokens": "2"}, {}
    ),
    "loops": Row(two_replies(*text("<think>", LOOP, LOOP)), {"loops": "end"}, {}, but=(2, 3, 4, 5)),
    "unanswered": Row(
        two_replies(*text("<think>I know ", "it.</think>", "\n\n"), finish()),
        {"unanswered": "ask"},
        {},
    ),
    "stops": Row(
        streamed("It is 5.", " Q", ": next", stop=["Q:"]),
        {},
        {"stops": "server"},
        but=(2, 3, 4, 5, 9),
    ),
    "unasked": Row(THOUGHT, {"unasked": "hide"}, {}, but=(4,)),
    "blanks": Row(THOUGHT, {"blanks": "trim"}, {}, but=(4,)),
}
OF_REQUESTS = {"prompt", "budget_tokens", "enough", "native", "server", "history", "restore"}
"""Options that change the request to the server; `native` has its own tests of the laws."""


def test_each_option_that_changes_a_reply_has_its_row() -> None:
    assert {name.split()[0] for name in ROWS} | OF_REQUESTS == {*RECORDED}


def held(sample: Recording, *but: int) -> list[str]:
    """Return the broken laws of a recording."""
    left = tuple(f"law {number} " for number in but)
    broken = laws.check(sample, share_of(4))
    return [str(each) for each in broken if not (left and each.law.startswith(left))]


@pytest.mark.parametrize("name", ROWS)
def test_an_option_breaks_no_law(name: str) -> None:
    row = ROWS[name]
    on, off = (with_body(row.sample, row.sample.body, **each) for each in (row.on, row.off))
    to = [Variant(client, Form.STREAM) for client in (ANTHROPIC, OPENAI_CHAT)]
    assert any(body_of(on, each) != body_of(off, each) for each in to)
    applying = [law.number for law in laws.laws_of(on)]
    assert applying == [number for number in range(1, 10) if number not in row.but]
    assert held(on) == []


class Counted(Recording):
    """A stream whose counts the addon alone has requested."""

    def awaited(self, client_dialect: Dialect | None = None) -> AwaitedReply:
        awaited = super().awaited(client_dialect)
        counted = {**awaited.sent_fields, COUNTING: {"include_usage": True}}
        return replace(awaited, sent_fields=counted)


class Silent(Recording):
    """A stream that is silent behind each chunk, so that its client, once its reply has begun, gets
    a sign of life there.
    """

    def rewriter(self, client_dialect: Dialect, form: Form) -> Rewriter:
        rewriter_or_reply = super().rewriter(client_dialect, form)
        feed, begun = rewriter_or_reply.feed, list[bytes]()

        def pinged(chunk: bytes, at: float = 0.0) -> list[bytes]:
            out = feed(chunk, at)
            begun.extend(out[:1])
            return [*out, *(rewriter_or_reply.ping() if begun else ())]

        rewriter_or_reply.feed = pinged  # type: ignore[method-assign]
        return rewriter_or_reply


def as_kind(kind: type[Recording], sample: Recording, **options: object) -> Recording:
    chosen = {**sample.options, **options}
    values = {each.name: getattr(sample, each.name) for each in fields(Recording)}
    return kind(**{**values, "options": chosen})


def test_counts_that_are_kept_from_a_client_break_no_law() -> None:
    sample = as_kind(Counted, streamed("<think>I add", "them.</think>", "It is 5."))
    to = Variant(OPENAI_CHAT, Form.STREAM)
    assert b'"usage"' in sample.body
    assert b'"usage"' not in body_of(sample, to)
    # the counts are missing on purpose, and from a stream alone
    assert held(sample, 3, 4) == []


SPOKEN = {
    "words": THOUGHT,
    "a call": streamed("<think>I draw.</think>", CALLED[:20], CALLED[20:], tools=[TOOL]),
    "a server's call": recording(
        b"".join(
            [
                *(ROLE, delta(reasoning_content="I draw.")),
                *(delta(tool_calls=[CALL]), finish("tool_calls"), DONE),
            ]
        ),
        tools=[TOOL],
    ),
    "signs of the server's own": recording(
        b"".join([b"id: 7\n" + ROLE, *text("a"), b": wait\n\n", *text("b"), finish(), DONE])
    ),
}


@pytest.mark.parametrize("form", [COMMENT, DELTA, NONE])
@pytest.mark.parametrize("name", SPOKEN)
def test_signs_of_life_break_no_law(name: str, form: str) -> None:
    sample = as_kind(Silent, SPOKEN[name], alive=form)
    calm = as_kind(Recording, SPOKEN[name])
    for client in DIALECTS:
        to = Variant(client, Form.STREAM)
        assert view_of(sample, to) == view_of(calm, to)
        chat = client is OPENAI_CHAT
        assert (body_of(sample, to) == body_of(calm, to)) is (chat and form == NONE)
    # where a sign comes depends on the chunks, and a client may have counted comments
    assert held(sample, 1, 4) == []
