"""One table of the words by which servers say why a reply ended."""

import pytest

from converter.core.dialects.finish_words import NOT_WHOLE, is_known, meaning_of

MEANINGS = {
    "stop": "stop",
    "STOP": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "load": "stop",
    "unload": "stop",
    "MAX_TOKENS": "length",
    "model_length": "length",
    "repetition": "length",
    "function_call": "tool_calls",
    "refusal": "content_filter",
    "abort": NOT_WHOLE,
    "Cancelled": NOT_WHOLE,
    "timeout": NOT_WHOLE,
}


@pytest.mark.parametrize(("word", "meaning"), MEANINGS.items())
def test_a_word_has_a_meaning_whatever_its_case(word: str, meaning: str) -> None:
    assert meaning_of(f" {word} ") == meaning
    assert is_known(meaning) == (meaning != NOT_WHOLE)


def test_an_unknown_word_stays_as_the_server_wrote_it() -> None:
    assert meaning_of("Whatever") == "Whatever"
    assert not is_known("Whatever")
