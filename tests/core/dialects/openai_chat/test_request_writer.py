import json
from dataclasses import replace
from typing import Any

import pytest
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from pydantic import TypeAdapter, ValidationError

from converter.addon.servers.profiles import SERVERS, by_name, request_settings
from converter.core.dialects.anthropic import request_reader as anthropic_request
from converter.core.dialects.openai_chat.request_writer import write
from converter.core.model.conversation import (
    Conversation,
    Data,
    Document,
    Image,
    Linked,
    Sampling,
    Stored,
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

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

SERVER_NAMES = [server.name for server in SERVERS]
F = Tool("f", {"type": "object"}, "does f")
G = Tool("g", {"type": "object"})
F_SENT = {
    "type": "function",
    "function": {"name": "f", "description": "does f", "parameters": {"type": "object"}},
}
G_SENT = {"type": "function", "function": {"name": "g", "parameters": {"type": "object"}}}
HI = (Turn("user", (TextBlock("hi"),)),)


def written(
    conversation: Conversation, server: str = "generic", **fields: Any
) -> tuple[dict[str, Any], tuple[str, ...]]:
    return write(conversation, request_settings(by_name(server), conversation, **fields))


def body_of(server: str = "generic", **fields: Any) -> dict[str, Any]:
    body, _ = written(Conversation(**{"model": "m", "turns": HI, **fields}), server)
    return body


# Pydantic checks an `Iterable` only as it is read, and needs its adapter alive until then.
OPENAI = {
    False: TypeAdapter[Any](CompletionCreateParamsNonStreaming),
    True: TypeAdapter[Any](CompletionCreateParamsStreaming),
}


def read_through(value: Any) -> None:
    if isinstance(value, dict):
        value = value.values()
    if not isinstance(value, str | int | float | None):
        for item in value:
            read_through(item)


def check(body: dict[str, Any]) -> None:
    """The official SDK's own types accept the body."""
    read_through(OPENAI["stream" in body].validate_python(body))


def test_the_check_sees_a_bad_message() -> None:
    with pytest.raises(ValidationError):
        check({"model": "m", "messages": [{"role": "tool", "content": "no id"}]})


STANDARD = (
    CompletionCreateParamsStreaming.__required_keys__
    | CompletionCreateParamsStreaming.__optional_keys__
)

FULL = Conversation(
    model="m",
    system=("be brief",),
    turns=(
        Turn("user", (TextBlock("q"), Image(Data("image/png", "iVBO")))),
        Turn(
            "assistant",
            (ThinkingBlock("t", "sig-secret"), TextBlock("a"), ToolUse("c", "f", '{"x": 1}')),
        ),
        Turn(
            "user",
            (
                ToolResult("c", (TextBlock("r"), Image(Linked("http://x/a.png")))),
                Document((TextBlock("d"),), "T"),
            ),
        ),
    ),
    max_tokens=100,
    tools=(F, G),
    tool_choice=ToolChoice("required"),
    parallel_tool_use=False,
    stop_sequences=("stop",),
    sampling=Sampling(0.5, 0.9, 40),
    stream=True,
    thinking=ThinkingSwitch("enabled", 2048),
    effort="high",
    output_schema={"type": "object"},
    user_id="u",
)


@pytest.mark.parametrize(("fields", "sent"), ROWS["each field"], ids=ROWS["names of fields"])
def test_each_field(fields: dict[str, Any], sent: dict[str, Any]) -> None:
    body = body_of(**fields)
    assert body == {"model": "m", "messages": [{"role": "user", "content": "hi"}], **sent}
    check(body)


@pytest.mark.parametrize(
    ("server", "mode", "tools", "choice"),
    [
        ("llama.cpp", "named", [F_SENT], "required"),
        ("lmstudio", "named", [F_SENT], "required"),
        ("vllm", "named", [F_SENT, G_SENT], {"type": "function", "function": {"name": "f"}}),
        ("ollama", "named", [F_SENT], None),
        ("transformers", "none", [F_SENT, G_SENT], "none"),
        ("ollama", "none", None, None),
        ("llama.cpp", "none", [F_SENT, G_SENT], "none"),
        ("ollama", "required", [F_SENT, G_SENT], None),
    ],
)
def test_a_choice_the_server_cannot_be_sent_shapes_the_offer(
    server: str, mode: Any, tools: object, choice: object
) -> None:
    body = body_of(
        server, tools=(F, G), tool_choice=ToolChoice(mode, "f" if mode == "named" else "")
    )
    assert (body.get("tools"), body.get("tool_choice")) == (tools, choice)


@pytest.mark.parametrize("name", SERVER_NAMES)
def test_no_server_gets_what_its_row_leaves_out(name: str) -> None:
    body, _ = written(FULL, name)
    assert not body.keys() & by_name(name).leaves_out
    json.dumps(body)
    check({field: value for field, value in body.items() if field in STANDARD})


def test_a_server_nobody_knows_gets_plain_openai() -> None:
    body, _ = written(FULL)
    assert set(body) <= STANDARD
    assert body["reasoning_effort"] in ("none", "low", "medium", "high")  # of the API's reference
    check(body)


@pytest.mark.parametrize("name", ["vllm", "sglang", "llama.cpp", "nim", "lmstudio"])
def test_top_k_goes_where_it_is_taken(name: str) -> None:
    assert body_of(name, sampling=Sampling(top_k=40))["top_k"] == 40


@pytest.mark.parametrize("name", SERVER_NAMES)
@pytest.mark.parametrize("history", ["tags", "reasoning_content", "reasoning", "drop"])
def test_no_signature_is_ever_sent(name: str, history: Any) -> None:
    assert "sig-secret" not in json.dumps(written(FULL, name, history=history)[0])


PREFILL = (*HI, Turn("assistant", (TextBlock("The answer is"),)))


@pytest.mark.parametrize(
    ("server", "turns", "sent"),
    [
        ("vllm", PREFILL, {"continue_final_message": True, "add_generation_prompt": False}),
        ("sglang", PREFILL, {"continue_final_message": True}),
        ("llama.cpp", PREFILL, {}),
        ("generic", PREFILL, {}),
        ("vllm", HI, {}),
        ("vllm", (*HI, Turn("assistant", (ToolUse("c", "f", "{}"),))), {}),
    ],
)
def test_a_prefill_is_continued(server: str, turns: Any, sent: dict[str, Any]) -> None:
    body = body_of(server, turns=turns)
    assert {
        name: value for name, value in body.items() if name not in ("model", "messages")
    } == sent


def test_a_server_that_parses_gets_the_budget_it_then_takes() -> None:
    thinking = Conversation("m", HI, thinking=ThinkingSwitch("enabled", 2048))
    assert "thinking_token_budget" not in written(thinking, "vllm")[0]
    body, _ = written(thinking, "vllm", parses=True)
    assert body["thinking_token_budget"] == 2048


@pytest.mark.parametrize(
    ("server", "conversation", "lines"),
    [
        ("vllm", replace(FULL, sampling=Sampling(0.5)), ()),
        ("generic", FULL, ("top_k left out: generic does not take it",)),
        ("transformers", FULL, ("top_k left out: transformers does not take it",)),
        (
            "vllm",
            Conversation(
                "m",
                (
                    Turn(
                        "user",
                        (
                            Document(Data("application/pdf", "JVBE")),
                            Image(Stored("f")),
                            Document((TextBlock("x"),)),
                        ),
                    ),
                    Turn("user", (ToolResult("a", (Document(Linked("http://x")),)),)),
                ),
            ),
            ("3 attachment(s) left out: no text, or not sent with the request",),
        ),
    ],
    ids=["nothing left out", "generic", "transformers", "attachments"],
)
def test_what_is_left_out_is_noted(
    server: str, conversation: Conversation, lines: tuple[str, ...]
) -> None:
    assert written(conversation, server)[1] == lines


def test_a_tool_loop_of_claude_code_as_a_whole() -> None:
    request = ROWS["a tool loop of claude code as a whole"]
    body, _ = written(anthropic_request.read(request), "llama.cpp")
    assert body == ROWS["a tool loop of claude code as a whole'"]
    check({name: value for name, value in body.items() if name in STANDARD})


def test_a_model_that_is_switched_in_the_system_turn_is_named_there() -> None:
    turns = (Turn("user", (TextBlock("hi"),)),)
    conversation = Conversation(
        "nemotron-nano-8b-v1", turns, ("be brief",), thinking=ThinkingSwitch("disabled")
    )
    messages = written(conversation, "nim")[0]["messages"]
    assert messages[0] == {"role": "system", "content": "detailed thinking off\n\nbe brief"}
