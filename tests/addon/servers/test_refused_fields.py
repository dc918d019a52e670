"""Fields that a server refuses: named by its own words, left out of a request."""

from typing import Any

import pytest

from converter.addon.servers.refused_fields import FIELD, is_field, unknown_fields, without_fields
from tests.support.rows import rows_of


@pytest.mark.parametrize(("message", "paths"), rows_of(__file__)["an error message names a field"])
def test_an_error_message_names_a_field(message: str, paths: list[str]) -> None:
    named_text, names = unknown_fields(message)
    assert names == {FIELD + path for path in paths}
    assert named_text in message


def test_a_field_is_left_out_wherever_it_stands() -> None:
    turn = {"role": "user", "content": "hi"}
    body: dict[str, Any] = {"model": "m", "seed": 1, "messages": [{**turn, "name": "a"}, turn]}
    kept = without_fields(body, frozenset({"seed", "messages.name"}))
    assert kept == {"model": "m", "messages": [turn, turn]}


def test_a_request_without_the_field_stays_the_same() -> None:
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user"}, "no message"]}
    assert without_fields(body, frozenset({"seed", "messages.name"})) is body


def test_what_a_request_needs_is_no_path() -> None:
    assert is_field("field seed")
    assert is_field("field messages.name")
    for name in ("seed", "field model", "field messages.content", "field two words"):
        assert not is_field(name)
