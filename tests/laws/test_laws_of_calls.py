"""Every law over replies with tool calls in their text, in each form, and in their thoughts."""

import pytest

from converter.extras.recordings.recording import Recording
from laws.laws import check
from laws.variants import DRAWN
from tests.support.frames import END, ROLE, delta, finish, text
from tests.support.recordings_of import recording, streamed
from tests.support.strategies import every_so_many, share_of
from tests.support.tool_call_texts import TOOLS, WRITTEN, Calls

OFFERED = [
    {"type": "function", "function": {"name": name, "parameters": schema}}
    for name, schema in TOOLS.items()
]
TWO: Calls = [
    ("get_weather", {"city": "Oslo", "days": 3}),
    ("write_file", {"path": "a", "tags": ["é"]}),
]
DRAFTED = f"I look.\n\n{WRITTEN['hermes'].write(TWO)}"
ONE_OF_EACH_KIND = ["hermes", "qwen3-coder", "glm", "kimi", "minimax-m3", "gemma", "lfm2", "json"]
NOW = WRITTEN["hermes"].write([("now", {})])


def in_pieces(text_of_calls: str) -> list[str]:
    return [text_of_calls[at : at + 20] for at in range(0, len(text_of_calls), 20)]


def reply(*frames: bytes) -> Recording:
    return recording(b"".join([ROLE, *frames]), tools=OFFERED)


@pytest.mark.parametrize(
    "name",
    [
        *every_so_many(ONE_OF_EACH_KIND),
        *(
            pytest.param(name, marks=pytest.mark.nightly)
            for name in WRITTEN
            if name not in ONE_OF_EACH_KIND
        ),
    ],
)
def test_calls_of_any_form_break_no_law(name: str) -> None:
    text_of_calls = f"<think>Hm.</think>\n\n{WRITTEN[name].write(TWO)}\n"
    sample = streamed(*in_pieces(text_of_calls), tools=OFFERED)
    assert [broken.message("") for broken in check(sample, share_of(2))] == []


@pytest.mark.parametrize("name", every_so_many(ONE_OF_EACH_KIND))
def test_calls_that_the_limit_cut_off_break_no_law(name: str) -> None:
    text_of_calls = WRITTEN[name].write(TWO)
    sample = reply(
        *text(*in_pieces(text_of_calls[: len(text_of_calls) * 2 // 3])), finish("length")
    )
    assert [broken.message("") for broken in check(sample, share_of(2))] == []


IN_THOUGHTS = {
    "the server's thinking": [delta(reasoning_content=piece) for piece in in_pieces(DRAFTED)],
    "its thinking, and an answer": [delta(reasoning=DRAFTED), *text("\n\n", "Let me look.")],
    "a draft, and an answer": [delta(reasoning=f"{DRAFTED}\nNo."), *text("I will not.")],
    "a draft, and a call": [delta(reasoning=DRAFTED), *text(NOW)],
    "tags": list(text("<think>I look.\n<function=now>\n</function>\n</think>")),
    "tags, and the same call": list(text(f"<think>I look.\n{NOW}</think>So:\n", NOW)),
    "tags, and an answer": list(text("<think>I look.\n<function=now>\n</function>No.</think>So.")),
}


@pytest.mark.parametrize("name", every_so_many(list(IN_THOUGHTS)))
def test_calls_in_thoughts_break_no_law(name: str) -> None:
    sample = reply(*IN_THOUGHTS[name], *END)
    assert [broken.message("") for broken in check(sample, share_of(DRAWN))] == []
