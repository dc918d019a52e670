"""The engine's stage: thoughts and calls in one text, the server's own beside them."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import Event, Finish, Text, Thinking, ToolCall, joined
from converter.core.model.initial_state import InitialState
from converter.core.reading.engine.stage import ReadingStage
from converter.core.reading.family_choice import choose
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, ExpectedCalls, Reading
from converter.core.reading.tool_calls.calls_read import Tools
from tests.support.strategies import cut, law
from tests.support.tool_call_texts import TOOLS, WRITTEN

OSLO = ("get_weather", {"city": "Oslo"})
CALLS = [written.write([OSLO]) for written in WRITTEN.values()]
NOW = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
PARTS = [
    NOW,
    "Look.\n",
    "So ",
    "\n\n",
    "`code` ",
    "<think>",
    "why</think>",
    "</think>\n",
    "<|end|>",
    "é",
]


def _read(
    start: InitialState, *events: Event, model: str = "", forbids: bool = False
) -> tuple[list[Event], Findings]:
    expected = Expected(
        initial=start,
        model=model,
        calls=ExpectedCalls(True, read=None if forbids else Tools(TOOLS), forbidden=forbids),
    )
    findings = Findings()
    stage = ReadingStage(Reading(choose(["auto"]), expected=expected), 0, findings, "call_")
    out = [emitted for event in events for emitted in stage.feed(event)]
    return joined([*out, *stage.close()]), findings


def _names(events: Sequence[Event]) -> list[str]:
    return [event.name for event in events if isinstance(event, ToolCall)]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("start", [InitialState.TEXT, InitialState.THINKING])
def test_every_form_is_read_behind_a_thought(call: str, start: InitialState) -> None:
    opener = "<think>" if start is InitialState.TEXT else ""
    text = f"{opener}why</think>\n{call}"
    for pieces in ([text], list(text)):
        events, findings = _read(start, *map(Text, pieces), Finish("stop"))
        assert events[0] == Thinking("why")
        assert _names(events) == ["get_weather"]
        assert findings.beginning.correction is None
        assert events[-1] == Finish("stop")  # the assembler makes it that of a call


@law(100)
@given(st.lists(st.sampled_from(PARTS), max_size=6), st.data())
def test_cut_anywhere_the_same_events_and_notes(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    pieces = data.draw(cut(text))
    start = data.draw(st.sampled_from([InitialState.TEXT, InitialState.THINKING]))
    whole, findings = _read(start, Text(text), Finish("stop"))
    events, cut_findings = _read(start, *map(Text, pieces), Finish("stop"))
    assert events == whole
    assert cut_findings.calls == findings.calls
    assert cut_findings.beginning.correction == findings.beginning.correction


def test_the_servers_own_call_ends_the_reading_of_calls() -> None:
    call = ToolCall(0, "x", "now", "{}")
    events, _ = _read(InitialState.TEXT, Text(CALLS[0]), call, Text(CALLS[0]), Finish("stop"))
    assert _names(events) == ["get_weather", "now"]
    assert Text(CALLS[0]) in events


def test_the_servers_own_thinking_ends_the_reading_of_tags() -> None:
    text = f"a<think>b\n{NOW}"
    events, _ = _read(
        InitialState.TEXT, Thinking("why"), Text("<think>why</think>\n"), Text(text), Finish("stop")
    )
    assert [event.text for event in events if isinstance(event, Text)] == ["\na<think>b"]
    assert _names(events) == ["now"]


def test_a_draft_that_is_sent_again_is_one_call() -> None:
    text = f"<think>I look.\n{NOW}\n</think>\n{NOW}"
    events, findings = _read(InitialState.TEXT, Text(text), Finish("stop"))
    assert _names(events) == ["now"]
    assert findings.calls.repetitions == ["now"]


def test_the_closer_of_a_call_is_no_sign_of_a_thought() -> None:
    call = '<|content_invoke_tool_json|>{"name": "now", "args": {}}<|end_message|>'
    events, findings = _read(InitialState.TEXT, Text(call), Finish("stop"))
    assert _names(events) == ["now"]
    assert findings.beginning.correction is None


SECTION = "<|tool_calls_section_begin|>"
KIMI = (
    "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    "<|tool_calls_section_end|>"
)
MUSE = '<atem:function_calls>\n<atem:invoke name="now">\n</atem:invoke>\n</atem:function_calls>'
DROPPED: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "a section before words": ("", f"{SECTION}I look.", [("", "I look.")]),
    "a section before words, in a text": ("", f"So.\n{SECTION}I look.", [("", "So.\nI look.")]),
    "a section before words, in a thought": (
        "",
        f"<think>So. {SECTION}I look.</think>Yes.",
        [(">", f"So. {SECTION}I look."), ("", "Yes.")],
    ),
    "a section that is shown": ("", f"`{SECTION}I look`", [("", f"`{SECTION}I look`")]),
    "a section with its call": ("", f"So.\n{SECTION}{KIMI}", [("", "So."), ("call", "now")]),
    "DeepSeek's section before words": ("", "<｜tool▁calls▁begin｜>Hm, no.", [("", "Hm, no.")]),
    "Gemma's opener once more": (
        "gemma-4-e4b",
        "<|channel>thought\nA plan.\n<|channel>thought\nMore.<channel|>So.",
        [(">", "A plan.\nMore."), ("", "So.")],
    ),
    "Muse's header before a call": (
        "muse-glimmer",
        f" to=self<|message|>Why.<|eom|><|start|>assistant to=now<|message|>{MUSE}",
        [(">", "Why."), ("call", "now")],
    ),
    "Muse's header of the answer": (
        "muse-glimmer",
        " to=self<|message|>Why.<|eom|><|start|>assistant to=user<|message|>So.<|eot|>",
        [(">", "Why."), ("", "So.")],
    ),
    "the end of MiniMax-M3's turn": ("minimax-m3", "So.[e~[", [("", "So.")]),
}


def _blocks(events: Sequence[Event]) -> list[tuple[str, str]]:
    kinds: list[tuple[str, str]] = []
    for event in events:
        match event:
            case Thinking():
                kinds.append((">", event.text))
            case Text():
                kinds.append(("", event.text))
            case ToolCall() if event.name:
                kinds.append(("call", event.name))
    return kinds


@pytest.mark.parametrize(("model", "text", "expected"), DROPPED.values(), ids=DROPPED)
def test_marks_that_say_nothing_go(model: str, text: str, expected: list[tuple[str, str]]) -> None:
    cuts = [[text[:offset], text[offset:]] for offset in range(1, len(text))]
    for pieces in ([text], list(text), *cuts):
        events, _ = _read(InitialState.TEXT, *map(Text, pieces), Finish("stop"), model=model)
        assert _blocks(events) == expected


FORBIDDEN = {
    f"I look.\n{NOW}\nDone.": "I look.\n\n"
    + NOW[len("<tool_call>\n") : -len("</tool_call>")]
    + "\nDone.",
    f"<think>why</think>{SECTION}{KIMI}": "functions.now:0<|tool_call_argument_begin|>{}",
    "<think>why\n<|tool_call_start|>[now()]<|tool_call_end|>": "[now()]",
    '[TOOL_CALLS]now[ARGS]{"a": "[TOOL_CALLS]"} so': 'now[ARGS]{"a": "[TOOL_CALLS]"} so',
    "`<tool_call>` and the <tool_call> tag": "`<tool_call>` and the <tool_call> tag",
}


@pytest.mark.parametrize(("text", "expected"), FORBIDDEN.items())
def test_the_marks_of_a_call_that_the_client_forbids_go(text: str, expected: str) -> None:
    for pieces in ([text], list(text)):
        events, _ = _read(InitialState.TEXT, *map(Text, pieces), Finish("stop"), forbids=True)
        assert "".join(event.text for event in events if isinstance(event, Text)) == expected
        assert not _names(events)


def _behind_field(text: str, model: str = "") -> str:
    """Return the text of a content behind a field's thought, the same cut at every offset."""
    cuts = [[text[:offset], text[offset:]] for offset in range(len(text) + 1)]
    results = []
    for pieces in (list(text), *cuts):
        texts = (Text(piece) for piece in pieces if piece)
        events, _ = _read(InitialState.TEXT, Thinking("why"), *texts, Finish("stop"), model=model)
        results.append("".join(event.text for event in events if isinstance(event, Text)))
    assert len(set(results)) == 1
    return results[0]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("</think>\n\nHello.", "\n\nHello."),
        ("\n</think></think> Hello.", "\n Hello."),
        ("[/THINK]Hello </think>.", "Hello </think>."),
        ("Hello </think>.", "Hello </think>."),
        ("</thinker> is no tag", "</thinker> is no tag"),
        ("</thin", "</thin"),
        ("It is 42.\n</answer>", "It is 42.\n</answer>"),
        ("", ""),
    ],
)
def test_behind_a_field_a_closer_at_the_head_goes(text: str, left: str) -> None:
    assert _behind_field(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<answer>It is 42.</answer>", "It is 42."),
        ("</think>\n<answer>\nIt is 42.\n</answer>\n", "\n\nIt is 42.\n\n"),
        ("It is 42.\n</answer>", "It is 42.\n"),
        ("Say </answer> then.", "Say </answer> then."),
        ("Half </answ", "Half </answ"),
    ],
)
def test_behind_a_field_the_tags_of_an_answer_go(text: str, left: str) -> None:
    assert _behind_field(text, "hunyuan-a13b") == left
    renamed = (it.replace("answer>", "response>").replace("answ", "resp") for it in (text, left))
    content, wanted = renamed
    assert _behind_field(content, "granite-3.3") == wanted.replace("respresponse", "response")


def test_behind_another_thought_there_is_a_head_again() -> None:
    events, _ = _read(
        InitialState.TEXT, Thinking("a"), Text("So."), Thinking("b"), Text("</think>Well.")
    )
    assert [event.text for event in events if isinstance(event, Text)] == ["So.", "Well."]


@pytest.mark.parametrize(
    ("content", "text"),
    [("</think>\n\nHello.", "\n\nHello."), ("</thi", "</thi"), ("<think>why</think>a", "a")],
)
def test_marks_that_a_server_leaves_behind_a_field_go(content: str, text: str) -> None:
    for pieces in ([content], list(content)):
        events: list[Event] = [Thinking("why"), *map(Text, pieces), Finish("stop")]
        read, _ = _read(InitialState.TEXT, *events)
        assert read == [Thinking("why"), Text(text), Finish("stop")]
