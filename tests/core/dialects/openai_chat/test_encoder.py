"""Streams for OpenAI clients: what changes in a frame, and what must not."""

from collections.abc import Sequence

import pytest

from converter.core.dialects.openai_chat.encoder import OpenAIEncoder
from converter.core.model.events import Event, MappedField, Opaque, Text, ToolCall
from converter.core.wire.sse import write_frame
from tests.support.frames import DONE, END, ROLE, data, delta, finish, stream, text
from tests.support.frames_of import (
    OPENAI,
    Json,
    call,
    choice,
    chunk,
    entry,
    passed,
    rewriter,
    stream_to,
    unended,
    values,
)

BOTH = ["reasoning_content", "reasoning"]


def _raw(*chunks: bytes, fields: Sequence[str] = ("reasoning_content",)) -> list[bytes]:
    return unended(passed(rewriter(OPENAI, fields=fields), chunks))


def _deltas(bodies: list[Json]) -> list[Json]:
    return [choice["delta"] for body in bodies for choice in body["choices"]]


def _joined(bodies: list[Json], field: str, index: int = 0) -> str:
    choices = [choice for body in bodies for choice in body["choices"] if choice["index"] == index]
    return "".join(choice["delta"].get(field) or "" for choice in choices)


PLAIN = {
    "text": stream("Hi ", "there."),
    "text that only resembles a tag": stream("a < b, <thinker>"),
    "frames that end with CRLF": [frame.replace(b"\n\n", b"\r\n\r\n") for frame in stream("a")],
    "spaces in the JSON": [b'data:  {"choices" : [ {"index": 0, "delta":{"content":"a"}} ] }\n\n'],
    "pings": [b": ping\n\n", *stream("a")],
    "other fields of the frame": [
        b'event: message\nid: 7\ndata: {"choices":[{"index":0,"delta":{"content":"a"}}]}\nretry: 5\n\n'
    ],
    "a line that is no field": [b"nonsense\n\n", *stream("a")],
    "an error": [ROLE, data({"error": {"message": "gone"}})],
    "tool calls": [
        ROLE,
        call(0, "f", "{", id="a", vendor=1),
        call(0, arguments="}"),
        finish("tool_calls"),
        *END[1:],
    ],
    "thinking under the name asked for": [
        ROLE,
        delta(reasoning_content="a"),
        delta(content="b"),
        *END,
    ],
    "content as a list of parts": [
        delta(content=[{"type": "text", "text": "<think>"}, {"type": "image_url", "url": "a"}])
    ],
    "no end": [ROLE, *text("a")],
}


@pytest.mark.parametrize("chunks", PLAIN.values(), ids=PLAIN)
def test_what_has_nothing_to_change_goes_on_as_it_came(chunks: list[bytes]) -> None:
    assert b"".join(_raw(*chunks)) == b"".join(chunks)


def test_one_frame_becomes_as_many_as_it_has_events() -> None:
    bodies = stream_to(OPENAI, delta(content="<think>a</think>b<think>c"))
    assert _deltas(bodies) == [
        {"reasoning_content": "a"},
        {"content": "b"},
        {"reasoning_content": "\n\nc"},
    ]


def test_the_head_is_in_every_frame_written_anew() -> None:
    head = {
        "id": "chatcmpl-1",
        "created": 1,
        "model": "small",
        "system_fingerprint": "f",
        "object": "chat.completion.chunk",
    }
    bodies = stream_to(OPENAI, delta(content="<think>a</think>b"))
    assert [{name: body[name] for name in head} for body in bodies] == [head, head]


def test_the_role_is_sent_once_and_not_held() -> None:
    bodies = stream_to(OPENAI, delta(role="assistant", content="<thi"), delta(content="nk>a"))
    assert _deltas(bodies) == [{"role": "assistant"}, {"reasoning_content": "a"}]


def test_a_frame_whose_text_is_held_and_that_says_nothing_else_is_not_sent() -> None:
    through = rewriter(OPENAI)
    assert through.feed(delta(content="<thi", logprobs=None)) == []
    assert _deltas(values(through.feed(delta(content="s")))) == [{"content": "<this"}]


@pytest.mark.parametrize("names", [["reasoning_content"], ["reasoning"], BOTH, BOTH[::-1]])
def test_thinking_from_tags_goes_under_every_name_requested(names: list[str]) -> None:
    assert _deltas(stream_to(OPENAI, delta(content="<think>a"), fields=names)) == [
        dict.fromkeys(names, "a")
    ]


@pytest.mark.parametrize("names", [["reasoning_content"], ["reasoning"], BOTH])
@pytest.mark.parametrize("sent", ["reasoning", "reasoning_content", "thinking"])
def test_a_servers_own_name_is_kept_and_the_missing_ones_added(sent: str, names: list[str]) -> None:
    bodies = stream_to(OPENAI, delta(**{sent: "a"}), fields=names)
    assert _deltas(bodies) == [dict.fromkeys([sent, *names], "a")]


def test_what_stands_beside_thinking_of_the_server_stays_beside_it() -> None:
    sent = choice(
        delta={"reasoning": "a", "content": None}, logprobs={"content": [1]}, finish_reason=None
    )
    [body] = stream_to(OPENAI, chunk(sent, vendor="v", usage={"prompt_tokens": 1}))
    assert body["choices"] == [{**sent, "delta": {**sent["delta"], "reasoning_content": "a"}}]
    assert (body["vendor"], body["usage"]) == ("v", {"prompt_tokens": 1})


def test_every_choice_of_a_frame_gets_the_missing_name() -> None:
    bodies = stream_to(
        OPENAI, chunk(choice(delta={"reasoning": "a"}), choice(1, delta={"reasoning": "b"}))
    )
    assert [_joined(bodies, "reasoning_content", index) for index in (0, 1)] == ["a", "b"]


def test_a_list_of_thoughts_stays_as_it_came_beside_the_name_added() -> None:
    details = [{"type": "reasoning.text", "text": "a", "format": None}]
    [body] = stream_to(OPENAI, delta(reasoning_details=details))
    assert _deltas([body]) == [{"reasoning_details": details, "reasoning_content": "a"}]


def test_a_name_that_was_added_is_not_sent_again_when_the_server_uses_it_late() -> None:
    bodies = stream_to(
        OPENAI, delta(reasoning="ab"), delta(reasoning_content="a"), delta(reasoning_content="bc")
    )
    assert _deltas(bodies) == [
        {"reasoning": "ab", "reasoning_content": "ab"},
        {"reasoning_content": "c"},
    ]


def test_a_block_of_the_users_is_none_of_this_dialect() -> None:
    plain = [*values(_encoded(Opaque("openai", {"plan": 1}, {}), Text("a")))]
    assert (
        values(
            _encoded(
                Opaque("openai", {"plan": 1}, {}, covered=("plan",)),
                MappedField("custom", "steps", 1),
                Text("a"),
            )
        )
        == plain
    )


def test_thoughts_are_joined_by_a_blank_line() -> None:
    bodies = stream_to(OPENAI, *stream("<think>a</think>b<th", "ink>c</thi", "nk><think>d</think>"))
    assert _joined(bodies, "reasoning_content") == "a\n\nc\n\nd"
    assert _joined(bodies, "content") == "b"


def test_a_thought_that_goes_on_after_a_call_is_another() -> None:
    bodies = stream_to(OPENAI, *text("<think>a"), call(0, "f", "{}", id="x"), *text("b</think>c"))
    assert _joined(bodies, "reasoning_content") == "a\n\nb"


def test_a_finish_stays_with_its_choice() -> None:
    bodies = stream_to(
        OPENAI, chunk(choice(delta={"content": "<think>a"}), choice(1, finish_reason="stop"))
    )
    finishes = [
        (choice["index"], choice["finish_reason"]) for body in bodies for choice in body["choices"]
    ]
    assert finishes == [(0, None), (1, "stop")]


def test_the_choices_of_one_frame_keep_their_own() -> None:
    frame = chunk(
        choice(delta={"content": "<think>a"}),
        choice(1, delta={"content": "b"}, finish_reason="stop"),
    )
    assert stream_to(OPENAI, frame)[1]["choices"] == [
        {"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}
    ]


VENDOR: dict[str, bytes] = {
    "head": chunk(choice(delta={"content": "<think>"}), vendor=1),
    "choice": chunk(choice(delta={"content": "<think>"}, vendor=1)),
    "delta": chunk(choice(delta={"content": "<think>", "vendor": 1})),
}


@pytest.mark.parametrize("frame", VENDOR.values(), ids=VENDOR)
def test_vendor_fields_survive_where_they_stood_though_the_text_is_held(frame: bytes) -> None:
    [sent], [body] = values([frame]), stream_to(OPENAI, frame)
    sent["choices"][0]["delta"].pop("content")
    body["choices"][0].pop("finish_reason", None)
    assert body == sent


@pytest.mark.parametrize("held", ["<think>", "<thi"])
def test_a_count_survives_though_the_text_is_held_and_its_choice_as_well(held: str) -> None:
    body = stream_to(OPENAI, chunk(choice(delta={"content": held}), usage={"prompt_tokens": 1}))[0]
    assert body["usage"] == {"prompt_tokens": 1}
    assert [choice["index"] for choice in body["choices"]] == [0]


def test_vendor_fields_are_sent_once_though_a_frame_is_split() -> None:
    bodies = stream_to(
        OPENAI, chunk(choice(delta={"content": "<think>a</think>b"}, logprobs={"content": [1, 2]}))
    )
    assert [choice.get("logprobs") for body in bodies for choice in body["choices"]] == [
        {"content": [1, 2]},
        None,
    ]


def test_finish_and_count_come_with_the_last_of_a_split_frame() -> None:
    frame = chunk(
        choice(delta={"content": "<think>a</think>b"}, finish_reason="stop"),
        usage={"prompt_tokens": 1},
    )
    bodies = stream_to(OPENAI, frame)
    assert [body["choices"][0]["finish_reason"] for body in bodies] == [None, "stop"]
    assert [body.get("usage") for body in bodies] == [None, {"prompt_tokens": 1}]


def test_tool_entries_keep_what_is_unknown_in_a_frame_written_anew() -> None:
    sent = entry(
        0, "f", "{}", id="a", type="function", extra_content={"google": {"thought_signature": "s"}}
    )
    bodies = stream_to(OPENAI, delta(content="<think>a</think>b", tool_calls=[sent, entry(1, "g")]))
    assert [each for body in _deltas(bodies) for each in body.get("tool_calls", [])] == [
        sent,
        entry(1, "g", id="call_0_0"),
    ]


def test_a_call_nobody_sent_is_written_as_the_format_has_it() -> None:
    bodies = values(_encoded(ToolCall(0, "a", "f", ""), ToolCall(0, "", "", "{}")))
    begin = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    assert _deltas(bodies) == [
        {"tool_calls": [begin, {"index": 0, "function": {"arguments": "{}"}}]}
    ]


def _encoded(*events: Event) -> list[bytes]:
    return OpenAIEncoder().feed(events)


def test_an_end_that_the_server_left_out_is_not_added() -> None:
    bodies = stream_to(OPENAI, delta(content="<think>a"))
    assert _deltas(bodies) == [{"reasoning_content": "a"}]
    assert DONE not in b"".join(_raw(delta(content="<think>a")))


def test_frames_are_written_as_one_line_whatever_the_text() -> None:
    [frame] = _raw(delta(content="<think>a\nb\u2028c\r"), delta(content="d"))[:1]
    assert frame.startswith(b"data: {")
    assert frame.endswith(b"}\n\n")
    assert frame.count(b"\n") == 2
    assert frame == write_frame(frame[6:-2])
