"""Tags with attributes, as far as they have come."""

import pytest

from converter.parsing.attribute_tags import ENDS, attribute_tag
from converter.parsing.mark_search import Mark
from converter.wire.bounds import ATTRIBUTE_LIMIT

OPENER = "<thinking "


@pytest.mark.parametrize(
    ("rest", "end"),
    [
        ('thought="a > b" n=\'"\'>', ">"),
        ('thought="a"/>', "/>"),
        ('thought="a" />', "/>"),
        ('thought="a', None),
        ("thought=", None),
        ("thou", None),
        ("", None),
    ],
)
def test_a_tag_is_found_as_far_as_it_has_come(rest: str, end: str | None) -> None:
    found = attribute_tag(OPENER + rest, 0, len(OPENER))
    assert found
    assert found["end"] == end


@pytest.mark.parametrize("rest", ["about it", "thought=a>", '"a">'])
def test_prose_is_no_tag(rest: str) -> None:
    assert attribute_tag(OPENER + rest, 0, len(OPENER)) is None


def test_a_tag_is_looked_for_within_its_limit() -> None:
    found = attribute_tag(f'{OPENER}thought="{"a" * ATTRIBUTE_LIMIT}">', 0, len(OPENER))
    assert found
    assert found["end"] is None
    assert found.end() == ATTRIBUTE_LIMIT


def test_a_slash_makes_a_tag_whole() -> None:
    assert {">": Mark.WITH_ATTRIBUTES, "/>": Mark.WHOLE} == ENDS
