"""Requests whose messages, answer or choice a server does not take, and what it takes."""

from typing import Any

import pytest

from converter.addon.servers.refusals import (
    ARGUMENTS,
    CHOICE,
    JSON_OBJECT,
    JSON_SCHEMA,
    NULLS,
    PICTURES_OF_TOOLS,
    THINKING,
    THOUGHTLESS,
    TRAITS,
    USERLESS,
)

USER = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "Say hello."}
CALL = {"id": "a", "function": {"name": "f", "arguments": '{"a": 1e999}'}}
CALLING: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "x"}
PICTURE = {"type": "image_url", "image_url": {"url": "http://h/a.png"}}
SHOWN = {**RESULT, "content": [{"type": "text", "text": "Look:"}, PICTURE]}
GO_ON = {"role": "user", "content": "Go on."}
TOOLS = [{"type": "function", "function": {"name": "f"}}]
NAMED = {"type": "function", "function": {"name": "f"}}
SCHEMA = {"type": "object", "properties": {"a": {}}}


def of_messages(*messages: object) -> dict[str, Any]:
    return {"messages": [*messages]}


def as_json(kind: str, **more: object) -> dict[str, Any]:
    return {"response_format": {"type": kind, **more}}


@pytest.mark.parametrize(
    ("trait", "received", "sent"),
    [
        (USERLESS, of_messages(SYSTEM), of_messages(SYSTEM, GO_ON)),
        (
            USERLESS,
            of_messages(SYSTEM, CALLING, RESULT),
            of_messages(SYSTEM, GO_ON, CALLING, RESULT),
        ),
        (
            THOUGHTLESS,
            of_messages(USER, CALLING, RESULT, {**CALLING, "reasoning_content": "hm"}),
            of_messages(
                USER,
                {**CALLING, "reasoning_content": " "},
                RESULT,
                {**CALLING, "reasoning_content": "hm"},
            ),
        ),
        (NULLS, of_messages(CALLING, RESULT), of_messages({**CALLING, "content": ""}, RESULT)),
        (
            ARGUMENTS,
            of_messages(CALLING),
            of_messages(
                {
                    **CALLING,
                    "tool_calls": [{**CALL, "function": {"name": "f", "arguments": '{"a":null}'}}],
                }
            ),
        ),
        (
            PICTURES_OF_TOOLS,
            of_messages(CALLING, SHOWN, RESULT, USER),
            of_messages(
                CALLING,
                {**RESULT, "content": "Look:\n\n[image: in the next user message]"},
                RESULT,
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "[image from the result of tool call a]"},
                        PICTURE,
                    ],
                },
                USER,
            ),
        ),
        (
            JSON_SCHEMA,
            as_json("json_schema", json_schema={"name": "w", "schema": SCHEMA}),
            as_json("json_object", schema=SCHEMA),
        ),
        (
            JSON_OBJECT,
            as_json("json_object"),
            as_json("json_schema", json_schema={"name": "output", "schema": {"type": "object"}}),
        ),
        (CHOICE, {"tools": TOOLS, "tool_choice": NAMED}, {"tools": TOOLS, "tool_choice": "auto"}),
    ],
)
def test_each_refused_trait_has_its_replacement(
    trait: str, received: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert TRAITS[trait](received) == sent


def test_a_forced_call_goes_out_with_thinking_off() -> None:
    forced = {"tools": TOOLS, "tool_choice": "required", "reasoning_effort": "high"}
    changed: Any = TRAITS[THINKING](forced)
    assert changed["thinking"] == {"type": "disabled"}
    assert changed["chat_template_kwargs"]["enable_thinking"] is False
    assert "reasoning_effort" not in changed
    free = {**forced, "tool_choice": "auto"}
    assert TRAITS[THINKING](free) is free


@pytest.mark.parametrize("trait", [THOUGHTLESS, PICTURES_OF_TOOLS, NULLS, ARGUMENTS, USERLESS])
def test_odd_messages_stay(trait: str) -> None:
    body = of_messages("odd", {"role": "tool", "content": "x"}, USER)
    assert TRAITS[trait](body) is body
