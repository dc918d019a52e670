import pytest

from converter.core.dialects.error_words import (
    NO_MESSAGE,
    ServerError,
    server_error,
    server_message,
)
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


@pytest.mark.parametrize(
    ("body", "message"),
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
def test_the_text_is_read_wherever_the_server_puts_them(body: bytes, message: str) -> None:
    assert server_message(body) == message


@pytest.mark.parametrize(
    ("value", "event", "error"),
    [
        ({"error": {"message": "a", "type": "b", "code": 400}}, "", ServerError("a", "b", 400)),
        ({"error": {"message": "a", "type": 5, "code": "429"}}, "", ServerError("a", status=429)),
        ({"error": {"message": "a", "code": 7}}, "", ServerError("a")),
        ({"error": "a"}, "", ServerError("a")),
        ({"error": {"message": None}}, "", ServerError(NO_MESSAGE)),
        ({"error": {}}, "", ServerError(NO_MESSAGE)),
        ({"error": {"message": {"a": 1}}}, "", ServerError('{"a":1}')),
        ({"object": "error", "message": "a", "code": 500}, "", ServerError("a", status=500)),
        ({"type": "error", "error": {"type": "b", "message": "a"}}, "", ServerError("a", "b")),
        ({"type": "error", "message": "a"}, "", ServerError("a")),
        ({"detail": "a"}, "", ServerError("a")),
        ({"detail": [{"msg": "a"}]}, "", ServerError('[{"msg":"a"}]')),
        ({"message": "a"}, "error", ServerError("a")),
        ("a", "error", ServerError("a")),
        (None, "error", ServerError(NO_MESSAGE)),
        ({"choices": [], "error": {"message": "a"}}, "", ServerError("a")),
    ],
)
def test_an_error_is_one_in_every_shape(value: object, event: str, error: ServerError) -> None:
    assert server_error(value, event) == error


@pytest.mark.parametrize(
    "value",
    ROWS["what is no error is none"],
)
def test_what_is_no_error_is_none(value: object) -> None:
    assert server_error(value) is None
