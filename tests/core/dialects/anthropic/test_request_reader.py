import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.anthropic.request_reader import read
from converter.core.dialects.dialect import Purpose, RequestContext
from converter.core.dialects.wire_form import Mapped
from converter.core.model.conversation import (
    Conversation,
    RequestError,
    Sampling,
    TextBlock,
    ThinkingBlock,
    ThinkingSwitch,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
    Turn,
)
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

HI = {"role": "user", "content": "hi"}
TOOL = {"name": "f", "description": "does f", "input_schema": {"type": "object"}}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]}

# As Claude Code 2.1.197 writes it for a model it does not know.
CLAUDE_CODE: dict[str, Any] = ROWS["claude code"]


def ask(**fields: object) -> dict[str, object]:
    return {"model": "tiny", "max_tokens": 2048, "messages": [HI], **fields}


def test_a_whole_request_of_claude_code() -> None:
    notes = ("tools left out: web_search_20250305: only Anthropic's models and servers know them",)
    assert read(CLAUDE_CODE) == Conversation(
        model="tiny",
        turns=(
            Turn("user", (TextBlock("list files"),)),
            Turn("system", (TextBlock("The date is 1 November."),)),
            Turn(
                "assistant",
                (
                    ThinkingBlock("ls will do", "s"),
                    TextBlock("Looking."),
                    ToolUse("toolu_1", "Bash", '{"command": "ls"}'),
                ),
            ),
            Turn("user", (ToolResult("toolu_1", (TextBlock("a.txt"),)),)),
        ),
        system=("You are Claude Code.", "Be brief."),
        max_tokens=32000,
        tools=(
            Tool(
                "Bash", {"type": "object", "properties": {"command": {"type": "string"}}}, "Runs."
            ),
        ),
        sampling=Sampling(temperature=1),
        stream=True,
        thinking=ThinkingSwitch("adaptive"),
        effort="medium",
        user_id="user_1",
        notes=notes,
    )


def test_reading_leaves_the_body_as_it_was() -> None:
    before = copy.deepcopy(CLAUDE_CODE)
    read(CLAUDE_CODE)
    assert before == CLAUDE_CODE


@pytest.mark.parametrize(("system", "expected"), ROWS["system text without billing lines"])
def test_system_text_without_billing_lines(system: object, expected: tuple[str, ...]) -> None:
    assert read(ask(system=system)).system == expected


BILLING = "x-anthropic-billing-header: cc_version=2.1.197.a1; cch=1;"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"{BILLING}\nBe brief.", ("Be brief.",)),
        (
            [{"type": "text", "text": BILLING}, {"type": "text", "text": "Be brief."}],
            ("Be brief.",),
        ),
        (
            [{"type": "text", "text": "Be brief."}, {"type": "text", "text": BILLING}],
            ("Be brief.",),
        ),
        (f"Never write\n{BILLING}", (f"Never write\n{BILLING}",)),
    ],
)
def test_billing_lines_go_from_system_messages_among_the_messages(
    content: object, expected: tuple[str, ...]
) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "system", "content": content}]
    turn = read(ask(messages=messages)).turns[-1]
    assert (turn.role, turn.blocks) == ("system", tuple(map(TextBlock, expected)))


def test_a_system_message_of_nothing_but_a_billing_line_goes() -> None:
    messages = [{"role": "system", "content": BILLING}, {"role": "user", "content": BILLING}]
    assert [turn.role for turn in read(ask(messages=messages)).turns] == ["user"]
    assert read(ask(messages=messages)).turns[0].blocks == (TextBlock(BILLING),)


@pytest.mark.parametrize(("name", "value"), ROWS["service fields and nulls say nothing"])
def test_service_fields_and_nulls_say_nothing(name: str, value: object) -> None:
    assert read(ask(**{name: value})) == read(ask())


@pytest.mark.parametrize(
    ("fields", "name", "expected"),
    [
        ({"stop_sequences": ["a", "b\n"]}, "stop_sequences", ("a", "b\n")),
        ({"temperature": 0.5, "top_p": 1, "top_k": 40}, "sampling", Sampling(0.5, 1, 40)),
        ({"stream": True}, "stream", True),
        ({"metadata": {"user_id": "u"}}, "user_id", "u"),
        ({"max_tokens": 0}, "max_tokens", 0),
        *(
            ({"output_config": {"effort": effort}}, "effort", effort)
            for effort in ("low", "medium", "high", "xhigh", "max")
        ),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {"a": 1}}}},
            "output_schema",
            {"a": 1},
        ),
        ({"output_format": {"type": "json_schema", "schema": {"a": 1}}}, "output_schema", {"a": 1}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            "thinking",
            ThinkingSwitch("enabled", 1024),
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 2047}},
            "thinking",
            ThinkingSwitch("enabled", 2047),
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": -1}},
            "thinking",
            ThinkingSwitch("enabled", None),
        ),
        ({"thinking": {"type": "disabled"}}, "thinking", ThinkingSwitch("disabled")),
        ({"thinking": {"type": "between_tools"}}, "thinking", ThinkingSwitch("between_tools")),
        (
            {"thinking": {"type": "adaptive", "display": "omitted"}},
            "thinking",
            ThinkingSwitch("adaptive", shown=False),
        ),
        (
            {"thinking": {"type": "adaptive", "display": "summarized"}},
            "thinking",
            ThinkingSwitch("adaptive", shown=True),
        ),
        (  # what no local server can make of a thought: it comes as it is
            {"thinking": {"type": "adaptive", "display": "updates"}},
            "thinking",
            ThinkingSwitch("adaptive", shown=True),
        ),
        (
            {"tools": [{**TOOL, "type": "custom", "strict": True}]},
            "tools",
            (Tool("f", {"type": "object"}, "does f", True),),
        ),
        ({"tools": [TOOL], "tool_choice": {"type": "auto"}}, "tool_choice", ToolChoice("auto")),
        ({"tools": [TOOL], "tool_choice": {"type": "any"}}, "tool_choice", ToolChoice("required")),
        ({"tools": [TOOL], "tool_choice": {"type": "none"}}, "tool_choice", ToolChoice("none")),
        (
            {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "f"}},
            "tool_choice",
            ToolChoice("named", "f"),
        ),
        (
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
            "parallel_tool_use",
            False,
        ),
        (
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}},
            "parallel_tool_use",
            True,
        ),
    ],
)
def test_each_field(fields: dict[str, object], name: str, expected: object) -> None:
    assert getattr(read(ask(**fields)), name) == expected


def test_what_is_read_with_leniency_is_noted() -> None:
    conversation = read(
        ask(thinking={"type": "enabled", "budget_tokens": -1}, output_config={"effort": "giant"})
    )
    assert conversation.effort is None
    assert conversation.notes == (
        "thinking.budget_tokens -1 read as no limit",
        "output_config.effort left out: 'giant' is not known",
    )


@pytest.mark.parametrize(
    ("body", "message"), ROWS["what breaks the format is refused with its path"]
)
def test_what_breaks_the_format_is_refused_with_its_path(body: object, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(body)
    assert caught.value.message == message


SAYS = {"role": "assistant", "content": "and"}
TELLS = {"role": "system", "content": "now"}


@pytest.mark.parametrize(
    "messages",
    [
        [HI, USE, RESULT],
        [HI, USE, TELLS, RESULT],
        [HI, USE, SAYS, RESULT],
        [HI, USE, TELLS, SAYS, RESULT],
        [HI, USE, HI, RESULT],
    ],
    ids=[
        "at once",
        "after a system message",
        "after a second assistant message",
        "after both",
        "in the second of two user messages",
    ],
)
def test_a_result_answers_the_call_before_it(messages: list[object]) -> None:
    read(ask(messages=messages))


@pytest.mark.parametrize(
    "messages",
    [[RESULT], [HI, USE, RESULT, SAYS, RESULT], [HI, SAYS, RESULT], [RESULT, USE]],
    ids=[
        "no call at all",
        "a call of an earlier turn",
        "a turn without calls",
        "a call that comes later",
    ],
)
def test_a_result_without_its_call_goes_on_as_it_is(messages: list[object]) -> None:
    conversation = read(ask(messages=messages))
    assert len(conversation.turns) == len(messages)
    assert conversation.notes == (
        "results of calls that the turn before does not have, passed on as they are: a",
    )


def test_stop_sequences_of_blanks_pass_and_empty_ones_are_left_out() -> None:
    conversation = read(ask(stop_sequences=["\n\n", "", " "]))
    assert conversation.stop_sequences == ("\n\n", " ")
    assert conversation.notes == ("stop_sequences.1 left out: it is empty",)


@pytest.mark.parametrize("budget", [0, 256, 1023])
def test_a_budget_below_the_least_of_the_api_passes(budget: int) -> None:
    conversation = read(ask(thinking={"type": "enabled", "budget_tokens": budget}))
    assert conversation.thinking == ThinkingSwitch("enabled", budget)
    assert conversation.notes == ()


def test_a_budget_beyond_max_tokens_passes_with_a_word() -> None:
    conversation = read(ask(thinking={"type": "enabled", "budget_tokens": 2048}))
    assert conversation.thinking == ThinkingSwitch("enabled", 2048)
    (note,) = conversation.notes
    assert "no room for an answer" in note


def test_blocks_that_no_local_server_knows_are_noted_once() -> None:
    turn = {"role": "user", "content": [{"type": "own"}, {"type": "container_upload"}]}
    assert read(ask(messages=[turn], system=[{"type": "own"}])).notes == (
        "blocks left out: container_upload, own: no local server knows them",
    )


def test_blocks_that_a_row_read_from_a_reply_are_left_out_without_a_word() -> None:
    blocks = [{"type": "custom", "custom_data": "x"}, {"type": "text", "text": "a"}]
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": blocks}]
    conversation = read(ask(messages=turns), RequestContext(map={"field": Mapped("custom", "key")}))
    assert conversation.turns[1].blocks == (TextBlock("a"),)
    assert conversation.notes == ()


def test_a_count_needs_no_max_tokens() -> None:
    body = {"model": "m", "messages": [HI], "thinking": {"type": "enabled", "budget_tokens": 50000}}
    assert read(body, RequestContext(Purpose.COUNT)).max_tokens is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["text", "user", "tool_result", "base64"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "role",
                    "content",
                    "text",
                    "source",
                    "data",
                    "media_type",
                    "tool_use_id",
                    "id",
                    "name",
                    "input",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
FIELD_NAMES = sorted({*CLAUDE_CODE, "tool_choice", "stop_sequences", "top_k", "output_format"})


@given(JSON | st.dictionaries(st.sampled_from(FIELD_NAMES), JSON))
def test_any_json_raises_nothing_but_our_error(body: object) -> None:
    with suppress(RequestError):
        read(body)


@given(st.data())
def test_any_change_to_a_good_request_raises_nothing_but_our_error(data: st.DataObject) -> None:
    """One value somewhere in a good request is replaced by anything."""
    body: Any = copy.deepcopy(CLAUDE_CODE)
    spot = body
    while True:
        key = data.draw(
            st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot)))
        )
        if not isinstance(spot[key], dict | list) or not spot[key] or data.draw(st.booleans()):
            break
        spot = spot[key]
    spot[key] = data.draw(JSON)
    with suppress(RequestError):
        read(body)
