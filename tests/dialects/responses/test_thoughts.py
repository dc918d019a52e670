from hypothesis import given
from hypothesis import strategies as st

from converter.dialects.responses.thoughts import MARK, decode, encode


@given(st.text())
def test_a_thought_comes_back_as_it_was(text: str) -> None:
    assert decode(encode(text)) == text


def test_what_others_encrypted_is_none_of_ours() -> None:
    assert decode("gAAAAAB") is None


def test_what_was_damaged_on_its_way_is_none() -> None:
    assert decode(MARK + "!!") is None
