"""The verdict: how much of a text its calls took."""

from tests.support.verdicts import verdict


def test_the_length_is_the_end_of_the_last_call() -> None:
    text = '{"name": "f"}, {"name": "f"}} and'
    assert verdict(text, {"f": {}}).length == text.index(" and")
    assert verdict("words", {"f": {}}).length == 0
