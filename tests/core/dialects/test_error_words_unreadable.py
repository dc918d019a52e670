"""Frames that are not in order, in any dialect."""

import pytest

from converter.core.dialects.error_words import (
    DialectDecoder,
    MisshapenError,
    as_count,
    as_index,
    as_text,
)
from converter.core.model.events import Event, Failure, OpaqueFrame, Own
from converter.core.wire.sse import read_frame
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


class Toy(DialectDecoder):
    name = "x"

    def _read(self, *_: object) -> list[Event]:
        return []


def test_text_under_an_errors_name_is_an_error() -> None:
    assert Toy().feed(read_frame(b"event: error\ndata: gone\n\n")) == [Failure("gone")]


@pytest.mark.parametrize("value", [5, True, ["a"], {"a": 1}])
def test_a_string_is_text(value: object) -> None:
    assert (as_text("a"), as_text(None)) == ("a", "")
    with pytest.raises(MisshapenError):
        as_text(value)


@pytest.mark.parametrize("count", [None, True, "5", -1, 10**13, float("inf"), float("nan")])
def test_a_count_is_a_number_of_tokens(count: object) -> None:
    assert as_count({"a": count}, "a") is None
    assert as_count({"a": 5.0}, "a") == 5
    assert as_count([], "a") is None


def test_other_text_is_lost() -> None:
    raw = b"data: gone\n\n"
    assert Toy().feed(read_frame(raw)) == [OpaqueFrame(Own("x", raw=raw), lost=True)]


@pytest.mark.parametrize(("value", "index"), ROWS["an index may be written in many ways"])
def test_an_index_may_be_written_in_many_forms(value: object, index: object) -> None:
    assert as_index(value, 7) == index
