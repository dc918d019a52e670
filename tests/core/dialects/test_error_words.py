import pytest

from converter.core.dialects.error_words import NO_MESSAGE, server_error, server_message
from converter.core.model.events import Failure
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
        ({"error": {"message": "a", "type": "b", "code": 400}}, "", Failure("a", "b", 400)),
        ({"error": {"message": "a", "type": 5, "code": "429"}}, "", Failure("a", status=429)),
        ({"error": {"message": "a", "code": 7}}, "", Failure("a")),
        ({"error": "a"}, "", Failure("a")),
        ({"error": {"message": None}}, "", Failure(NO_MESSAGE)),
        ({"error": {}}, "", Failure(NO_MESSAGE)),
        ({"error": {"message": {"a": 1}}}, "", Failure('{"a":1}')),
        ({"object": "error", "message": "a", "code": 500}, "", Failure("a", status=500)),
        ({"type": "error", "error": {"type": "b", "message": "a"}}, "", Failure("a", "b")),
        ({"type": "error", "message": "a"}, "", Failure("a")),
        ({"detail": "a"}, "", Failure("a")),
        ({"detail": [{"msg": "a"}]}, "", Failure('[{"msg":"a"}]')),
        ({"message": "a"}, "error", Failure("a")),
        ("a", "error", Failure("a")),
        (None, "error", Failure(NO_MESSAGE)),
        ({"choices": [], "error": {"message": "a"}}, "", Failure("a")),
    ],
)
def test_an_error_is_one_in_every_shape(value: object, event: str, error: Failure) -> None:
    assert server_error(value, event) == error


@pytest.mark.parametrize("value", ROWS["what is no error is none"])
def test_what_is_no_error_is_none(value: object) -> None:
    assert server_error(value) is None
