"""Refusals of servers, by their messages, and a request without the refused trait."""

from typing import Any

import pytest

from converter.addon.servers.refusals import (
    ARGUMENTS,
    BEGUN,
    CHOICE,
    HALVES,
    IDS,
    JSON_OBJECT,
    JSON_SCHEMA,
    NATIVE_TRAITS,
    NEIGHBOURS,
    NULLS,
    ODD,
    PICTURES,
    PICTURES_OF_TOOLS,
    PREFILL,
    REFUSABLE,
    SCHEMA_KEYS,
    STATUSES,
    SYSTEM,
    THINKING,
    THOUGHTLESS,
    TOOL_CHOICE,
    TRAITS,
    TWO_BEGUN,
    USERLESS,
    next_traits,
    refused_traits,
    refuses_pictures,
    without_choice,
    without_keywords,
    without_pictures,
    without_traits,
)
from converter.addon.servers.unread_replies import READER, RENDERED
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

DATE = {"type": "string", "pattern": r"\d", "format": "date", "default": {"pattern": 1}}
SCHEMA = {"type": "object", "properties": {"pattern": DATE, "at": {"items": [DATE]}}}
TOOL = {"type": "function", "function": {"name": "log", "parameters": SCHEMA}}
OTHER = {"type": "function", "function": {"name": "say", "parameters": {"type": "object"}}}
BODY: dict[str, Any] = {"model": "m", "tools": [TOOL, OTHER], "messages": []}


CONVERSION = "Unable to generate parser for this template. JSON schema conversion failed:\n"
LM_STUDIO = (
    'Engine protocol predict request returned 400: {"error":{"code":400,'
    '"message":"Failed to initialize samplers: failed to parse grammar"}}'
)


@pytest.mark.parametrize(
    ("message", "names"),
    [
        (CONVERSION + "Pattern must start with '^' and end with '$'", {"pattern"}),
        (CONVERSION + "Invalid pattern ^(ab$: unbalanced parentheses", {"pattern"}),
        (CONVERSION + "Unrecognized schema: true", {ODD}),
        ("JSON schema error at #/properties/a: unrecognized type strange", {ODD}),
        ("Failed to initialize samplers: failed to parse grammar", SCHEMA_KEYS | {ODD}),
        ("The provided JSON schema contains features not supported by xgrammar.", SCHEMA_KEYS),
        ("Grammar error: Unknown format: uri", SCHEMA_KEYS),
        ('Grammar error: Unimplemented keys: ["propertyNames"]', SCHEMA_KEYS),
        ("Failed to transform json schema into a regex: unsupported", SCHEMA_KEYS),
        ("Regex uses unsupported feature for structured outputs: look-around", SCHEMA_KEYS),
        ("Regex does not have a anchored universal start stateThis means", SCHEMA_KEYS),
        (LM_STUDIO, SCHEMA_KEYS | {ODD}),
        ("image input is not supported - hint: provide the mmproj", {PICTURES}),
        ("Model does not support images. Please use a model that does", {PICTURES}),
        ("m is not a multimodal model", {PICTURES}),
        ("At most 0 image(s) may be provided in one prompt.", {PICTURES}),
        ("At most 0 vision_chunk(s) may be provided in one prompt.", {PICTURES}),
        ("this model does not support image input (ref: b8bd630e)", {PICTURES}),
        ('Failed to parse messages: Unsupported content part type: "image_url"', {PICTURES}),
        ("this model is missing data required for image input", {PICTURES}),
        (
            "Model only supports text input; received unsupported content type 'image_url'.",
            {PICTURES},
        ),
        ("Only 'text' content type is supported.", {PICTURES}),
        ("Model 'm' is serving text-only; image input is unsupported.", {PICTURES}),
        (
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            {TOOL_CHOICE},
        ),
        ("Assistant response prefill is incompatible with enable_thinking.", {PREFILL}),
        ("Cannot have 2 or more assistant messages at the end of the list.", {TWO_BEGUN}),
        (
            "Expected last role User or Tool (or Assistant with prefix or continue_final_message"
            " set to True) for serving but got assistant",
            {BEGUN},
        ),
        ("Jinja Exception: System message must be at the beginning.", {SYSTEM}),
        ("Unexpected message role.", {SYSTEM}),
        ("Conversation roles must alternate user/assistant/user/assistant/...", {NEIGHBOURS}),
        ("invalid string: surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF", {HALVES}),
        ("'utf-8' codec can't encode character '\\ud83d': surrogates not allowed", {HALVES}),
        ("Failed to parse tool call arguments as JSON: [json.exception.parse_error", {ARGUMENTS}),
        ("Tool call id was call_4 but must be a-z, A-Z, 0-9, with a length of 9", {IDS}),
        ("Tool call IDs should be alphanumeric strings with length 9!", {IDS}),
        ("No user query found in messages.", {USERLESS}),
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message",
            {THOUGHTLESS},
        ),
        (
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            {THOUGHTLESS},
        ),
        ("Tool message content only supports text content, got image_url", {PICTURES_OF_TOOLS}),
        ("Image URLs are only allowed for messages with role 'user'", {PICTURES_OF_TOOLS}),
        (
            "('body', 'messages', 1, 'ChatCompletionRequestAssistantMessage', 'content'), 'msg': "
            "'Input should be a valid string', 'input': None}",
            {NULLS},
        ),
        ("'msg': \"Input should be 'text' or 'json_object'\"", {JSON_SCHEMA}),
        ("This response_format type is unavailable now", {JSON_SCHEMA}),
        ("'response_format.type' must be 'json_schema' or 'text'", {JSON_OBJECT}),
        ("Thinking mode does not support this tool_choice", {THINKING}),
        ("tool_choice 'required' is incompatible with thinking enabled", {THINKING}),
        ("Unknown parameter: 'store'.", {"field store"}),
        ("Failed to parse input at pos 7: <tool_call>", {RENDERED}),
        (
            "The model produced output that does not match the expected peg-native format",
            {RENDERED},
        ),
        ("XML syntax error on line 5: element <function> closed by </parameter>", {READER}),
        ("error parsing tool call: raw='{', err=unexpected end of JSON input", {READER}),
    ],
)
def test_an_error_message_names_the_refused_feature(message: str, names: set[str]) -> None:
    assert {refused_traits(status, message) for status in STATUSES} == {frozenset(names)}
    assert not refused_traits(429, message)


@pytest.mark.parametrize(
    "message",
    [
        "the request exceeds the available context size",
        "At most 1 image(s) may be provided in one prompt.",
        "Failed to load image or audio file",
    ],
)
def test_another_error_names_nothing(message: str) -> None:
    assert not refused_traits(400, message)


@pytest.mark.parametrize(
    "sent",
    [
        '{"url": "http://x/?Qwen is not a multimodal model"}',
        '{"url": "http://x/?Qwen+is%20not a%20multimodal model"}',
        '{"content": "x is\\n\\tNot a multi"}, {"content": "is not a\\"multimodal MODEL"}',
    ],
)
def test_text_that_the_request_holds_is_not_the_servers(sent: str) -> None:
    """A server repeats the link that it cannot load: so one client would blind all others."""
    message = "cannot load http://x/?Qwen is not a multimodal model"
    for other in ("", '{"content": "multimodal"}'):
        assert refused_traits(400, message, other) == {PICTURES}
    assert not refused_traits(400, message, sent)


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ({}, "none"),
        ({"tool_choice": "auto"}, "none"),
        ({"tool_choice": None}, "none"),
        ({"tool_choice": "required"}, "required"),
        ({"tool_choice": "none"}, "none"),
    ],
)
def test_only_a_choice_that_is_left_to_the_model_is_left_out(
    choice: dict[str, Any], sent: str
) -> None:
    assert without_choice(BODY | choice) == BODY | {"tool_choice": sent}
    assert without_choice(choice) == choice


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ({}, "none"),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, "none"),
        ({"tool_choice": {"type": "any"}}, "any"),
        ({"tool_choice": {"type": "none"}}, "none"),
    ],
)
def test_the_choice_of_a_messages_request_is_an_object(choice: dict[str, Any], sent: str) -> None:
    request: dict[str, Any] = {"messages": [], "tools": [{"name": "log", "input_schema": SCHEMA}]}
    assert without_choice(request | choice) == request | {"tool_choice": {"type": sent}}


def test_a_request_of_the_responses_api_keeps_its_choice() -> None:
    request = {"input": "hi", "tools": [{"type": "function", "name": "log", "parameters": SCHEMA}]}
    assert without_choice(request) is request


def test_a_schema_goes_without_the_refused_keywords_and_keeps_its_names() -> None:
    tools = without_traits(BODY, frozenset({"pattern"}), REFUSABLE)["tools"]
    assert isinstance(tools, list)
    kept = tools[0]["function"]["parameters"]["properties"]
    bare = {"type": "string", "format": "date", "default": {"pattern": 1}}
    assert kept == {"pattern": bare, "at": {"items": [bare]}}
    assert tools[1] == OTHER
    assert DATE["pattern"] == r"\d"


@pytest.mark.parametrize(("schema", "kept"), ROWS["a schema without a meaning allows anything"])
def test_a_schema_without_a_meaning_allows_anything(schema: object, kept: object) -> None:
    tool = {"function": {"name": "f", "parameters": schema}}
    assert without_keywords(tool, frozenset({ODD})) == {
        "function": {"name": "f", "parameters": kept}
    }
    assert without_keywords(tool, frozenset({"pattern"})) == tool


def test_a_schema_may_be_of_any_depth() -> None:
    deep: dict[str, Any] = {"pattern": "x"}
    for _ in range(5000):
        deep = {"items": deep}
    for names in ({ODD}, {"pattern"}):
        assert without_keywords({"function": {"parameters": deep}}, frozenset(names))


def test_a_response_format_is_a_schema() -> None:
    body = {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}
    kept = without_traits(body, SCHEMA_KEYS, REFUSABLE)
    assert r"\d" not in str(kept)
    assert "json_schema" in str(kept)


def test_what_holds_nothing_refused_stays_the_same_request() -> None:
    body = {"tools": [OTHER], "messages": [{"role": "user", "content": "hi"}]}
    assert without_traits(body, SCHEMA_KEYS, REFUSABLE) is body
    assert without_pictures(body) is body


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("data:image/png;base64,aGVsbG8h", "image/png, 6 bytes"),
        ("https://a.example/b/cat.jpg?x=1", "cat.jpg"),
    ],
)
def test_a_note_stands_where_a_picture_was(url: str, message: str) -> None:
    text = {"type": "text", "text": "What is it?"}
    picture = {"type": "image_url", "image_url": {"url": url}}
    changed = without_pictures({"messages": [{"role": "user", "content": [text, picture]}]})
    note = f"[picture left out, as this model cannot see: {message}]"
    assert changed == {
        "messages": [{"role": "user", "content": [text, {"type": "text", "text": note}]}]
    }


def test_what_is_refused_goes_together() -> None:
    body = {
        **BODY,
        "store": True,
        "messages": [{"role": "system", "content": "A"}, {"role": "developer", "content": "B"}],
    }
    names = frozenset({SYSTEM, "field store", TOOL_CHOICE})
    kept = without_traits(body, names, REFUSABLE - {TOOL_CHOICE})
    assert kept == {**BODY, "messages": [{"role": "system", "content": "A\n\nB"}]}
    assert without_traits(body, names, REFUSABLE)["tool_choice"] == "none"
    assert without_traits(body, names, NATIVE_TRAITS) == {**body, "tool_choice": "none"}


@pytest.mark.parametrize("trait", sorted({*TRAITS, RENDERED} - {HALVES}))
def test_a_request_without_the_trait_stays_the_same(trait: str) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}]}
    assert without_traits(body, frozenset({trait}), frozenset({trait})) is body


def test_halves_of_characters_are_written_whole() -> None:
    body = {"messages": [{"role": "user", "content": "cut \ud83d"}]}
    kept = without_traits(body, frozenset({HALVES}), REFUSABLE)
    assert kept == body
    assert kept is not body


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SEEN = {"type": "text", "text": "Why does it say: no images allowed here?"}
PICTURED = {"model": "Qwen-Vision", "messages": [{"role": "user", "content": [SEEN, PICTURE]}]}


@pytest.mark.parametrize(
    ("status", "message", "are"), ROWS["any message about pictures refuses them"]
)
def test_any_message_about_pictures_refuses_them(status: int, message: str, are: bool) -> None:
    assert refuses_pictures(status, message, PICTURED) is are


def test_a_short_name_of_a_model_is_no_part_of_a_word() -> None:
    assert refuses_pictures(400, "It reads no image.", PICTURED | {"model": "m"})


def test_what_is_refused_twice_has_a_next_trait() -> None:
    first = frozenset({THINKING})
    assert next_traits(first, frozenset()) == first
    assert next_traits(first, first) == {THINKING, CHOICE}
    assert next_traits(frozenset({"field seed"}), frozenset({"field seed"})) == {"field seed"}
