"""Calls and words as blocks, blanks that wait for words, and frames."""

import json
from collections import deque
from collections.abc import Callable, Iterator

import pytest

from converter.core.dialects.anthropic.encoder import AnthropicEncoder
from converter.core.dialects.block_writer import BlockWriter, unwritable_fields
from converter.core.dialects.responses.response_events import ResponsesEncoder
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import (
    End,
    Event,
    Finish,
    Opaque,
    OpaqueFrame,
    Own,
    Text,
    Thinking,
    ToolCall,
)
from converter.core.wire.bounds import BLANKS_LIMIT, DELAYED_LIMIT, TooMuchError
from tests.support.messages_of import blocks, complete, ending
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

CALLED = Finish("tool_calls")


def _piece(index: int, arguments: str = "", name: str = "", id_: str = "") -> ToolCall:
    return ToolCall(index, id_, name, arguments)


def _calls(*pieces: Event) -> list[tuple[str, str, object]]:
    """Each call's id, name and input, of a message that must be right."""
    stream = complete([*pieces, CALLED])
    heads = [event["content_block"] for event in stream if event["type"] == "content_block_start"]
    inputs = [
        json.loads(shown.partition(" ")[2]) for kind, shown in blocks(stream) if kind == "tool_use"
    ]
    named = [(head["id"], head["name"]) for head in heads if head["type"] == "tool_use"]
    return [(*head, value) for head, value in zip(named, inputs, strict=True)]


BOTH = [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]
VARIANTS: dict[str, list[ToolCall]] = {
    "one after another": [
        _piece(0, '{"x":', "f", "a"),
        _piece(0, "1}"),
        _piece(1, '{"y":', "g", "b"),
        _piece(1, "2}"),
    ],
    "each in one piece": [_piece(0, '{"x":1}', "f", "a"), _piece(1, '{"y":2}', "g", "b")],
    "alternating": [
        *[_piece(0, "", "f", "a"), _piece(1, "", "g", "b"), _piece(0, '{"x"'), _piece(1, '{"y"')],
        *[_piece(0, ":1"), _piece(1, ":2"), _piece(1, "}"), _piece(0, "}")],
    ],
    "the second complete first": [
        _piece(0, '{"x":', "f", "a"),
        _piece(1, '{"y":2}', "g", "b"),
        _piece(0, "1}"),
    ],
    "a new id at the same index": [
        _piece(0, '{"x":1', "f", "a"),
        _piece(0, "}"),
        _piece(0, '{"y":', "g", "b"),
        _piece(0, "2}"),
    ],
    "the id repeated in each piece": [
        *[
            _piece(0, '{"x"', "f", "a"),
            _piece(1, '{"y"', "g", "b"),
            _piece(0, ":1}", "", "a"),
            _piece(1, ":2}", "", "b"),
        ]
    ],
    "id and name repeated in each piece": [
        *[
            _piece(0, '{"x"', "f", "a"),
            _piece(0, ":1}", "f", "a"),
            _piece(1, '{"y"', "g", "b"),
            _piece(1, ":2}", "g", "b"),
        ]
    ],
    "alternating, all at index 0, the id repeated": [
        *[
            _piece(0, '{"x"', "f", "a"),
            _piece(0, '{"y"', "g", "b"),
            _piece(0, ":1}", "", "a"),
            _piece(0, ":2}", "", "b"),
        ]
    ],
    "the name late": [
        _piece(0, "", "", "a"),
        _piece(0, '{"x"'),
        _piece(0, ":1}", "f"),
        _piece(1, '{"y":2}', "", "b"),
        _piece(1, "", "g"),
    ],
    "the id late": [
        _piece(0, '{"x"', "f"),
        _piece(0, ":1}", "", "a"),
        _piece(1, '{"y"', "g"),
        _piece(1, ":2}", "", "b"),
    ],
    "empty last pieces": [
        _piece(0, '{"x":1}', "f", "a"),
        _piece(0, ""),
        _piece(1, '{"y":2}', "g", "b"),
        _piece(1, ""),
        _piece(0, "\n"),
    ],
}


@pytest.mark.parametrize("pieces", VARIANTS.values(), ids=VARIANTS)
def test_nothing_is_lost_and_nothing_gets_into_the_wrong_call(pieces: list[ToolCall]) -> None:
    assert [(name, value) for _, name, value in _calls(*pieces)] == [
        (name, value) for _, name, value in BOTH
    ]


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "the id late"])
def test_a_call_keeps_its_id(variant: str) -> None:
    assert _calls(*VARIANTS[variant]) == BOTH


def test_calls_without_ids_get_ids_of_their_own() -> None:
    first, second = _calls(_piece(0, "{}", "f"), _piece(1, "{}", "g"))
    assert len({first[0], second[0], ""}) == 3


@pytest.mark.parametrize("ids", [("ab", "a"), ("a", "ab")])
def test_an_id_that_begins_another_is_another(ids: tuple[str, str]) -> None:
    calls = _calls(_piece(0, '{"x":1}', "f", ids[0]), _piece(0, '{"y":2}', "g", ids[1]))
    assert calls == [(ids[0], "f", {"x": 1}), (ids[1], "g", {"y": 2})]


def test_two_calls_of_one_id_are_still_two() -> None:
    assert [
        (name, value)
        for _, name, value in _calls(_piece(0, "{}", "f", "a"), _piece(1, '{"x":1}', "g", "a"))
    ] == [("f", {}), ("g", {"x": 1})]


def test_a_name_in_a_piece_after_the_arguments_is_no_second_call_when_nothing_follows() -> None:
    assert [
        (name, value) for _, name, value in _calls(_piece(0, '{"x":1}', "f"), _piece(0, "", "f"))
    ] == [("f", {"x": 1})]


def test_a_second_call_at_the_same_index_without_ids_is_matched_by_its_name() -> None:
    assert [
        (name, value)
        for _, name, value in _calls(_piece(0, '{"x":1}', "f"), _piece(0, '{"x":2}', "f"))
    ] == [("f", {"x": 1}), ("f", {"x": 2})]


def test_every_piece_of_an_input_leaves_what_can_become_json() -> None:
    stream = complete(
        [
            *(_piece(0, character, "f", "a") for character in '{"a":[true,null],"b":"\\u00e9"}'),
            CALLED,
        ]
    )
    pieces = [
        event["delta"]["partial_json"] for event in stream if event["type"] == "content_block_delta"
    ]
    assert len(pieces) > 5
    assert all(pieces)


@pytest.mark.parametrize("between", [Text("later"), Thinking("later")])
def test_text_between_the_pieces_of_a_call_is_delayed_and_not_lost(
    between: Text | Thinking,
) -> None:
    stream = complete([Text("a"), _piece(0, '{"x":', "f", "a"), between, _piece(0, "1}"), CALLED])
    assert blocks(stream) == [
        ("text", "a"),
        ("tool_use", 'f {"x":1}'),
        (type(between).__name__.lower(), "later"),
    ]


def test_text_after_a_call_comes_at_once() -> None:
    stream = complete(
        [_piece(0, '{"x":1}', "f", "a"), Text("b"), _piece(1, "{}", "g", "b"), CALLED]
    )
    assert blocks(stream) == [("tool_use", 'f {"x":1}'), ("text", "b"), ("tool_use", "g {}")]


def test_text_delayed_behind_a_call_that_is_never_completed_comes_at_the_end() -> None:
    stream = complete([_piece(0, '{"x":', "f", "a"), Text("b"), Finish("length"), End()])
    assert blocks(stream) == [("tool_use", 'f {"x":'), ("text", "b")]


REASONS = ROWS["reasons"]


@pytest.mark.parametrize(("pieces", "finish", "expected"), REASONS.values(), ids=REASONS)
def test_why_a_message_with_calls_stopped(
    pieces: list[ToolCall], finish: Finish, expected: tuple[str, str | None]
) -> None:
    assert ending(complete([Text("a"), *pieces, finish])) == expected


def _deltas(*events: Event) -> list[str]:
    """The words that a message tells of the answer, for each of the events."""
    writer = AnthropicEncoder(ReplyContext())
    stream = [[event.get("delta") for event in writer.wire_events(event)] for event in events]
    emitted = [[delta for delta in deltas if isinstance(delta, dict)] for deltas in stream]
    return ["".join(str(delta.get("text", "")) for delta in deltas) for deltas in emitted]


def test_blanks_wait_for_text() -> None:
    assert _deltas(*map(Text, ("\n", " ", "a", "b"))) == ["", "", "\n a", "b"]


def test_blanks_are_forgotten_when_something_else_begins() -> None:
    assert _deltas(Text("\n"), Thinking("hm"), Text("a")) == ["", "", "a"]


def test_more_blanks_than_are_held_begin_the_answer() -> None:
    deltas = _deltas(Text("\n" * BLANKS_LIMIT), Text("\n"))
    assert deltas == ["", "\n" * (BLANKS_LIMIT + 1)]


WRITERS = pytest.mark.parametrize(
    "make",
    [lambda: AnthropicEncoder(ReplyContext()), lambda: ResponsesEncoder(ReplyContext())],
    ids=["message", "response"],
)


@WRITERS
def test_what_was_left_out_is_named_in_one_line(make: Callable[[], BlockWriter]) -> None:
    writer = make()
    assert writer.notes == []
    writer.note_left_out({"b", "a"})
    assert writer.notes == [f"fields that a {writer.reply} has no place for: a, b"]


@WRITERS
def test_a_call_counts_the_same_however_its_arguments_are_spaced(
    make: Callable[[], BlockWriter],
) -> None:
    """Streamed they are the server's own JSON text, whole they are an object written anew."""
    writers = [make(), make()]
    arguments = ['{"city": "New York",\n "n": 1}', '{"city":"New York","n":1}']
    for writer, text in zip(writers, arguments, strict=True):
        deque(writer.wire_events(ToolCall(0, "c", "f", text)))
    assert writers[0].text_length == writers[1].text_length > 0


def test_what_says_something_and_cannot_be_written_is_named() -> None:
    inner = {"role": "assistant", "content": None, "audio": {"id": 1}, "refusal": ""}
    assert unwritable_fields(Opaque("anthropic", inner, {"logprobs": {}, "vendor": 1})) == {
        "audio",
        "vendor",
    }


def test_what_is_sent_otherwise_is_not_named() -> None:
    assert unwritable_fields(
        Opaque(
            "anthropic", {"content": [1], "plan": "a", "vendor": 1}, {}, covered=("content", "plan")
        )
    ) == {"vendor"}


class _Encoder(AnthropicEncoder):
    """Each text is an event, and the end is one."""

    def wire_events(self, event: Event) -> Iterator[dict[str, object]]:
        if isinstance(event, Text):
            self._started = True
            yield {"type": "said", "text": event.text}

    def _stop(self, own: Own | None = None) -> Iterator[dict[str, object]]:  # noqa: ARG002
        yield {"type": "end"}

    def _add_to_whole_reply(self, event: dict[str, object]) -> None:
        self._result.setdefault(str(event["type"]), 1)


COMMENT = OpaqueFrame(Own("openai", raw=b": ping\r\n\r\n"), comment=True)


def test_a_stream_has_a_frame_for_each_event_and_a_comment_in_its_order() -> None:
    encoder = _Encoder(ReplyContext())
    framed = encoder.frame_of({"type": "said", "text": "a"})
    assert encoder.feed([Text("a"), COMMENT, Text("a")]) == [framed, b": ping\n\n", framed]
    assert encoder.close() == [b'event: end\ndata: {"type":"end"}\n\n']


def test_a_whole_reply_is_the_stream_folded() -> None:
    encoder = _Encoder(ReplyContext(), whole=True)
    assert encoder.feed([Text("a"), COMMENT, Text("b")]) == []
    assert encoder.ping() == []
    assert encoder.close() == [b'{"said":1,"end":1}']


def test_content_within_a_call_waits_for_its_end() -> None:
    begin, end = _piece(0, '{"x":', "f", "a"), ToolCall(0, "", "", "1}", ends=True)
    for last in ([end], []):
        writer = AnthropicEncoder(ReplyContext())
        for event in (begin, Text("a")):
            writer.feed([event])
        rest = b"".join([*writer.feed(last), *writer.feed([Finish("length"), End()])])
        assert rest.index(b"content_block_stop") < rest.index(b'"text":"a"')


@pytest.mark.parametrize("text", ["", "a", "word " * 1000])
def test_so_much_content_waits_and_no_more(text: str) -> None:
    writer = AnthropicEncoder(ReplyContext())
    writer.feed([_piece(0, '{"x":', "f", "a")])
    with pytest.raises(TooMuchError, match="text within a tool call of more than 1,048,576"):
        writer.feed([Text(text)] * DELAYED_LIMIT)
