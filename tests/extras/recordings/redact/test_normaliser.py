import pytest

from converter.extras.recordings.redact.json_tokens import cut_body
from converter.extras.recordings.redact.normaliser import Normaliser


def normal(*bodies: bytes, listed: bool = False) -> list[list[object]]:
    """The values of each body, names left out."""
    form = Normaliser(listed)
    return [
        [form.normal_value(token) for token in cut_body(body, False).tokens if not token.is_key]
        for body in bodies
    ]


def test_a_reply_is_called_recording_in_either_dialect() -> None:
    assert normal(b'{"id": "chatcmpl-x1"}', b'{"message": {"id": "msg_x1"}}') == [
        ["chatcmpl-recording"],
        ["msg_recording"],
    ]


def test_calls_are_numbered_and_a_result_names_its_call() -> None:
    request = b'{"messages": [{"tool_calls": [{"id": "call_zz"}, {"id": "toolu_q"}]}, {"tool_call_id": "toolu_q"}]}'
    answered = b'{"choices": [{"message": {"tool_calls": [{"id": "r4nd0m"}, {"id": "functions.look:0"}]}}]}'
    assert normal(request, answered) == [
        ["call_1", "toolu_2", "toolu_2"],
        ["call_3", "functions.look:0"],
    ]


def test_an_id_of_the_addons_is_renamed_with_the_ids_in_it() -> None:
    server = b'{"id": "chatcmpl-r_1", "choices": [{"message": {"tool_calls": [{"id": "a"}]}}]}'
    client = (
        b'{"id": "msg_r_1", "content": [{"id": "a"}, {"id": "a_r_1_2"}, {"id": "toolu_r_1_3"},'
        b' {"id": "call_r_1_0"}, {"id": "call_r_1_2_0"}]}'
    )
    assert normal(server, client)[1] == [
        "msg_recording",
        "call_1",
        "call_1_recording_2",
        "toolu_recording_3",
        "call_recording_0",
        "call_recording_2_0",
    ]


def test_an_id_that_contains_the_flows_id_is_renamed() -> None:
    body = b'{"choices": [{"message": {"tool_calls": [{"id": "call_0d1e2f3a4b5c_0"}]}}]}'
    for flow, expected in (
        ("5c2f7c41-7f3e-4c5e-9d26-0d1e2f3a4b5c", "call_recording_0"),
        ("", "call_1"),
    ):
        form = Normaliser(flow=flow)
        values = [
            form.normal_value(token) for token in cut_body(body, False).tokens if not token.is_key
        ]
        assert values == [expected]
    kept = b'{"choices": [{"message": {"tool_calls": [{"id": "call_recording_0"}]}}]}'
    assert normal(kept) == [["call_recording_0"]]


@pytest.mark.parametrize(
    "body",
    [
        b'{"created": 0}',
        b'{"created_at": "1970-01-01T00:00:00Z"}',
        b'{"id": ""}',
        b'{"id": "msg_"}',
    ],
)
def test_empty_values_stay_empty(body: bytes) -> None:
    assert normal(body) == [
        [token.value for token in cut_body(body, False).tokens if not token.is_key]
    ]


def test_durations_are_one_and_counts_stay() -> None:
    body = b'{"timings": {"prompt_n": 7, "prompt_ms": 8.5, "predicted_per_second": 9}, "usage": {"total_time": 0.3, "n": 4}}'
    assert normal(body) == [[7, 1.0, 1, 1.0, 4]]


def test_the_normal_form_of_the_normal_form_is_itself() -> None:
    once = b'{"id": "chatcmpl-recording", "created": 1700000000, "content": [{"id": "call_1"}, {"id": "call_1_recording_2"}]}'
    assert normal(once) == [
        [token.value for token in cut_body(once, False).tokens if not token.is_key]
    ]
