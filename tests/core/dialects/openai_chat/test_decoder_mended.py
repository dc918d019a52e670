"""Chat completions with a slip in them: what has a clear meaning is put right, and nothing else."""

import json

import pytest

from converter.core.dialects.openai_chat.decoder import mend
from converter.core.dialects.table import COMMON, Form
from converter.core.model.events import Text, Thinking, Usage
from converter.core.reply.frame_reader import FrameReader
from converter.core.wire.sse import Frame
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


def _mended(**fields: object) -> object:
    body = mend({"id": "a", "choices": [{"index": 0, "delta": {}, **fields}]})
    assert isinstance(body, dict)
    assert body["id"] == "a"
    [choice] = body["choices"]
    return choice


@pytest.mark.parametrize(
    ("index", "mended"),
    [("0", 0), (2.0, 2), (None, 0), (-1, -1), (1.5, 1.5), ("x", "x"), (True, True)],
)
def test_an_index_is_a_number(index: object, mended: object) -> None:
    assert _mended(index=index) == {"index": mended, "delta": {}}


@pytest.mark.parametrize(("delta", "mended"), ROWS["a delta says what it means"])
def test_a_delta_says_what_it_means(delta: object, mended: object) -> None:
    assert _mended(delta=delta) == {"index": 0, "delta": mended}


@pytest.mark.parametrize(
    "delta",
    [
        5,
        *({"content": value} for value in (5, True)),
        {"content": ["a", 5]},
        {"content": [{"type": "image_url"}]},
        {"tool_calls": ["a"]},
    ],
)
def test_what_may_mean_anything_stays(delta: object) -> None:
    assert _mended(delta=delta) == {"index": 0, "delta": delta}


def test_a_message_is_mended_as_a_delta_is() -> None:
    body = mend({"choices": [{"message": {"content": ["a"]}}, {"message": "b"}]})
    assert body == {
        "choices": [
            {"index": 0, "message": {"content": "a"}},
            {"index": 1, "message": {"content": "b"}},
        ]
    }


def test_choices_are_a_list_of_objects() -> None:
    choice = {"index": 0, "delta": {"content": "a"}}
    assert mend({"choices": choice}) == mend({"choices": [None, choice]}) == {"choices": [choice]}
    assert mend({"choices": {}}) == {"choices": []}
    assert mend({"id": "c", "choices": "x"}) == {"id": "c", "choices": []}


def test_a_signed_thought_in_a_mended_frame_is_kept() -> None:
    delta = {"thinking_blocks": [{"thinking": "abc", "signature": "x"}], "content": ["a"]}
    raw = json.dumps({"choices": [{"index": 0, "delta": delta}]})
    events = FrameReader(COMMON, Form.STREAM).read(Frame(b"", raw.encode()))[1]
    assert [each.text for each in events if isinstance(each, Text | Thinking)] == ["abc", "a"]


@pytest.mark.parametrize("body", [5, "a", [1], {"a": 1}, {"choices": [5]}])
def test_what_is_no_chat_completion_stays(body: object) -> None:
    assert mend(body) == body


@pytest.mark.parametrize("shape", ["delta", "message"])
@pytest.mark.parametrize(
    ("prompt", "timings", "counted"),
    [
        (0, {"prompt_n": 11, "cache_n": 4}, 15),
        (0, {"prompt_n": 11}, 11),
        (0, {"prompt_n": 0, "cache_n": 4}, 4),
        (0, {"prompt_n": 0}, 0),
        (0, {}, 0),
        (3, {"prompt_n": 11}, 3),
    ],
)
def test_a_prompt_of_no_token_is_counted_by_the_timings(
    shape: str, prompt: int, timings: dict[str, int], counted: int
) -> None:
    """For clients of any dialect, whose own frame says it then."""
    usage = {"prompt_tokens": prompt, "completion_tokens": 7, "total_tokens": prompt + 7}
    choice = {"index": 0, shape: {"content": "a"}, "finish_reason": "stop"}
    raw = json.dumps({"choices": [choice], "usage": usage, "timings": timings}).encode()
    frame = Frame(b"data: " + raw + b"\n\n", raw)
    read_frame, events = FrameReader(COMMON, Form.STREAM).read(frame)
    [read] = [event for event in events if isinstance(event, Usage)]
    assert (read.input, read.output) == (counted, 7)
    parsed = json.loads(read_frame.data or b"")["usage"]
    assert (parsed["prompt_tokens"], parsed["total_tokens"]) == (counted, counted + 7)
    assert (read_frame is frame) == (counted == prompt)
