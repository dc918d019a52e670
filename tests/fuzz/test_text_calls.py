"""Calls in text in all forms, with values full of marks: a client runs what the model meant, or
nothing, however the text is cut.
"""

import json
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from converter.core.model.events import ToolCall, joined
from converter.core.reading.tool_calls.reading import Expectations
from tests.support.call_engine import call_engine
from tests.support.strategies import cut, law
from tests.support.tool_call_texts import TOOLS, WRITTEN, bare

pytestmark = pytest.mark.slow

type Ran = list[tuple[str, object]]

CERTAIN = (
    *(
        "Oslo",
        "a b",
        "é🙂",
        "x",
        "7",
        "true",
        "null",
        "\\",
        "'",
        '"',
        "{",
        "}",
        "[",
        "]",
        ",",
        ": ",
    ),
    *("</tool_call> x", "</function> x", "</invoke> x", "<think>", "</think>x", "<|call|> x"),
    *('"}} x', '{"name": "now"}', "``", "to=functions.now json{}", "call:now{}", "<item>"),
)
"""Parts of values in which no form has two readings."""
UNCERTAIN = (
    *(
        "</parameter>",
        "</parameter>\n",
        "<parameter=path>",
        "\n<parameter=content>\n",
        "\r\n",
        "\n\n",
    ),
    *('<parameter name="content">', "</arg_value>", "<arg_key>content</arg_key><arg_value>"),
    *("</tool_call>", "</function>", "</invoke>", '<|"|>', "<tool_call>", "]<]minimax[>[", "```\n"),
    *("<|tool_call_end|>", "and so", " "),
)
FORMS = st.sampled_from(sorted(WRITTEN))


def _values(parts: Sequence[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(parts), min_size=1, max_size=5).map("x".join)


def _calls(parts: Sequence[str]) -> st.SearchStrategy[list[tuple[str, dict[str, str]]]]:
    values = st.fixed_dictionaries({"path": _values(parts), "content": _values(parts)})
    return st.lists(values.map(lambda given: ("write_file", given)), min_size=1, max_size=2)


def _run(pieces: Sequence[str]) -> Ran | None:
    """What a client would run; None: the reply ends in an error."""
    engine = call_engine(Expectations(TOOLS))
    events = joined([*(e for piece in pieces for e in engine.feed(piece)), *engine.flush()])
    if engine.calls.broken:
        return None
    ended = [event for event in events if isinstance(event, ToolCall) and event.ends]
    return [(event.name, json.loads(event.arguments)) for event in ended]


def _same(ran: object, meant: dict[str, str]) -> bool:
    """Compare arguments: what a form of tags says has no type."""
    assert isinstance(ran, dict)
    return {key: bare(value) for key, value in ran.items()} == meant


@law(200)
@given(FORMS, _calls(CERTAIN))
def test_what_runs_was_meant(name: str, meant: list[tuple[str, dict[str, str]]]) -> None:
    text = WRITTEN[name].write(meant)
    ran = _run([text])
    assert ran is None or all(
        any(called == wanted and _same(given, arguments) for wanted, arguments in meant)
        for called, given in ran
    )


@law(200)
@given(st.data(), FORMS, _calls((*CERTAIN, *UNCERTAIN)))
def test_it_is_the_same_however_it_is_cut(
    data: st.DataObject, name: str, meant: list[tuple[str, dict[str, str]]]
) -> None:
    text = WRITTEN[name].write(meant)
    assume(text)
    assert _run(data.draw(cut(text))) == _run(list(text)) == _run([text])
