"""One table of the words by which servers say why a reply ended."""

import pytest

from converter.core.dialects.finish_words import NOT_WHOLE, is_standard, meaning_of
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

MEANINGS = ROWS["meanings"]


@pytest.mark.parametrize(("word", "meaning"), MEANINGS.items())
def test_a_word_has_a_meaning_whatever_its_case(word: str, meaning: str) -> None:
    assert meaning_of(f" {word} ") == meaning
    assert is_standard(meaning) == (meaning != NOT_WHOLE)


def test_an_unknown_word_stays_as_the_server_wrote_it() -> None:
    assert meaning_of("Whatever") == "Whatever"
    assert not is_standard("Whatever")
