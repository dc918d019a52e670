"""The official SDKs as readers of given bytes."""

import json

import pytest

from converter.core.dialects.table import Form
from laws import sdk_reading
from laws.sdk_reading import Wire
from tests.laws.test_strict_reader import ERROR, GOOD, written
from tests.support.frames import stream, whole

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wire() -> Wire:
    return Wire()


def test_the_anthropic_sdk_reads_a_stream(wire: Wire) -> None:
    events = sdk_reading.anthropic_events(wire, written(GOOD))
    assert [event["type"] for event in events] == [event["type"] for event in GOOD]
    message = sdk_reading.anthropic_accumulated(wire, written(GOOD))
    assert sdk_reading.blocks(message) == [
        ("thinking", '"why"'),
        ("text", '"a"'),
        ("tool_use", '{"at": 1}'),
    ]


def test_an_event_that_is_not_of_its_types_is_none_of_its_own(wire: Wire) -> None:
    with pytest.raises(ValueError, match="stop_reason"):
        sdk_reading.anthropic_events(
            wire, written(GOOD).replace(b'"stop_reason": "tool_use"', b'"stop_reason": 5')
        )


@pytest.mark.parametrize(("form", "status"), [(Form.WHOLE, 404), (Form.STREAM, 200)])
def test_an_error_is_what_the_sdk_raises(wire: Wire, form: Form, status: int) -> None:
    body = json.dumps(ERROR).encode() if form is Form.WHOLE else written([GOOD[0], ERROR])
    assert "no" in sdk_reading.anthropic_error(wire, body, form, status)


def test_no_error_is_nothing(wire: Wire) -> None:
    assert sdk_reading.anthropic_error(wire, written(GOOD), Form.STREAM, 200) == ""


def test_the_openai_sdk_reads_both_forms(wire: Wire) -> None:
    assert sdk_reading.openai_whole(wire, whole("a"))["choices"][0]["message"]["content"] == "a"
    body = b"".join(stream("a", "b"))
    assert len(sdk_reading.openai_frames(wire, body)) == 5
    assert sdk_reading.openai_accumulated(wire, body)["choices"][0]["message"]["content"] == "ab"
    assert sdk_reading.openai_bodies(wire, body, Form.STREAM).endswith(b"data: [DONE]\n\n")
    assert (
        json.loads(sdk_reading.openai_bodies(wire, whole("a"), Form.WHOLE))["choices"][0][
            "message"
        ]["content"]
        == "a"
    )
