"""One record per dialect in one table: everybody else loops over it."""

import json

import pytest

from converter.dialects.table import ANTHROPIC, DIALECTS, OPENAI_CHAT, Dialect, by_name, recognise
from converter.endpoints import Endpoint
from converter.events import OpaqueFrame
from converter.wire.sse import FrameDecoder


def test_names_and_titles_are_of_one_dialect() -> None:
    assert len({dialect.name for dialect in DIALECTS}) == len(DIALECTS)
    assert len({dialect.title for dialect in DIALECTS}) == len(DIALECTS)


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_a_dialect_is_found_by_its_name(dialect: Dialect) -> None:
    assert by_name(dialect.name) is dialect


@pytest.mark.parametrize("endpoint", Endpoint)
def test_every_endpoint_names_a_dialect_of_the_table(endpoint: Endpoint) -> None:
    assert by_name(endpoint.dialect) in DIALECTS


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_an_error_of_a_dialect_is_recognised_as_its_own(dialect: Dialect) -> None:
    assert recognise(json.loads(dialect.error("no", "api_error", 500))) is dialect


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
def test_a_ping_is_one_frame_that_says_nothing_of_the_reply(dialect: Dialect) -> None:
    (frame,) = FrameDecoder().feed(dialect.ping)
    (event,) = dialect.decoder({}).feed(frame)
    assert isinstance(event, OpaqueFrame)
    assert event.comment


@pytest.mark.parametrize(
    ("said", "dialect"),
    [
        ({"choices": []}, OPENAI_CHAT),
        ({"object": "chat.completion"}, OPENAI_CHAT),
        ({"error": {"message": "no"}}, OPENAI_CHAT),
        ({"type": "error", "error": {}}, ANTHROPIC),
        ({"type": "message_start"}, ANTHROPIC),
        ({"type": "ping"}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_a_reply_tells_its_dialect(said: object, dialect: Dialect | None) -> None:
    assert recognise(said) is dialect
