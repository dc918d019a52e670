from converter.dialects.responses.context import ECHOED, echo
from converter.wire.checked import Fields


def test_a_request_that_says_nothing_has_the_apis_defaults() -> None:
    said = echo(Fields({}))
    assert said.items() >= ECHOED.items()
    assert said["reasoning"] == {"effort": None, "summary": None}
    assert said["text"] == {"format": {"type": "text"}}
    assert said["store"] is True


def test_what_the_request_says_is_repeated() -> None:
    said = echo(Fields({"store": False, "text": {"verbosity": "low"}, "top_p": 0.5, "tools": None}))
    assert (said["store"], said["top_p"], said["tools"]) == (False, 0.5, [])
    assert said["text"] == {"format": {"type": "text"}, "verbosity": "low"}
