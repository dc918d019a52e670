"""Objects that were cut off: their complete parts."""

import json

import pytest
from jiter import from_json

from converter.core.wire.cut_json import complete_part, is_open
from tests.support.rows import rows_of

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)


@pytest.mark.parametrize(
    ("text", "complete"), ROWS["what is complete of an object that was cut off"]
)
def test_what_is_complete_of_an_object_that_was_cut_off(
    text: str, complete: dict[str, object]
) -> None:
    assert is_open(text)
    assert json.loads(complete_part(text)) == complete
    assert not text or from_json(text.encode(), partial_mode=True) == complete


def test_a_string_that_was_cut_is_read_up_to_its_last_whole_character() -> None:
    for text in ('{"a": "b\\ud83d', '{"a": "b\\u00', '{"a": "b\\', '{"a": "b'):
        assert complete_part(text, cut_string=True) == '{"a": "b"}'
    assert complete_part('{"a": 1, "b', cut_string=True) == '{"a": 1}'
    assert complete_part('["a", "b', cut_string=True) == '["a", "b"]'


@pytest.mark.parametrize("number", ["-", "1.", "1e", "tru"])
def test_half_a_bare_value_is_not_complete(number: str) -> None:
    assert complete_part(f'{{"a": [1, {number}') == '{"a": [1]}'


@pytest.mark.parametrize("text", ['{"a": 1}', "no object", '{"a": 1} more'])
def test_an_object_that_is_whole_or_none_was_not_cut_off(text: str) -> None:
    assert not is_open(text)


def test_what_is_complete_of_a_hundred_thousand_objects_is_read_once() -> None:
    """It would take minutes if the open brackets were listed at each bracket."""
    assert complete_part('{"a":' * 100_000) == '{"a":' * 99_999 + "{" + "}" * 100_000
