import pytest

from converter.dialects.error_words import server_words


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "a"}}', "a"),
        (b'{"error": "a"}', "a"),
        (b'{"message": "a"}', "a"),
        (b'{"detail": [{"msg": "a"}]}', '[{"msg":"a"}]'),
        (b'{"other": 1}', '{"other":1}'),
        (b"<style>b</style><h1>a</h1>", "a"),
        (b"", ""),
    ],
)
def test_the_words_are_found_wherever_the_server_puts_them(body: bytes, words: str) -> None:
    assert server_words(body) == words
