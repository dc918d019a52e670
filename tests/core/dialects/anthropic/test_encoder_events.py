"""The events of a Messages stream, and their order."""

from dataclasses import replace

import pytest

from converter.core.dialects.anthropic.encoder import COUNTS_THINKING
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import (
    DialectBlock,
    End,
    Event,
    Failure,
    Finish,
    MappedField,
    Opaque,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from tests.support.frames_of import CONTEXT, Json
from tests.support.messages_of import HEAD, blocks, complete, counts, ending, written
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

STOP = Finish("stop")


def _error(stream: list[Json]) -> tuple[str, str]:
    assert [event["type"] for event in stream].count("error") == 1
    assert stream[-1]["type"] == "error"
    return stream[-1]["error"]["type"], stream[-1]["error"]["message"]


def test_a_message_is_strictly_sequential() -> None:
    stream = complete([Thinking("a"), ThinkingEnd(), Text("b"), STOP])
    assert [event["type"] for event in stream] == [
        "message_start",
        *[
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
        ],
        *["content_block_start", "content_block_delta", "content_block_stop"],
        *["message_delta", "message_stop"],
    ]


@pytest.mark.parametrize("first", [Text("a"), Thinking("a")])
def test_a_message_whose_head_is_missing_begins_all_the_same(first: Event) -> None:
    """As llama.cpp's own endpoint leaves it out when the first token is not counted as one."""
    types = [event["type"] for event in written([first, STOP, End()])]
    assert types[:2] == ["message_start", "content_block_start"]
    assert types.count("message_start") == 1


def test_blocks_stand_in_the_order_they_were_written() -> None:
    events: list[Event] = [
        Thinking("a"),
        ThinkingEnd(),
        Text("b"),
        Thinking("c"),
        ThinkingEnd(),
        Thinking("d"),
        ThinkingEnd(),
        STOP,
    ]
    assert blocks(complete(events)) == [
        ("thinking", "a"),
        ("text", "b"),
        ("thinking", "c"),
        ("thinking", "d"),
    ]


def test_starts_of_blocks_are_empty() -> None:
    starts = [
        event["content_block"]
        for event in complete([Thinking("a"), Text("b"), STOP])
        if "content_block" in event
    ]
    assert starts == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
    ]


@pytest.mark.parametrize("signature", ["ours", ""])
@pytest.mark.parametrize(
    "following", [[ThinkingEnd(), Text("b")], [Text("b")], [ThinkingEnd()], []]
)
def test_a_signature_comes_just_before_a_thoughts_stop(
    signature: str, following: list[Event]
) -> None:
    stream = complete([Thinking("a"), *following, STOP], replace(CONTEXT, signature=signature))
    stop = next(at for at, event in enumerate(stream) if event["type"] == "content_block_stop")
    assert stream[stop - 1]["delta"] == {"type": "signature_delta", "signature": signature}
    assert [
        event["delta"]["type"] for event in stream if "delta" in event and "type" in event["delta"]
    ].count("signature_delta") == 1


@pytest.mark.parametrize("blanks", [["\n\n"], [" ", "\t", "\r\n"]])
def test_text_of_nothing_but_blanks_is_never_a_block(blanks: list[str]) -> None:
    pieces: list[Event] = [Text(blank) for blank in blanks]
    assert blocks(complete([*pieces, Thinking("a"), *pieces, STOP])) == [("thinking", "a")]


def test_blanks_before_text_belong_to_it() -> None:
    assert blocks(complete([Thinking("a"), Text("\n\n"), Text(" b"), Text("\n"), STOP])) == [
        ("thinking", "a"),
        ("text", "\n\n b\n"),
    ]


def test_blanks_of_one_block_do_not_come_out_in_another() -> None:
    assert blocks(complete([Text("\n"), Thinking("a"), Text("b"), STOP])) == [
        ("thinking", "a"),
        ("text", "b"),
    ]


def test_native_thinking_loses_line_ends_at_both_ends_and_nothing_else() -> None:
    thought: list[Event] = [
        Thinking("\r\n"),
        Thinking("\n a\n"),
        Thinking("\n"),
        Thinking("b \n"),
        Thinking("\r\n"),
    ]
    assert blocks(complete([*thought, Text("c"), STOP])) == [
        ("thinking", " a\n\nb "),
        ("text", "c"),
    ]


def test_blanks_of_a_thought_that_was_none_do_not_come_out_in_a_later_one() -> None:
    assert blocks(complete([Thinking("\n \n"), Text("a"), Thinking("b"), STOP])) == [
        ("text", "a"),
        ("thinking", "b"),
    ]


def test_a_count_after_the_finish_is_waited_for() -> None:
    assert counts(complete([Text("a"), STOP, Usage(7, 5), End()])) == {
        "input_tokens": 7,
        "output_tokens": 5,
    }


def test_a_message_without_a_count_ends_with_none() -> None:
    assert counts(complete([Text("a"), STOP])) == {"input_tokens": 0, "output_tokens": 0}


def test_a_count_before_the_finish_is_as_good() -> None:
    assert counts(complete([Usage(7, 1), Text("a"), Usage(7, 5), STOP])) == {
        "input_tokens": 7,
        "output_tokens": 5,
    }


COUNTS = ROWS["counts"]


@pytest.mark.parametrize(("usage", "expected"), COUNTS.values(), ids=COUNTS)
def test_the_input_is_counted_as_the_api_does(usage: Usage, expected: Json) -> None:
    assert counts(complete([Text("a"), STOP, usage])) == expected


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [(Usage(7, 8, thinking=3), 3), (Usage(7, 8, thinking=9), 8), (Usage(7, 8), 6)],
)
def test_thinking_tokens_are_the_servers_or_the_share_of_the_characters(
    usage: Usage, tokens: int
) -> None:
    stream = complete([Thinking("abc"), ThinkingEnd(), Text("d"), STOP, usage])
    assert counts(stream)["output_tokens_details"] == {"thinking_tokens": tokens}


REASONS = {
    ("stop", None): ("end_turn", None),
    ("length", None): ("max_tokens", None),
    ("content_filter", None): ("refusal", None),
    ("stop", "END"): ("stop_sequence", "END"),
    ("stop", ""): ("stop_sequence", None),
    ("length", "END"): ("max_tokens", None),
}


@pytest.mark.parametrize(("finish", "expected"), REASONS.items())
def test_why_a_message_stopped(
    finish: tuple[str, str | None], expected: tuple[str, str | None]
) -> None:
    assert ending(complete([Text("a"), Finish(*finish)])) == expected


CITY = ToolCall(0, "a", "weather", '{"city": "Pa')


@pytest.mark.parametrize(
    ("finish", "arguments", "reason"),
    [
        (Finish("length"), '{"city": "Pa', ("max_tokens", None)),
        (Finish("stop", "ris"), '{"city": "Pa', ("stop_sequence", "ris")),
    ],
)
def test_a_call_that_was_cut_off_is_never_completed(
    finish: Finish, arguments: str, reason: tuple[str, str | None]
) -> None:
    stream = complete([CITY, finish, End()])
    assert blocks(stream) == [("tool_use", f"weather {arguments}")]
    assert ending(stream) == reason


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_a_call_without_its_end_ends_the_message_in_an_error(reason: str) -> None:
    stream = written([HEAD, CITY, Finish(reason), End()])
    assert blocks(stream) == [("tool_use", 'weather {"city": "Pa')]
    assert [event["type"] for event in stream[-2:]] == ["content_block_stop", "error"]


def test_a_whole_call_before_one_that_was_cut_off_is_not_to_be_run_alone() -> None:
    other = ToolCall(1, "b", "weather", '{"city": "Oslo"}')
    stream = complete([other, CITY, Finish("length"), End()])
    assert ending(stream) == ("max_tokens", None)


def test_a_whole_call_that_the_finish_does_not_tell_of_is_run() -> None:
    stream = complete([ToolCall(0, "a", "weather", '{"city": "Oslo"}'), STOP, End()])
    assert ending(stream) == ("tool_use", None)


def test_after_the_end_nothing_is_sent() -> None:
    stream = complete([Text("a"), STOP, End(), Text("b"), Usage(1, 1), End(), Failure("late")])
    assert blocks(stream) == [("text", "a")]


@pytest.mark.parametrize("before", [[], [HEAD], [HEAD, Thinking("a"), Text("b")]])
def test_a_failure_is_an_error_and_the_last_word(before: list[Event]) -> None:
    assert _error(
        written([*before, Failure("gone", "overloaded_error"), Text("c"), STOP, End()])
    ) == ("overloaded_error", "gone")


def test_a_kind_of_failure_that_the_api_has_not_is_an_api_error() -> None:
    assert _error(written([HEAD, Failure("gone", "BadRequestError")])) == ("api_error", "gone")


def test_thinking_that_the_client_does_not_want_to_see_has_no_text_and_is_counted() -> None:
    events: list[Event] = [Thinking("abc"), ThinkingEnd(), Text("d"), STOP, Usage(7, 8)]
    stream = complete(events, context=ReplyContext(shown=False))
    assert blocks(stream) == [("thinking", ""), ("text", "d")]
    assert counts(stream)["output_tokens_details"] == {"thinking_tokens": 6}


@pytest.mark.parametrize(
    ("context", "estimates"),
    [
        (ReplyContext(shown=False, features=frozenset({COUNTS_THINKING, "x"})), [50, 50, 50]),
        (ReplyContext(shown=False), []),
        (ReplyContext(features=frozenset({COUNTS_THINKING})), []),
    ],
    ids=["omitted", "not asked for", "shown"],
)
def test_the_tokens_of_an_omitted_thought_are_sent_as_it_comes_if_wanted(
    context: ReplyContext, estimates: list[int]
) -> None:
    """In whole steps, each a delta without words; the rest is in the usage."""
    texts = [letter * 150 for letter in "abcde"]
    thoughts = map(Thinking, texts)
    stream = complete([*thoughts, ThinkingEnd(), Text("f"), STOP, Usage(7, 300)], context=context)
    counted = [
        event["delta"]["estimated_tokens"]
        for event in stream
        if "estimated_tokens" in event.get("delta", {})
    ]
    assert counted == estimates
    assert blocks(stream)[0] == ("thinking", "".join(texts) if context.shown else "")


def test_choices_but_the_first_are_left_out() -> None:
    events: list[Event] = [
        Text("a"),
        Text("b", 1),
        Thinking("c", 1),
        Finish("length", choice=1),
        STOP,
    ]
    stream = complete(events)
    assert (blocks(stream), ending(stream)) == ([("text", "a")], ("end_turn", None))


def test_unknown_fields_are_left_out() -> None:
    assert blocks(complete([Opaque("anthropic", {"role": "assistant"}, {}), Text("a"), STOP])) == [
        ("text", "a")
    ]


def test_a_block_of_the_users_stands_in_order_and_its_pieces_are_one() -> None:
    events: list[Event] = [
        Text("a"),
        MappedField("custom", "data", "b"),
        MappedField("custom", "data", "c"),
        Thinking("d"),
        STOP,
    ]
    stream = complete(events)
    assert [event["content_block"]["type"] for event in stream if "content_block" in event] == [
        "text",
        "custom",
        "thinking",
    ]
    assert [event["delta"] for event in stream if event.get("index") == 1 and "delta" in event] == [
        {"type": "custom_delta", "data": "b"},
        {"type": "custom_delta", "data": "c"},
    ]


def test_a_value_that_is_no_string_is_a_block_without_deltas() -> None:
    stream = complete(
        [
            MappedField("custom", "data", "a"),
            MappedField("custom", "data", 5),
            MappedField("custom", "data", "b"),
            STOP,
        ]
    )
    assert [event["content_block"]["data"] for event in stream if "content_block" in event] == [
        "",
        5,
        "",
    ]
    assert [event["type"] for event in stream if event.get("index") == 1] == [
        "content_block_start",
        "content_block_stop",
    ]


def _part(kind: str, **fields: object) -> DialectBlock:
    return DialectBlock("anthropic", {"type": f"content_block_{kind}", "index": 7, **fields})


def test_a_block_of_another_kind_passes_at_its_index() -> None:
    other = [
        _part("start", content_block={"type": "redacted_thinking", "data": "x"}),
        _part("delta", delta={"type": "new"}),
        _part("stop"),
    ]
    stream = complete([Text("a"), *other, Text("b"), STOP])
    assert [event.get("index") for event in stream[1:-2]] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert stream[4]["content_block"] == {"type": "redacted_thinking", "data": "x"}
    assert stream[5]["delta"] == {"type": "new"}
