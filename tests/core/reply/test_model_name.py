import json

import pytest

from converter.core.reply.model_name import bytes_with_model, frame_with_model
from converter.core.wire.sse import Frame, read_frame


@pytest.mark.parametrize("space", ["", " "])
def test_a_frame_gets_the_clients_name_and_keeps_every_other_byte(space: str) -> None:
    text = json.dumps('say "model":"x" \\')
    frame = f'data: {{"choices":[{{"delta":{{"content":{text}}}}}],"model":{space}"a\\"b"}}\n\n'
    got = bytes_with_model(frame.encode(), 'c"d').decode()
    assert got == frame.replace('"a\\"b"', '"c\\"d"')


INPUT = {"prompt": "a cat", "model": "sdxl"}


@pytest.mark.parametrize(
    ("reply", "path"),
    [
        ({"content": [{"type": "tool_use", "input": INPUT}], "model": "a"}, ["model"]),
        ({"message": {"tool_calls": [{"arguments": INPUT}]}, "model": "a"}, ["model"]),
        ({"type": "message_start", "message": {"content": [INPUT], "model": "a"}}, ["message"]),
        (
            {"type": "response.completed", "response": {"output": [INPUT], "model": "a"}},
            ["response"],
        ),
        ({"choices": [{"message": {"model": "sdxl"}}]}, []),
        ({"message": {"x": INPUT}}, []),
    ],
)
def test_only_the_replys_own_field_is_renamed(reply: dict[str, object], path: list[str]) -> None:
    written = json.dumps(reply)
    got = bytes_with_model(written.encode(), "c").decode()
    assert got == (written.replace('"model": "a"', '"model": "c"') if path else written)


def test_a_frame_without_a_model_stays() -> None:
    assert bytes_with_model(b"data: [DONE]\n\n", "x") == b"data: [DONE]\n\n"


def test_a_stream_has_the_name_in_its_frame_and_a_body_in_all_of_it() -> None:
    frame = read_frame(b'data: {"model":"a"}\n\n')
    got = frame_with_model(frame, "b")
    assert (got.raw, got.data) == (b'data: {"model":"b"}\n\n', b'{"model":"b"}')
    body = b'{"model":"a"}'
    assert frame_with_model(Frame(body, body), "b").data == b'{"model":"b"}'
