"""The strict reader takes what the API sends, and nothing else: each row breaks a good stream in
one way.
"""

import json
from typing import Any

import pytest

from laws.strict_reader import frames_of, read_strictly
from tests.support.native_streams import EMPTY_CALL, HEX, begin, end, piece, start, stop, text_block

THINKING = {"type": "thinking", "thinking": "", "signature": ""}
GOOD: list[dict[str, Any]] = [
    start(stop_sequence=None),
    begin(0, THINKING),
    piece(0, "thinking", "why"),
    piece(0, "signature", HEX),
    stop(0),
    begin(1, text_block("")),
    piece(1, "text", "a"),
    stop(1),
    begin(2, EMPTY_CALL),
    piece(2, "input_json", '{"at": 1}'),
    stop(2),
    *end("tool_use"),
]
ERROR = {"type": "error", "error": {"type": "api_error", "message": "no"}}


def written(events: list[dict[str, Any]]) -> bytes:
    return b"".join(
        b"event: " + event["type"].encode() + b"\ndata: " + json.dumps(event).encode() + b"\n\n"
        for event in events
    )


def test_a_good_stream_is_its_message() -> None:
    message = read_strictly(b": ping\n\n" + written([{"type": "ping"}, *GOOD])).message
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert (message["content"][2]["input"], message["stop_reason"]) == ({"at": 1}, "tool_use")


def test_an_error_may_end_it_anywhere_but_behind_its_end() -> None:
    assert read_strictly(written([*GOOD[:3], ERROR])).error == ERROR
    with pytest.raises(AssertionError, match="error after message_stop"):
        read_strictly(written([*GOOD, ERROR]))


def test_a_block_of_another_kind_is_only_held_to_the_order() -> None:
    own = [
        begin(0, {"type": "custom", "data": ""}),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "custom_delta", "data": "x"}},
        stop(0),
    ]
    assert read_strictly(written([start(), *own, *end()])).message["content"] == [
        {"type": "custom", "data": "x"}
    ]


@pytest.mark.parametrize(
    ("index", "event", "message"),
    [
        (0, begin(0, text_block("")), "frame 0: content_block_start after nothing"),
        (0, start(role="user"), "not the head of an empty message"),
        (0, start(content=[text_block("a")]), "not the head of an empty message"),
        (0, start(id=None), "no id or no model"),
        (0, start(usage={}), "no counts of tokens"),
        (1, begin(1, THINKING), "index 1 where 0 belongs"),
        (1, begin(0, THINKING | {"thinking": "a"}), "does not begin empty"),
        (2, piece(0, "text", "a"), "frame 2: text_delta in thinking"),
        (2, piece(0, "thinking", ""), "an empty delta"),
        (2, piece(1, "thinking", "a"), "index 1 where 0 belongs"),
        (3, stop(0), "a thought without signature"),
        (4, piece(0, "thinking", "a"), "a delta after the signature"),
        (6, piece(1, "text", "  "), "frame 7: a block of nothing but blanks"),
        (7, begin(2, text_block("")), "content_block_start after content_block_delta"),
        (8, begin(2, EMPTY_CALL | {"id": ""}), "a call without id or name"),
        (9, piece(2, "input_json", "[1]"), "a call whose input is no object"),
        (9, piece(2, "input_json", "{"), "to run a call that was cut off"),
        (9, piece(2, "input_json", "no"), "frame 10: a call whose input is no JSON"),
        (
            11,
            {"type": "message_delta", "delta": {"stop_reason": "x"}, "usage": {}},
            "not the two fields of an end",
        ),
        (12, {"type": "message_stop", "x": 1}, "says more than that"),
        (12, {"type": "new"}, "new after message_delta"),
    ],
)
def test_a_fault_is_named_with_its_frame(index: int, event: dict[str, Any], message: str) -> None:
    broken = [*GOOD[:index], event, *GOOD[index + 1 :]]
    with pytest.raises(AssertionError, match=message):
        read_strictly(written(broken))


def test_a_stream_has_an_end_and_each_frame_has_its_own() -> None:
    with pytest.raises(AssertionError, match="the stream ends after content_block_stop"):
        read_strictly(written(GOOD[:5]))
    with pytest.raises(AssertionError, match="the last frame has no end"):
        frames_of(written(GOOD)[:-1])
    with pytest.raises(AssertionError, match="event: other above message_start"):
        read_strictly(written(GOOD).replace(b"event: message_start", b"event: other", 1))
