"""Calls in text in all forms, with values full of marks: a client runs what the model meant, however
the text is cut. The oracle is the calls that were written.
"""

import json
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from converter.core.dialects.table import DIALECTS, Dialect, Form
from converter.core.model.events import ToolCall, joined
from converter.core.reading.rows import Counts
from converter.core.reading.tool_calls.forms import FORMS as FORM_ROWS
from converter.core.reading.tool_calls.head import Expectations
from laws.reply_parser import parse_reply
from tests.support.call_engine import call_engine
from tests.support.frames import chat_stream, chat_whole
from tests.support.recordings_of import JSON, STREAM, recording
from tests.support.rows import rows_of
from tests.support.strategies import cut, law
from tests.support.tool_call_texts import TOOLS, WRITTEN, bare

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

type Ran = list[tuple[str, object]]
type Calls = list[tuple[str, dict[str, str]]]

OFFERED = [
    {"type": "function", "function": {"name": name, "parameters": schema}}
    for name, schema in TOOLS.items()
]

CERTAIN = ROWS["certain"]
"""Parts of values in which no form has two readings."""
UNCERTAIN = ROWS["uncertain"]
FORMS = st.sampled_from(sorted(WRITTEN))


def _values(parts: Sequence[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(parts), min_size=1, max_size=5).map("x".join)


def _calls(parts: Sequence[str]) -> st.SearchStrategy[Calls]:
    values = st.fixed_dictionaries({"path": _values(parts), "content": _values(parts)})
    return st.lists(values.map(lambda arguments: ("write_file", arguments)), min_size=1, max_size=2)


def _run(pieces: Sequence[str]) -> Ran | None:
    """Return the calls that a client would run; None if the reply ends in an error."""
    engine = call_engine(Expectations(TOOLS))
    events = joined([*(e for piece in pieces for e in engine.feed(piece)), *engine.flush()])
    if engine.calls.broken_name:
        return None
    ended = [event for event in events if isinstance(event, ToolCall) and event.ends]
    return [(event.name, json.loads(event.arguments)) for event in ended]


def _same(ran: object, meant: dict[str, str]) -> bool:
    """Compare arguments: what a form of tags says has no type."""
    assert isinstance(ran, dict)
    return {key: bare(value) for key, value in ran.items()} == meant


def _is(ran: Ran | None, meant: Calls) -> bool:
    """Return True if these calls ran, in order, and no others."""
    return (
        ran is not None
        and [name for name, _ in ran] == [name for name, _ in meant]
        and all(_same(value, wanted) for (_, value), (_, wanted) in zip(ran, meant, strict=True))
    )


def _has_types(name: str) -> bool:
    """Return True if the form quotes its texts, so that no value has two readings."""
    write = WRITTEN[name].write
    return write([("now", {"n": 7})]) != write([("now", {"n": "7"})])


TYPED = st.sampled_from([name for name in sorted(WRITTEN) if _has_types(name)])


@law(200)
@given(FORMS, _calls(CERTAIN))
def test_what_runs_was_meant(name: str, meant: Calls) -> None:
    assert _is(_run([WRITTEN[name].write(meant)]), meant)


@law(200)
@given(TYPED, _calls((*CERTAIN, *UNCERTAIN)))
def test_no_value_that_is_quoted_has_two_readings(name: str, meant: Calls) -> None:
    assert _is(_run([WRITTEN[name].write(meant)]), meant)


@law(200)
@given(st.data(), FORMS, _calls((*CERTAIN, *UNCERTAIN)))
def test_it_is_the_same_however_it_is_cut(data: st.DataObject, name: str, meant: Calls) -> None:
    text = WRITTEN[name].write(meant)
    assume(text)
    assert _run(data.draw(cut(text))) == _run(list(text)) == _run([text])


def _shown(body: bytes, client: Dialect, form: Form) -> tuple[Ran | None, str, str]:
    """Return the calls that a client runs (None for an error), its thinking and its text."""
    recorded = recording(body, JSON if body.startswith(b"{") else STREAM, tools=OFFERED)
    rewriter = recorded.rewriter(client, form)
    out = b"".join([*rewriter.feed(recorded.body), *rewriter.close()])
    parsed = parse_reply(out, form, client)
    reply = parsed.choice()
    thought, text = ("".join(reply.joined(kind).split()) for kind in ("thinking", "text"))
    if parsed.error or rewriter.failure:
        return None, thought, text
    calls = [(call["name"], json.loads(call["arguments"])) for call in reply.calls.values()]
    return calls, thought, text


BEFORE = st.sampled_from(["", "I look.\n\n", "<think>Hm.</think>\n", "`x` and\n", "# Plan\n"])
BEHIND = st.sampled_from(["", "\n", "\n\nDone."])


@law(40)
@given(st.data(), FORMS, _calls(CERTAIN), BEFORE, BEHIND)
def test_every_client_runs_it_streamed_and_whole(
    data: st.DataObject, name: str, meant: Calls, before: str, behind: str
) -> None:
    alone = WRITTEN[name].whole  # it is a call only where nothing else is said
    text = WRITTEN[name].write(meant) if alone else before + WRITTEN[name].write(meant) + behind
    bodies = [
        chat_whole({"role": "assistant", "content": text}),
        chat_stream([{"content": piece} for piece in data.draw(cut(text))]),
    ]
    client = data.draw(st.sampled_from(range(len(DIALECTS))))
    shown = [_shown(body, DIALECTS[client], form) for body in bodies for form in Form]
    assert all(each == shown[0] for each in shown)
    assert _is(shown[0][0], meant)


ENDING = tuple(
    opener
    for form in FORM_ROWS
    if form.counts not in (Counts.IN_ANSWERS, Counts.AS_WHOLE_REPLY)
    for opener, _ in form.pairs
)
"""The marks that count in a thought, so that nothing in their calls is a tag."""


@law(40)
@given(st.data(), FORMS, _calls(CERTAIN), _calls(CERTAIN), st.booleans(), st.booleans())
def test_a_draft_never_runs_beside_an_answer_or_a_call(
    data: st.DataObject, name: str, draft: Calls, meant: Calls, in_field: bool, calls: bool
) -> None:
    assume(not WRITTEN[name].whole)
    write = WRITTEN[name].write
    assume(write(draft).startswith(ENDING) or "</think>" not in write(draft))
    thought = f"A draft:\n\n{write(draft)}\n\nNo, that is wrong."
    answer = f"I do it.\n\n{write(meant)}" if calls else "I do not do it."
    text = answer if in_field else f"<think>{thought}</think>{answer}"
    parts = [("reasoning_content", thought if in_field else ""), ("content", text)]
    message = {key: written for key, written in parts if written}
    deltas = [{key: piece} for key, written in message.items() for piece in data.draw(cut(written))]
    client = DIALECTS[data.draw(st.sampled_from(range(len(DIALECTS))))]
    for body in (chat_whole({"role": "assistant", **message}), chat_stream(deltas)):
        for form in Form:
            assert _is(_shown(body, client, form)[0], meant if calls else [])
