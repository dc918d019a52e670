"""The law of calls, over drawn replies: a client runs what the model said, or nothing.

What was said has one meaning, or none. The reader is the plain one of the laws; what it finds is
what a client would run: calls whose arguments are an object, in a reply that is no error.
"""

import json
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.table import DIALECTS, OPENAI_CHAT, Dialect, Form
from laws.parsed_reply import CALLED, WHOLE, ParsedChoice, ParsedReply
from laws.reply_parser import parse_reply
from tests.support.read_back import AS_TEXT, rewrite
from tests.support.rows import rows_of
from tests.support.strategies import Choice, Reply, law, replies

ROWS = rows_of(__file__)

MEANINGS: dict[str, object] = ROWS["meanings"]
"""Without its bracket only while the finish says that the calls are over."""
OPEN = '{"city": "Oslo"'
WITHOUT = [
    *('{"a": "', '{"a": 1', '{"a": b}', '{"path": "/data", dry_run: true}', '{"a'),
    *("no", "[1]", '{"a": 1} {"b": 2}'),
]
WRITTEN = st.sampled_from([*MEANINGS, *WITHOUT])
REPLIES = replies(texts=st.just("") | st.just("So."), arguments=WRITTEN)


@law(200)
@given(reply=REPLIES, client=st.sampled_from(DIALECTS), sent=st.sampled_from(Form))
def test_a_client_runs_the_models_calls_or_nothing(
    reply: Reply, client: Dialect, sent: Form
) -> None:
    reply = Reply(reply.choices, reply.order, {}, reply.usage, True, b"\n")
    body = reply.stream() if sent is Form.STREAM else reply.whole()
    for form in Form:
        out = b"".join(rewrite([body], client, sent, form, AS_TEXT))
        reply_got = parse_reply(out, form, client)
        for index, choice in enumerate(reply.choices[: len(reply_got.choices) or 1]):
            assert _ran(reply_got, index) in _may_run(choice, reply_got)


def _ran(reply_got: ParsedReply, index: int) -> list[tuple[str, object]]:
    """Return the calls that a client would run: none of an error, nor of a reply that a limit cut
    off.
    """
    choice_got = reply_got.choices.get(index, ParsedChoice())
    if reply_got.error or choice_got.finish not in WHOLE:
        return []
    return list(_objects(choice_got))


def _objects(choice_got: ParsedChoice) -> Iterator[tuple[str, object]]:
    for call in choice_got.calls.values():
        yield call["name"], json.loads(call["arguments"] or "{}")


def _may_run(choice: Choice, reply_got: ParsedReply) -> list[list[tuple[str, object]]]:
    """All calls as they were meant, where each has a meaning; else nothing, and an error."""
    written = [(call.name, "".join(call.arguments)) for call in choice.calls]
    over = choice.finish in CALLED
    if all(counts in MEANINGS and (over or counts != OPEN) for _, counts in written):
        meant = [(name, MEANINGS[counts]) for name, counts in written]
        return [meant] if choice.finish in WHOLE and not reply_got.error else [meant, []]
    assert reply_got.error or choice.finish not in WHOLE
    return [[]]


@law(100)
@given(reply=replies(most=3), client=st.sampled_from(DIALECTS), form=st.sampled_from(Form))
def test_calls_are_counted_from_0_and_no_id_comes_twice(
    reply: Reply, client: Dialect, form: Form
) -> None:
    """Though the server gives all its calls one id, in all choices."""
    choices = [
        replace(choice, calls=[replace(call, id="call_1") for call in choice.calls])
        for choice in reply.choices
    ]
    reply = replace(reply, choices=choices)
    body = reply.stream() if form is Form.STREAM else reply.whole()
    out = b"".join(rewrite([body], client, form, None, AS_TEXT))
    reply_got = parse_reply(out, form, client).choices
    ids = [call["id"] for choice in reply_got.values() for call in choice.calls.values()]
    assert len(ids) == len(set(ids))
    if client is OPENAI_CHAT:
        assert all([*choice.calls] == [*range(len(choice.calls))] for choice in reply_got.values())
        counts = [len(choice.calls) for choice in choices]
        assert [len(reply_got[number].calls) for number in range(len(choices))] == counts
