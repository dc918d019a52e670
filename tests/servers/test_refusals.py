"""What servers refuse, by their own words, and a request without it."""

from typing import Any

import pytest

from converter.servers.refusals import (
    PICTURES,
    SCHEMA_WORDS,
    refused,
    refused_schemas,
    without_pictures,
    without_schemas,
)

DATE = {"type": "string", "pattern": r"\d", "format": "date", "default": {"pattern": 1}}
SCHEMA = {"type": "object", "properties": {"pattern": DATE, "at": {"items": [DATE]}}}
TOOL = {"type": "function", "function": {"name": "log", "parameters": SCHEMA}}
OTHER = {"type": "function", "function": {"name": "say", "parameters": {"type": "object"}}}
BODY: dict[str, Any] = {"model": "m", "tools": [TOOL, OTHER], "messages": []}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("JSON schema conversion failed:\nPattern must start with '^' and end with '$'", "pattern"),
        ("Failed to initialize samplers: failed to parse grammar", ""),
        ("The provided JSON schema contains features not supported by xgrammar.", ""),
        ("image input is not supported - hint: provide the mmproj", PICTURES),
        ("Model does not support images. Please use a model that does", PICTURES),
        ("m is not a multimodal model", PICTURES),
        ("At most 0 image(s) may be provided in one prompt.", PICTURES),
    ],
)
def test_words_name_what_is_refused(words: str, names: str) -> None:
    assert refused(400, words) == (frozenset({names}) if names else SCHEMA_WORDS)
    assert refused(500, words)
    assert not refused(429, words)


def test_another_error_names_nothing() -> None:
    assert not refused(400, "the request exceeds the available context size")


def test_a_schema_goes_without_the_words_and_keeps_its_names() -> None:
    held = refused_schemas(BODY, frozenset({"pattern"}))
    assert len(held) == 1
    tools = without_schemas(BODY, held)["tools"]
    assert isinstance(tools, list)
    made = tools[0]["function"]["parameters"]["properties"]
    bare = {"type": "string", "format": "date", "default": {"pattern": 1}}
    assert made == {"pattern": bare, "at": {"items": [bare]}}
    assert tools[1] == OTHER
    assert DATE["pattern"] == r"\d"


def test_a_response_format_is_a_schema() -> None:
    body = {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}
    made = without_schemas(body, refused_schemas(body, SCHEMA_WORDS))
    assert r"\d" not in str(made)
    assert "json_schema" in str(made)


def test_what_holds_nothing_refused_stays_the_same_request() -> None:
    body = {"tools": [OTHER], "messages": [{"role": "user", "content": "hi"}]}
    assert without_schemas(body, refused_schemas(body, SCHEMA_WORDS)) is body
    assert without_pictures(body) is body


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("data:image/png;base64,aGVsbG8h", "image/png, 6 bytes"),
        ("https://a.example/b/cat.jpg?x=1", "cat.jpg"),
    ],
)
def test_a_picture_is_told_in_its_place(url: str, words: str) -> None:
    text = {"type": "text", "text": "What is it?"}
    picture = {"type": "image_url", "image_url": {"url": url}}
    made = without_pictures({"messages": [{"role": "user", "content": [text, picture]}]})
    told = f"[picture left out, as this model cannot see: {words}]"
    assert made == {
        "messages": [{"role": "user", "content": [text, {"type": "text", "text": told}]}]
    }
