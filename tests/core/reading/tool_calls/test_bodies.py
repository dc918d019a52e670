"""The kinds of call text: what each begins with."""

from converter.core.reading.tool_calls.bodies import HEADER
from converter.core.reading.tool_calls.forms import FUNCTION, INVOKE, PAIRS


def test_a_parameters_mark_has_a_stem() -> None:
    assert FUNCTION.stem == INVOKE.stem == "<parameter"
    assert PAIRS.stem == "<arg_key"


def test_a_tags_name_stands_in_quotes_or_behind_a_word() -> None:
    for tag in ("now", ' name="now"', "'now' x='1'"):
        match = HEADER.fullmatch(tag)
        assert match
        assert match[1] == "now"
