"""Between decoder and encoder: the initial state of a reply, its budget, its thoughts reported."""

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import reading_of
from converter.core.model.events import End, Event, Finish, Text, Thinking, ThinkingEnd
from converter.core.model.initial_state import InitialState
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.family_choice import choose
from converter.core.reading.reading import Expected
from converter.core.reply.chain import Stages
from converter.core.reply.stages import STAGES


def _stage(
    begins: InitialState = InitialState.TEXT, whole: bool = False, **chosen: object
) -> Stages:
    return Stages(STAGES, reading_of(settings.read(chosen), Expected(begins), whole))


def _read(stage: Stages, *texts: str, finish: str = "stop") -> str:
    """Return the output as text, with thinking in parentheses."""
    events: list[Event] = [*map(Text, texts), Finish(finish), End()]
    out = [emitted for event in events for emitted in stage.feed(event)] + list(stage.close())
    marks = {Thinking: "({})", Text: "{}", ThinkingEnd: "."}
    return "".join(
        marks[type(event)].format(getattr(event, "text", ""))
        for event in out
        if type(event) in marks
    )


def test_a_stream_whose_initial_state_is_a_thought_is_read_so() -> None:
    stage = _stage(InitialState.THINKING)
    assert _read(stage, "a</think>b") == "(a).b"
    assert stage.findings.beginning.correction is None


def test_an_opener_that_comes_all_the_same_is_swallowed() -> None:
    assert _read(_stage(InitialState.THINKING), "<think>\na</think>b") == "(a).b"


def test_a_stream_begun_as_text_keeps_an_unmatched_closer_and_learns() -> None:
    stage = _stage()
    assert _read(stage, "a</thi", "nk>b") == "a</think>b"
    assert stage.findings.beginning.correction is InitialState.THINKING


APART = {
    "a\n</think>\n\nb": True,
    "a</think>\nb": True,
    "I add.</think>b": True,
    "a\n</think> b": True,
    "it ends with </think> then": False,
    "(</think>)": False,
    "the tag</think>.": False,
}


@pytest.mark.parametrize(("text", "apart"), APART.items())
@pytest.mark.parametrize("begins", InitialState)
@pytest.mark.parametrize("size", [1, 100])
def test_a_closer_amid_text_differs_from_one_that_a_model_writes(
    begins: InitialState, text: str, apart: bool, size: int
) -> None:
    stage = _stage(begins)
    _read(stage, *(text[at : at + size] for at in range(0, len(text), size)))
    assert stage.findings.beginning.closer_apart == apart


def test_a_special_token_is_nobodys_text() -> None:
    stage = _stage()
    _read(stage, "a <channel|> b")
    assert stage.findings.beginning.closer_apart


@pytest.mark.parametrize("text", ["`</think>` ends it", "<think>a</think>b</think>c", "plain"])
def test_a_closer_in_code_or_behind_a_thought_teaches_nothing(text: str) -> None:
    stage = _stage()
    _read(stage, text)
    assert stage.findings.beginning.correction is None


def test_a_stream_begun_as_thinking_that_ends_without_a_closer_loses_nothing_and_learns() -> None:
    stage = _stage(InitialState.THINKING)
    assert _read(stage, "all of it") == "(all of it)."
    assert stage.findings.beginning.correction is InitialState.TEXT


def test_a_reply_with_an_opener_of_its_own_was_read_rightly() -> None:
    stage = _stage(InitialState.THINKING)
    assert _read(stage, "<thi", "nk>\nall of it") == "(all of it)."
    assert stage.findings.beginning.correction is None


def test_a_thought_that_its_limit_cut_off_teaches_nothing() -> None:
    stage = _stage(InitialState.THINKING)
    assert _read(stage, "all of it", finish="length") == "(all of it)."
    assert stage.findings.beginning.correction is None


def test_an_unmatched_closer_that_goes_teaches_as_well() -> None:
    stage = _stage()
    assert _read(stage, "a<channel|>b") == "ab"
    assert stage.findings.beginning.correction is InitialState.THINKING


@pytest.mark.parametrize("whole", [False, True])
def test_a_guess_that_no_closer_confirms_leaves_the_answer_and_learns(whole: bool) -> None:
    stage = _stage(InitialState.LIKELY_THINKING, whole)
    assert _read(stage, "Hello there") == "Hello there"
    assert stage.findings.beginning.correction is InitialState.TEXT
    assert stage.findings.beginning.confirmed is None


@pytest.mark.parametrize("whole", [False, True])
def test_a_guess_that_a_closer_confirms_is_none_the_next_time(whole: bool) -> None:
    stage = _stage(InitialState.LIKELY_THINKING, whole)
    assert _read(stage, "why", "</think>so") == "(why).so"
    assert stage.findings.beginning.correction is None
    assert stage.findings.beginning.confirmed is InitialState.THINKING


BEGUN = [
    ("Use the ` sign</think>so `it` is", "(Use the ` sign).so `it` is"),
    ("```python\nprint()\n```</think>so", "(```python\nprint()\n```).so"),
    ("no closer at all", "(no closer at all)."),
    ("<think>\nits own opener</think>so", "(its own opener).so"),
]


@pytest.mark.parametrize(("content", "read"), BEGUN)
@pytest.mark.parametrize("whole", [False, True])
def test_the_initial_state_of_the_prompt_holds_streamed_and_whole(
    content: str, read: str, whole: bool
) -> None:
    assert _read(_stage(InitialState.THINKING, whole), content) == read


def test_what_the_user_says_goes_first() -> None:
    assert _read(_stage(InitialState.THINKING, start="text"), "a") == "a"
    assert _read(_stage(InitialState.TEXT, start="thinking"), "a</think>b") == "(a).b"


def test_a_whole_reply_decides_with_the_text_in_hand() -> None:
    assert _read(_stage(InitialState.TEXT, whole=True), "a</think>b") == "(a).b"
    assert _read(_stage(InitialState.TEXT, whole=True), "a") == "a"
    assert _read(_stage(InitialState.THINKING, whole=True), "<think>a</think>b") == "(a).b"


def test_a_whole_reply_cut_off_inside_the_thought_it_began_in_is_thinking() -> None:
    assert _read(_stage(InitialState.THINKING, whole=True), "\na\n", finish="length") == "(a)."
    assert _read(_stage(InitialState.TEXT, whole=True), "a", finish="length") == "a"


def test_markers_are_read_in_what_is_text_after_the_tags() -> None:
    stage = _stage(markers=True)
    assert _read(stage, "Let me think. 1 and 1. Now I'll say 2.").endswith(".Now I'll say 2.")
    assert not stage.findings.unclosed


def test_a_model_that_tags_needs_no_markers() -> None:
    assert (
        _read(_stage(markers=True), "<think>a</think>Let me think. Now I'll say 2.")
        == "(a).Let me think. Now I'll say 2."
    )


def test_a_thought_of_a_phrase_that_nothing_ends_is_reported() -> None:
    stage = _stage(markers=True)
    assert _read(stage, "Let me think. 1 and 1.").startswith("(Let me think.")
    assert stage.findings.unclosed


def test_markers_are_off_unless_requested() -> None:
    assert _read(_stage(), "Let me think. Now I'll say 2.") == "Let me think. Now I'll say 2."


@pytest.mark.parametrize(("text", "thought"), [("<think>a</think>b", True), ("b", False)])
def test_a_thought_is_read_where_there_is_one(text: str, thought: bool) -> None:
    stage = _stage()
    _read(stage, text)
    assert stage.findings.has_thinking is thought


def test_a_thought_in_the_field_and_in_the_content_is_emitted_once() -> None:
    events: list[Event] = [
        Text("<think>"),
        Thinking("Hm"),
        Text("Hm"),
        Thinking("."),
        Text(".</think>So"),
    ]
    for begins, sent in ((InitialState.TEXT, events), (InitialState.THINKING, events[1:])):
        stage = _stage(begins)
        out = [emitted for event in [*sent, Finish("stop"), End()] for emitted in stage.feed(event)]
        texts = [(type(event), event.text) for event in out if isinstance(event, Text | Thinking)]
        assert texts == [(Thinking, "Hm"), (Thinking, "."), (Text, "So")]


# A closer without its opener is found wherever the text is cut, and in code it is a word.


ENDING = [
    "so it is.</think>\n\nYes",
    " a</think>",
    "a\n`b` </thinking> c",
    "`</think>` and </think>",
]
NOT_ENDING = [
    "",
    "Yes",
    "`</think>`",
    "```\n</think>\n```\n",
    "</think",
    "</THINK>",
    "< /think>",
    "a `b </think> c` d",
    "</think>",
    " \n</think>\n\nYes",
]


def _watched(pieces: list[str]) -> bool:
    engine = Engine(mark_table(choose(["think", "thinking"])))
    for piece in pieces:
        engine.feed(piece)
    return engine.answer.unmatched_closer


@pytest.mark.parametrize(
    ("text", "ends"), [*((text, True) for text in ENDING), *((text, False) for text in NOT_ENDING)]
)
def test_a_closer_counts_outside_of_code(text: str, ends: bool) -> None:
    assert _watched([text]) is ends
    assert _watched(list(text)) is ends
    assert [_watched([text[:cut], text[cut:]]) for cut in range(len(text))] == [ends] * len(text)
