"""Calls in the text of up to three choices, with tags, closing marks and broken JSON in them."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.table import OPENAI_CHAT, Form
from laws.reply_parser import parse_reply
from tests.support.frames import DONE, delta, finish
from tests.support.recordings_of import recording
from tests.support.strategies import cut, law
from tests.support.tool_call_texts import TOOLS, WRITTEN

pytestmark = pytest.mark.slow

OFFERED = [
    {"type": "function", "function": {"name": name, "parameters": schema}}
    for name, schema in TOOLS.items()
]
_INSIDE = st.sampled_from(
    ["Oslo", "<think>", "</think>", "</tool_call>", "</parameter>", '"}}', "</function>", "\n```\n"]
)
_FAULTS = st.sampled_from(
    [
        ("}", ""),
        ("{", "{oops "),
        ('"', "'"),
        ("</", ""),
        (">", ""),
        (":", ""),
        ("}", ",}"),
        ("", ""),
    ]
)


@st.composite
def _calls(draw: st.DrawFn) -> str:
    inside = "".join(draw(st.lists(_INSIDE, max_size=3)))
    call = draw(st.sampled_from([("get_weather", {"city": inside}), ("now", {})]))
    text = WRITTEN[draw(st.sampled_from(sorted(WRITTEN)))].write([call])
    wrong, mended = draw(_FAULTS)
    return text if not wrong else text.replace(wrong, mended, draw(st.integers(0, 2)))


_TEXTS = st.lists(
    st.one_of(_calls(), st.sampled_from(["So. ", "\n\n", "<think>Hm.</think>", "and "])), max_size=4
).map("".join)


def _view(choices: Sequence[Sequence[str]], form: Form) -> object:
    """Return what a client reads, or that it is an error; ids come once, indexes from 0."""
    frames = [delta(index, content=piece) for index, text in enumerate(choices) for piece in text]
    frames += [finish("stop", index) for index in range(len(choices))]
    recorded = recording(b"".join([*frames, DONE]), tools=OFFERED)
    rewriter = recorded.rewriter(OPENAI_CHAT, form)
    out = b"".join([*rewriter.feed(recorded.body), *rewriter.close()])
    parsed = parse_reply(out, form, OPENAI_CHAT)
    if parsed.error:
        return "an error"
    replies = [parsed.choices[index] for index in sorted(parsed.choices)]
    ids = [call["id"] for reply in replies for call in reply.calls.values()]
    assert len(ids) == len(set(ids))
    assert all([*reply.calls] == [*range(len(reply.calls))] for reply in replies)
    return [
        [[(call["name"], call["arguments"]) for call in reply.calls.values()], reply.joined("text")]
        for reply in replies
    ]


@law(40)
@given(st.data(), st.lists(_TEXTS.filter(bool), min_size=1, max_size=3))
def test_calls_of_several_choices_however_they_are_cut(
    data: st.DataObject, texts: list[str]
) -> None:
    for form in Form:
        whole = _view([[text] for text in texts], form)
        assert _view([data.draw(cut(text)) for text in texts], form) == whole
