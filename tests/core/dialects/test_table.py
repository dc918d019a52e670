"""One record per dialect in one table: everybody else loops over it."""

import json

import pytest

from converter.core.dialects.table import (
    ANTHROPIC,
    COMMON,
    DIALECTS,
    OLLAMA,
    OPENAI_CHAT,
    RESPONSES,
    Dialect,
    ReplyContext,
    by_headers,
    by_name,
    find_endpoint,
    recognise,
)
from converter.core.model.events import OpaqueFrame, Start


def test_names_and_titles_are_of_one_dialect() -> None:
    assert len({dialect.name for dialect in DIALECTS}) == len(DIALECTS)
    assert len({dialect.label.title for dialect in DIALECTS}) == len(DIALECTS)


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_a_dialect_is_looked_up_by_its_name(dialect: Dialect) -> None:
    assert by_name(dialect.name) is dialect


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_every_endpoint_names_the_dialect_of_its_record(dialect: Dialect) -> None:
    assert {endpoint.dialect for endpoint in dialect.endpoints} == {dialect.name}


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_an_error_of_a_dialect_is_recognised_as_its_own(dialect: Dialect) -> None:
    """OpenAI's two dialects have the same one, and Ollama's could be theirs."""
    own = OPENAI_CHAT if dialect in (RESPONSES, OLLAMA) else dialect
    assert recognise(json.loads(dialect.answers.error("no", "api_error", 500))) is own


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_a_ping_says_nothing_of_the_reply_and_is_left_out_of_a_whole_one(dialect: Dialect) -> None:
    streamed, whole = (dialect.wire.encoder(ReplyContext(), whole) for whole in (False, True))
    cutter = dialect.wire.framing.cutter()
    frames = [*map(cutter.read, cutter.cut(b"".join(streamed.ping()))), *cutter.close()]
    decoder = dialect.wire.decoder({})
    assert frames
    for event in (event for frame in frames for event in decoder.feed(frame)):
        assert isinstance(event, Start) or (isinstance(event, OpaqueFrame) and event.comment)
    assert whole.ping() == []


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        ({"choices": []}, OPENAI_CHAT),
        ({"object": "chat.completion"}, OPENAI_CHAT),
        ({"error": {"message": "no"}}, OPENAI_CHAT),
        ({"type": "error", "error": {}}, ANTHROPIC),
        ({"type": "message_start"}, ANTHROPIC),
        ({"type": "response.created", "response": {}}, RESPONSES),
        ({"object": "response", "output": []}, RESPONSES),
        ({"message": {}, "created_at": "", "done": False}, OLLAMA),
        ({"type": "ping"}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_a_reply_tells_its_dialect(body: object, dialect: Dialect | None) -> None:
    assert recognise(body) is dialect


@pytest.mark.parametrize(
    ("name", "dialect"),
    [("anthropic-version", ANTHROPIC), ("x-api-key", ANTHROPIC), ("authorization", COMMON)],
)
def test_a_request_without_a_body_shows_its_dialect_by_its_headers(
    name: str, dialect: Dialect
) -> None:
    assert by_headers({name: "x"}) is dialect


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_a_request_goes_to_an_endpoint_of_its_dialect(dialect: Dialect) -> None:
    matched = find_endpoint("POST", dialect.requests.path)
    assert matched
    assert (matched[0].dialect, matched[0].is_chat) == (dialect.name, True)


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_the_version_of_a_dialect_shows_it(dialect: Dialect) -> None:
    assert dialect.label.version[0] in {"", *dialect.label.shown_by}
