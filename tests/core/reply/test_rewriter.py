"""One reply as it passes: what is held and when it comes out, which tags count, what happens when
the server mixes things up.
"""

import json
from typing import Any

import pytest

from converter.core.dialects.table import ANTHROPIC, RESPONSES, Dialect, Form
from converter.core.reply.reply_end import CUT_SHORT, EMPTY
from tests.support.clients import read_openai_stream, read_openai_whole
from tests.support.frames import DONE, END, ROLE, USAGE, data, delta, finish, stream, text, whole
from tests.support.frames_of import (
    OPENAI,
    STREAM,
    WHOLE,
    Json,
    call,
    entry,
    message_of,
    passed,
    rewriter,
    stream_to,
    values,
)
from tests.support.messages_of import blocks, ending, strictly_sequential

HELD = delta(content="a<thi")
THEN = {
    "a tool call": call(0, "f", "{}", id="a"),
    "native thinking": delta(reasoning_content="b"),
    "a finish": finish() + DONE,
    "the end": DONE,
    "a failure": data({"error": {"message": "gone"}}),
}


def _first_delta(pieces: list[bytes]) -> Json:
    delta_: Json = values(pieces)[0]["choices"][0]["delta"]
    return delta_


@pytest.mark.parametrize("frame", THEN.values(), ids=THEN)
def test_held_text_comes_out_before_what_starts_or_ends_something(frame: bytes) -> None:
    through = rewriter(OPENAI)
    through.feed(HELD)
    assert next(iter(_first_delta(through.feed(frame)).items())) == ("content", "<thi")


@pytest.mark.parametrize(
    "frame",
    [USAGE, b": ping\n\n", data({"choices": [], "timings": {}})],
    ids=["usage", "ping", "timings"],
)
def test_held_text_does_not_come_out_for_bookkeeping(frame: bytes) -> None:
    through = rewriter(OPENAI)
    through.feed(HELD)
    assert through.feed(frame) == [frame]
    assert _first_delta(through.close()) == {"content": "<thi"}


def test_held_text_of_a_thought_is_a_thought() -> None:
    chunks = [ROLE, delta(content="<think>a</thi"), call(0, "f", "{}", id="a"), *END]
    assert blocks(stream_to(ANTHROPIC, *chunks)) == [("thinking", "a</thi"), ("tool_use", "f {}")]


def test_no_more_than_an_undecided_tag_is_held() -> None:
    through = rewriter(OPENAI)
    sent = [
        b"".join(through.feed(frame))
        for frame in text("Hi <", "b <thi", "nk>deep</thin", "g</think>")
    ]
    assert [
        b'"Hi "' in sent[0],
        b'"<b "' in sent[1],
        b'"deep"' in sent[2],
        b'"</thing"' in sent[3],
    ] == [True] * 4


def test_held_text_of_one_choice_does_not_come_out_for_another() -> None:
    through = rewriter(OPENAI)
    through.feed(HELD)
    other = delta(1, content="b")
    assert through.feed(other) == [other]


def test_tags_are_text_once_the_server_has_sent_thinking_itself() -> None:
    chunks = [ROLE, delta(reasoning_content="a"), *text("<think>b</think>"), *END]
    assert blocks(stream_to(ANTHROPIC, *chunks)) == [
        ("thinking", "a"),
        ("text", "<think>b</think>"),
    ]
    assert b"".join(passed(rewriter(OPENAI), chunks)) == b"".join(chunks)


def test_tags_count_until_then() -> None:
    chunks = [
        ROLE,
        *text("<think>a</think>b<thi"),
        delta(reasoning_content="c"),
        *text("<think>d"),
        *END,
    ]
    expected = [("thinking", "a"), ("text", "b<thi"), ("thinking", "c"), ("text", "<think>d")]
    assert blocks(stream_to(ANTHROPIC, *chunks)) == expected


def test_an_empty_reasoning_field_leaves_the_tags_in_force() -> None:
    chunks = [delta(reasoning_content="", content="<think>a</think>b"), *END]
    assert blocks(stream_to(ANTHROPIC, *chunks)) == [("thinking", "a"), ("text", "b")]


def test_native_thinking_of_one_choice_leaves_the_tags_of_another_in_force() -> None:
    bodies = stream_to(OPENAI, delta(reasoning_content="a"), delta(1, content="<think>b"))
    assert bodies[1]["choices"][0]["delta"] == {"reasoning_content": "b"}


def test_whole_replies_that_begin_inside_a_thought_are_recognised_by_their_closer() -> None:
    assert [
        block["type"] for block in message_of(whole("a</think>b"), server_form=WHOLE)["content"]
    ] == ["thinking", "text"]
    assert [block["type"] for block in message_of(*stream("a</th", "ink>b"))["content"]] == [
        "thinking",
        "text",
    ]


def test_streams_are_not_held_back_for_a_closer_that_may_come() -> None:
    assert blocks(stream_to(ANTHROPIC, *stream("a</think>b"))) == [("text", "a</think>b")]


@pytest.mark.parametrize(
    ("start", "expected"),
    [("thinking", [("thinking", "a"), ("text", "b")]), ("text", [("text", "a</think>b")])],
)
def test_where_a_reply_begins_can_be_chosen(start: str, expected: list[tuple[str, str]]) -> None:
    assert blocks(stream_to(ANTHROPIC, *stream("a</think>b"), start=start)) == expected
    assert len(message_of(*stream("a</think>b"), start=start)["content"]) == len(expected)


def test_without_tags_nothing_is_looked_for() -> None:
    chunks = stream("<think>a</think>b")
    assert b"".join(passed(rewriter(OPENAI, tags=[]), chunks)) == b"".join(chunks)


def test_a_whole_reply_to_a_streaming_client_is_a_stream() -> None:
    body = whole(
        "<think>a</think>b", tool_calls=[{"id": "c", "function": {"name": "f", "arguments": "{}"}}]
    )
    sent = values(passed(rewriter(ANTHROPIC, WHOLE, STREAM), [body]))
    assert strictly_sequential(sent)
    assert blocks(sent) == [("thinking", "a"), ("text", "b"), ("tool_use", "f {}")]
    assert ending(sent) == ("tool_use", None)


def _failed(*chunks: bytes) -> Json:
    last: Json = stream_to(ANTHROPIC, *chunks)[-1]
    assert last["type"] == "error"
    return message_of(*chunks)


def test_no_bytes_at_all_are_an_error() -> None:
    assert _failed()["error"]["message"] == EMPTY
    assert [body["error"]["message"] for body in values(passed(rewriter(OPENAI), []))] == [EMPTY]


def test_a_stream_cut_short_is_an_error_for_anthropic_clients() -> None:
    assert _failed(ROLE, *text("a"))["error"]["message"] == CUT_SHORT


def test_a_stream_of_nothing_but_its_end_is_an_error_for_anthropic_clients() -> None:
    assert _failed(DONE)["type"] == "error"


@pytest.mark.parametrize("client", [OPENAI, ANTHROPIC, RESPONSES])
def test_a_frame_that_cannot_be_read_is_the_end(client: Dialect) -> None:
    sent = stream_to(client, *text("a"), delta(content=5), *text("b"), *END)
    assert "cannot be read" in json.dumps(sent[-1])
    assert '"b"' not in json.dumps(sent)


@pytest.mark.parametrize("client", [OPENAI, ANTHROPIC, RESPONSES])
def test_behind_an_error_nothing_is_sent(client: Dialect) -> None:
    error = data({"object": "error", "message": "gone"})
    sent = json.dumps(stream_to(client, *text("a"), error, *text("b"), error, finish()))
    assert (sent.count("gone"), '"b"' in sent) == (1, False)


def test_an_error_that_clients_know_goes_on_as_it_came_and_so_does_the_end() -> None:
    error = data({"error": {"message": "gone", "vendor": 1}})
    sent = passed(rewriter(OPENAI), [*text("a"), error, *text("b"), DONE])
    assert sent == [*text("a"), error, DONE]


@pytest.mark.parametrize(("form", "chunks"), [(WHOLE, stream("a")), (STREAM, [whole("a")])])
def test_an_openai_client_gets_the_form_that_it_requested(form: Form, chunks: list[bytes]) -> None:
    server = STREAM if form is WHOLE else WHOLE
    sent = b"".join(passed(rewriter(OPENAI, server, form), chunks))
    read = read_openai_whole if form is WHOLE else read_openai_stream
    assert (read(sent).text, read(sent).stop) == ("a", "stop")
    assert sent.endswith(DONE) == (form is STREAM)


def test_calls_of_a_whole_reply_are_numbered_in_a_stream() -> None:
    calls = [entry(None, "f", "{}", id="a"), entry(None, "g", "{}", id="b")]
    sent = values(passed(rewriter(OPENAI, WHOLE, STREAM), [whole(None, tool_calls=calls)]))
    calls_sent = [
        call
        for body in sent
        for choice in body["choices"]
        for call in choice["delta"].get("tool_calls", ())
    ]
    assert [call["index"] for call in calls_sent] == [0, 1]


@pytest.mark.parametrize("client", [OPENAI, ANTHROPIC, RESPONSES])
def test_json_that_is_called_a_stream_is_read_as_what_it_is(client: Dialect) -> None:
    sent = passed(rewriter(client), [whole("<think>a</think>b")])
    assert b"".join(sent) == b"".join(
        passed(rewriter(client, WHOLE, STREAM), [whole("<think>a</think>b")])
    )


def test_content_as_a_list_of_parts_is_read_part_by_part() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "a"}]},
        {"type": "text", "text": "b"},
    ]
    assert blocks(stream_to(ANTHROPIC, delta(content=parts), *END)) == [
        ("thinking", "a"),
        ("text", "b"),
    ]


def test_a_refusal_is_what_the_model_says() -> None:
    assert blocks(stream_to(ANTHROPIC, delta(refusal="I will not."), *END)) == [
        ("text", "I will not.")
    ]


CODES = {
    400: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    500: "api_error",
    "x": "api_error",
}


@pytest.mark.parametrize(("code", "kind"), CODES.items())
def test_an_error_in_the_stream_has_the_type_of_its_code(code: object, kind: str) -> None:
    failed = _failed(data({"error": {"message": "m", "type": "BadRequestError", "code": code}}))
    assert failed["error"] == {"type": kind, "message": "m"}


UNREAD = ("<mythink>I add.", "</mythink>84")


@pytest.mark.parametrize("client", [OPENAI, ANTHROPIC], ids=str)
@pytest.mark.parametrize("fast", [True, False])
def test_a_tag_that_no_family_reads_is_reported_with_the_option_that_reads_it(
    client: Dialect, fast: bool
) -> None:
    through = rewriter(client, fast=fast)
    passed(through, [*stream(*UNREAD)])
    (note,) = through.notes
    assert note.startswith("<mythink> begins the text, and no family reads it")
    assert "--set think_tags=auto --set think_tags='<mythink> </mythink>'" in note


@pytest.mark.parametrize(
    ("chunks", "options"),
    [
        (UNREAD, {"tags": ["<mythink> </mythink>"]}),
        (UNREAD, {"tags": []}),
        (("<p>I add.", "</p>84"), {}),
        (("<think>a</think><mythink>b</mythink>c",), {}),
    ],
    ids=["it is read", "no tags are read", "HTML", "behind a thought"],
)
def test_nothing_is_reported_where_nothing_is_amiss(
    chunks: tuple[str, ...], options: dict[str, Any]
) -> None:
    through = rewriter(OPENAI, **options)
    passed(through, [*stream(*chunks)])
    assert through.notes == []


def test_a_ping_tells_nothing_once_more() -> None:
    through = rewriter(OPENAI)
    through.feed(delta(content="<think>a</think>b"))
    assert through.events
    assert through.ping()
    assert (through.events, through.thoughts) == ([], [])
