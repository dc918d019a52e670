from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.dialects.anthropic import request_reader as anthropic_request
from converter.dialects.openai_chat.messages import RequestSettings
from converter.dialects.openai_chat.request_reader import read
from converter.dialects.openai_chat.request_writer import write
from converter.model.conversation import (
    Block,
    Conversation,
    Data,
    Image,
    Linked,
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
from converter.servers.profiles import SERVERS, by_name

SERVER_NAMES = [server.name for server in SERVERS]
HI = [{"role": "user", "content": "hi"}]


def asked(**fields: Any) -> Conversation:
    return read({"model": "m", "messages": HI, **fields})


def test_a_request_is_read() -> None:
    assert read({"model": "m", "messages": HI}) == Conversation(
        "m", (Turn("user", (TextBlock("hi"),)),)
    )


def test_system_messages_at_the_head_are_the_system_text() -> None:
    head = [{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}]
    later = [{"role": "system", "content": "c"}]
    conversation = read({"messages": [*head, *HI, *later]})
    assert conversation.system == ("a", "b")
    assert [turn.role for turn in conversation.turns] == ["user", "system"]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_limit_is_read_under_both_names(name: str) -> None:
    assert asked(**{name: 5}).max_tokens == 5


@pytest.mark.parametrize(
    ("stop", "sequences"), [("a", ("a",)), (["a", "b"], ("a", "b")), (None, ())]
)
def test_a_stop_is_a_string_or_several(stop: object, sequences: tuple[str, ...]) -> None:
    assert asked(stop=stop).stop_sequences == sequences


def test_sampling_is_read() -> None:
    assert asked(temperature=0.5, top_p=1, top_k=3).sampling == Sampling(0.5, 1, 3)


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"a": 1}}}]},
        {"tools": [{"type": "function", "name": "f", "description": "d", "parameters": {"a": 1}}]},
        {"functions": [{"name": "f", "description": "d", "parameters": {"a": 1}}]},
    ],
)  # fmt: skip
def test_tools_are_read_in_every_form(fields: dict[str, Any]) -> None:
    assert asked(**fields).tools == (Tool("f", {"a": 1}, "d"),)


def test_a_custom_tool_takes_one_text() -> None:
    (tool,) = asked(tools=[{"type": "custom", "custom": {"name": "f", "description": "d"}}]).tools
    assert (tool.name, tool.description, tool.input_schema["required"]) == ("f", "d", ["input"])


@pytest.mark.parametrize(
    ("fields", "choice"),
    [
        ({"tool_choice": "auto"}, ToolChoice("auto")),
        ({"tool_choice": "none"}, ToolChoice("none")),
        ({"tool_choice": "required"}, ToolChoice("required")),
        ({"tool_choice": "any"}, ToolChoice("required")),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, ToolChoice("named", "f")),
        ({"tool_choice": {"type": "custom", "custom": {"name": "f"}}}, ToolChoice("named", "f")),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}},
            ToolChoice("required"),
        ),
        ({"function_call": {"name": "f"}}, ToolChoice("named", "f")),
        ({"function_call": "none"}, ToolChoice("none")),
        ({}, None),
    ],
)  # fmt: skip
def test_the_tool_choice_is_read_in_every_form(fields: dict[str, Any], choice: object) -> None:
    assert asked(**fields).tool_choice == choice


@pytest.mark.parametrize(
    ("fields", "switch", "effort"),
    [
        ({}, None, None),
        ({"chat_template_kwargs": {"enable_thinking": True}}, ThinkingSwitch("enabled"), None),
        ({"chat_template_kwargs": {"thinking_mode": "disabled"}}, ThinkingSwitch("disabled"), None),
        ({"chat_template_kwargs": {"other": 1}}, None, None),
        (
            {"chat_template_kwargs": {"thinking": True}, "thinking_budget_tokens": 9},
            ThinkingSwitch("enabled", 9),
            None,
        ),
        ({"reasoning_effort": "none"}, ThinkingSwitch("disabled"), None),
        ({"reasoning_effort": "low"}, ThinkingSwitch("adaptive"), "low"),
        ({"reasoning": {"effort": "high"}}, ThinkingSwitch("adaptive"), "high"),
    ],
)
def test_thinking_is_read_from_every_servers_switch(
    fields: dict[str, Any], switch: object, effort: str | None
) -> None:
    conversation = asked(**fields)
    assert (conversation.thinking, conversation.effort) == (switch, effort)
    assert write(conversation, RequestSettings())[0].items() >= fields.items()


def test_an_output_schema_is_read_with_its_name() -> None:
    schema = {"name": "n", "schema": {"type": "object"}, "strict": True}
    form = {"type": "json_schema", "json_schema": schema}
    conversation = asked(response_format=form)
    assert conversation.output_schema == {"type": "object"}
    assert (conversation.output_name, conversation.output_strict) == ("n", True)
    assert write(conversation, RequestSettings())[0]["response_format"] == form


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 2},
        {"logprobs": True, "top_logprobs": 3},
        {"response_format": {"type": "json_object"}},
        {"stream_options": {"include_usage": False}},
        {"vendor": {"a": [1]}},
    ],
)
def test_what_has_no_place_goes_on_as_it_came(fields: dict[str, Any]) -> None:
    conversation = asked(**fields)
    assert conversation.extensions == fields
    assert write(conversation, RequestSettings())[0].items() >= fields.items()


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ([], ""),
        ({}, "messages"),
        ({"messages": "a"}, "messages"),
        ({"messages": ["a"]}, "messages.0"),
        ({"messages": HI, "temperature": "hot"}, "temperature"),
        ({"messages": HI, "stop": [1]}, "stop.0"),
        ({"messages": HI, "tools": [{"function": {}}]}, "tools.0.function.name"),
        ({"messages": HI, "tool_choice": "often"}, "tool_choice"),
    ],
)
def test_what_no_server_can_answer_is_refused_with_its_place(body: object, place: str) -> None:
    with pytest.raises(RequestError) as raised:
        read(body)
    assert raised.value.place == place


# Laws, over drawn conversations.

WORDS = st.text(st.sampled_from('ab <>/"\\{}é🙂\n'), min_size=1, max_size=8)
NAMES = st.sampled_from(["f", "g"])
OBJECTS = st.dictionaries(st.sampled_from("ab"), st.one_of(WORDS, st.integers()), max_size=2)
IMAGES = st.sampled_from([Image(Linked("http://h/p.png")), Image(Data("image/png", "aGk="))])
TEXTS = st.builds(TextBlock, WORDS)


def turn(role: str, *kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Turn]:
    blocks = st.lists(st.one_of(*kinds), min_size=1, max_size=4)
    return blocks.map(lambda drawn: Turn(role, tuple(drawn)))  # type: ignore[arg-type]


RESULTS = st.builds(ToolResult, NAMES, st.lists(TEXTS, max_size=2).map(tuple), st.booleans())
TURNS = st.one_of(
    turn("user", TEXTS, IMAGES, RESULTS),
    turn(
        "assistant",
        st.builds(ThinkingBlock, WORDS),
        TEXTS,
        st.builds(ToolUse, NAMES, NAMES, OBJECTS),
    ),
    turn("system", TEXTS),
)
SWITCHES = st.one_of(
    st.none(),
    st.builds(ThinkingSwitch, st.just("enabled"), st.one_of(st.none(), st.integers(1, 9000))),
    st.sampled_from([ThinkingSwitch("adaptive"), ThinkingSwitch("disabled")]),
)
TOOLS = st.lists(
    st.builds(Tool, NAMES, st.just({"type": "object"}), st.sampled_from(["", "d"]), st.booleans()),
    max_size=2,
).map(tuple)
CHOICES = st.sampled_from(
    [
        None,
        ToolChoice("auto"),
        ToolChoice("none"),
        ToolChoice("required"),
        ToolChoice("named", "f"),
    ]
)
NUMBERS = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]))
CONVERSATIONS = st.builds(
    Conversation,
    st.sampled_from(["m", "qwen3-8b", "llama-nemotron-v1", "gpt-oss"]),
    st.lists(TURNS, max_size=5).map(tuple),
    system=st.lists(WORDS, max_size=2).map(tuple),
    max_tokens=st.one_of(st.none(), st.integers(1, 9)),
    tools=TOOLS,
    tool_choice=CHOICES,
    parallel_tool_use=st.booleans(),
    stop_sequences=st.lists(WORDS, max_size=2).map(tuple),
    sampling=st.builds(Sampling, NUMBERS, NUMBERS, st.one_of(st.none(), st.integers(1, 9))),
    stream=st.booleans(),
    thinking=SWITCHES,
    effort=st.sampled_from([None, "low", "medium", "high", "max"]),
    output_schema=st.sampled_from([None, {"type": "object"}]),
    output_name=st.sampled_from(["", "n"]),
    user_id=st.sampled_from([None, "u"]),
    extensions=st.sampled_from([{}, {"seed": 1}, {"chat_template_kwargs": {"a": 1}}]),
)
MANNERS = st.builds(
    RequestSettings,
    st.sampled_from(["tags", "reasoning_content", "reasoning", "drop"]),
    st.sampled_from(["as-written", "tools-first"]),
    server=st.sampled_from(SERVER_NAMES).map(by_name),
    server_parses=st.booleans(),
)


@given(CONVERSATIONS, MANNERS)
def test_what_the_writer_wrote_is_written_again_as_it_was(
    conversation: Conversation, manner: RequestSettings
) -> None:
    body, _ = write(conversation, manner)
    assert write(read(body), manner)[0] == body


def merged(turns: tuple[Turn, ...]) -> list[tuple[str, list[Block]]]:
    """The turns of one role in a row as one, as the format holds them."""
    runs = groupby(turns, key=lambda turn: turn.role)
    return [(role, [block for turn in run for block in turn.blocks]) for role, run in runs]


PLAIN = st.text(st.sampled_from("abé🙂"), min_size=1, max_size=8)


@st.composite
def messages_requests(draw: st.DrawFn) -> dict[str, Any]:
    """Requests that chat completions can hold whole: a thought first, one text, calls last."""
    messages: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(PLAIN)})
        call = {"type": "tool_use", "id": f"c{number}", "name": "f", "input": draw(OBJECTS)}
        thought = {"type": "thinking", "thinking": draw(PLAIN), "signature": ""}
        text = {"type": "text", "text": draw(PLAIN)}
        messages.append({"role": "assistant", "content": [thought, text, call]})
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": draw(PLAIN)}
        messages.append({"role": "user", "content": [result | {"is_error": draw(st.booleans())}]})
        messages.append({"role": "assistant", "content": draw(PLAIN)})
    return {"model": "m", "max_tokens": 9, "system": draw(PLAIN), "messages": messages}


@given(messages_requests())
def test_a_messages_request_is_the_same_conversation_after_the_way_through(
    body: dict[str, Any],
) -> None:
    before = anthropic_request.read(body)
    after = read(write(before, RequestSettings(history="reasoning_content"))[0])
    assert merged(after.turns) == merged(before.turns)
    assert replace(after, turns=()) == replace(before, turns=())
