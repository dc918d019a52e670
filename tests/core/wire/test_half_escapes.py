"""Half a character in JSON, recognised by its bytes alone."""

import json

import pytest

from converter.core.wire.half_escapes import has_half_characters


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("cut \ud83d here", True),
        ("\ude00", True),
        ("\ud83d\ud83d\ude00", True),
        ("\U0001f600", False),
        ("\U0001f600\U0001f600 and more", False),
        ("é and C:\\user", False),
    ],
)
def test_half_a_character_is_noticed_in_what_was_not_read(text: str, half: bool) -> None:
    assert has_half_characters(json.dumps({"content": text}).encode()) is half
    upper = json.dumps(text).replace("\\ud", "\\uD").encode()
    assert has_half_characters(upper) is half
