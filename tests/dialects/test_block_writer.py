"""Content that waits for a call's end, and blanks that wait for words."""

import json
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain, repeat

import pytest

from converter.dialects.anthropic.message_events import MessageEvents
from converter.dialects.block_writer import BlockWriter, InOrder, ToolPiece, left_out
from converter.dialects.dialect import ReplyContext
from converter.dialects.responses.request_reader import ResponseContext
from converter.dialects.responses.response_events import ResponseEvents
from converter.model.events import End, Event, Finish, Opaque, Text, Thinking, ToolCall
from converter.wire.bounds import BLANKS_LIMIT, DELAYED_LIMIT, TooMuchError
from tests.support.messages_of import blocks, complete, ending

CALLED = Finish("tool_calls")


def _piece(index: int, arguments: str = "", name: str = "", id_: str = "") -> ToolCall:
    return ToolCall(index, id_, name, arguments)


def _calls(*pieces: Event) -> list[tuple[str, str, object]]:
    """Each call's id, name and input, of a message that must be right."""
    stream = complete([*pieces, CALLED])
    heads = [event["content_block"] for event in stream if event["type"] == "content_block_start"]
    inputs = [
        json.loads(said.partition(" ")[2]) for kind, said in blocks(stream) if kind == "tool_use"
    ]
    named = [(head["id"], head["name"]) for head in heads if head["type"] == "tool_use"]
    return [(*head, given) for head, given in zip(named, inputs, strict=True)]


BOTH = [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]
WAYS: dict[str, list[ToolCall]] = {
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
        ],
    ],
    "id and name repeated in each piece": [
        *[
            _piece(0, '{"x"', "f", "a"),
            _piece(0, ":1}", "f", "a"),
            _piece(1, '{"y"', "g", "b"),
            _piece(1, ":2}", "g", "b"),
        ],
    ],
    "alternating, all at index 0, the id repeated": [
        *[
            _piece(0, '{"x"', "f", "a"),
            _piece(0, '{"y"', "g", "b"),
            _piece(0, ":1}", "", "a"),
            _piece(0, ":2}", "", "b"),
        ],
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


@pytest.mark.parametrize("pieces", WAYS.values(), ids=WAYS)
def test_nothing_is_lost_and_nothing_gets_into_the_wrong_call(pieces: list[ToolCall]) -> None:
    assert [(name, given) for _, name, given in _calls(*pieces)] == [
        (name, given) for _, name, given in BOTH
    ]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "the id late"])
def test_a_call_keeps_its_id(way: str) -> None:
    assert _calls(*WAYS[way]) == BOTH


def test_calls_without_ids_get_ids_of_their_own() -> None:
    first, second = _calls(_piece(0, "{}", "f"), _piece(1, "{}", "g"))
    assert len({first[0], second[0], ""}) == 3


@pytest.mark.parametrize("ids", [("ab", "a"), ("a", "ab")])
def test_an_id_that_begins_another_is_another(ids: tuple[str, str]) -> None:
    calls = _calls(_piece(0, '{"x":1}', "f", ids[0]), _piece(0, '{"y":2}', "g", ids[1]))
    assert calls == [(ids[0], "f", {"x": 1}), (ids[1], "g", {"y": 2})]


def test_two_calls_of_one_id_are_still_two() -> None:
    assert [
        (name, given)
        for _, name, given in _calls(_piece(0, "{}", "f", "a"), _piece(1, '{"x":1}', "g", "a"))
    ] == [
        ("f", {}),
        ("g", {"x": 1}),
    ]


def test_a_name_in_a_piece_after_the_arguments_is_no_second_call_when_nothing_follows() -> None:
    assert [
        (name, given) for _, name, given in _calls(_piece(0, '{"x":1}', "f"), _piece(0, "", "f"))
    ] == [("f", {"x": 1})]


def test_a_second_call_at_the_same_index_without_ids_is_known_by_its_name() -> None:
    assert [
        (name, given)
        for _, name, given in _calls(_piece(0, '{"x":1}', "f"), _piece(0, '{"x":2}', "f"))
    ] == [
        ("f", {"x": 1}),
        ("f", {"x": 2}),
    ]


def _pieces(made: Iterable[Text | ToolPiece]) -> list[ToolPiece]:
    return [piece for piece in made if isinstance(piece, ToolPiece)]


def test_the_first_call_goes_out_as_it_comes() -> None:
    order = InOrder[Text]()
    begin, *_ = _pieces(order.feed(_piece(0, "", "f", "a")))
    assert (begin.begins, begin.id, begin.name) == (True, "a", "f")
    said = _pieces(order.feed(_piece(0, '{"x":"long')))
    assert [piece.json for piece in said] == ['{"x":"long']


def test_the_second_call_waits_until_the_first_is_complete() -> None:
    order = InOrder[Text]()
    deque(order.feed(_piece(0, '{"x":', "f", "a")))
    assert [*order.feed(_piece(1, '{"y":2}', "g", "b"))] == []
    first = _pieces(order.feed(ToolCall(0, "", "", "1}", ends=True)))
    assert [piece.name or piece.json for piece in first] == ["1}", "g", '{"y":2}']


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
def test_words_between_the_pieces_of_a_call_are_delayed_and_not_lost(
    between: Text | Thinking,
) -> None:
    stream = complete([Text("a"), _piece(0, '{"x":', "f", "a"), between, _piece(0, "1}"), CALLED])
    assert blocks(stream) == [
        ("text", "a"),
        ("tool_use", 'f {"x":1}'),
        (type(between).__name__.lower(), "later"),
    ]


def test_words_after_a_call_come_at_once() -> None:
    stream = complete(
        [_piece(0, '{"x":1}', "f", "a"), Text("b"), _piece(1, "{}", "g", "b"), CALLED]
    )
    assert blocks(stream) == [("tool_use", 'f {"x":1}'), ("text", "b"), ("tool_use", "g {}")]


def test_words_delayed_behind_a_call_that_is_never_completed_come_at_the_end() -> None:
    stream = complete([_piece(0, '{"x":', "f", "a"), Text("b"), Finish("length"), End()])
    assert blocks(stream) == [("tool_use", 'f {"x":'), ("text", "b")]


REASONS = {
    "a call": ([_piece(0, "{}", "f", "a")], Finish("tool_calls"), ("tool_use", None)),
    "the old word for it": (
        [_piece(0, "{}", "f", "a")],
        Finish("function_call"),
        ("tool_use", None),
    ),
    "a forced call that ends with stop": (
        [_piece(0, "{}", "f", "a")],
        Finish("stop"),
        ("tool_use", None),
    ),
    "a call wins over a stop string": (
        [_piece(0, "{}", "f", "a")],
        Finish("stop", "END"),
        ("tool_use", None),
    ),
    "length wins over a call": ([_piece(0, "{", "f", "a")], Finish("length"), ("max_tokens", None)),
    "a call that was announced and never came": ([], Finish("tool_calls"), ("end_turn", None)),
}


@pytest.mark.parametrize(("pieces", "finish", "expected"), REASONS.values(), ids=REASONS)
def test_why_a_message_with_calls_stopped(
    pieces: list[ToolCall], finish: Finish, expected: tuple[str, str | None]
) -> None:
    assert ending(complete([Text("a"), *pieces, finish])) == expected


def test_a_call_without_a_name_is_still_a_call() -> None:
    [(id_, name, given)] = _calls(_piece(0, '{"x":1}', "", "a"))
    assert (id_, given) == ("a", {"x": 1})
    assert name


def test_a_call_without_an_end_stays_open_though_nothing_was_said_of_it() -> None:
    for arguments in ("", '{"x": 1'):
        order = InOrder[Text]()
        said = "".join(piece.json for piece in _pieces(order.feed(_piece(0, arguments, "f", "a"))))
        rest = _pieces(order.end())
        assert rest[-1].cut
        assert (said + "".join(piece.json for piece in rest)).startswith("{")


def test_a_call_that_ended_has_no_rest() -> None:
    order = InOrder[Text]()
    deque(order.feed(ToolCall(0, "a", "f", "{}", ends=True)))
    assert [*order.end()] == []


BEGIN, END = ToolCall(0, "c", "f", "{"), ToolCall(0, "", "", "}", ends=True)


def test_what_comes_within_a_call_waits_for_its_end() -> None:
    order = InOrder[Text | Thinking]()
    said: list[Text | Thinking] = [Text("a"), Thinking("b"), Text("c")]
    assert [*order.feed(BEGIN)] == [ToolPiece(True, "c", "f"), ToolPiece(False, json="{")]
    assert [made for event in said for made in order.feed(event)] == []
    assert [*order.feed(END)] == [ToolPiece(False, json="}"), *said]
    assert [*order.feed(Text("d")), *order.end()] == [Text("d")]


def test_what_waits_comes_with_the_end_of_the_reply_too() -> None:
    order = InOrder[Text]()
    made = [made for event in (BEGIN, Text("a")) for made in order.feed(event)]
    assert [*made, *order.end()][-1] == Text("a")


@pytest.mark.parametrize("text", ["", "a", "word " * 1000])
def test_so_much_waits_and_no_more(text: str) -> None:
    order = InOrder[Text]()
    deque(order.feed(BEGIN))
    events = chain.from_iterable(map(order.feed, repeat(Text(text), DELAYED_LIMIT)))
    with pytest.raises(TooMuchError, match="text within a tool call of more than 1,048,576"):
        deque(events, 0)


def _told(*events: Event) -> list[str]:
    """The words that a message tells of the answer, for each of the events."""
    writer = MessageEvents(ReplyContext())
    stream = [[event.get("delta") for event in writer.feed(event)] for event in events]
    told = [[delta for delta in deltas if isinstance(delta, dict)] for deltas in stream]
    return ["".join(str(delta.get("text", "")) for delta in deltas) for deltas in told]


def test_blanks_wait_for_words() -> None:
    assert _told(*map(Text, ("\n", " ", "a", "b"))) == ["", "", "\n a", "b"]


def test_blanks_are_forgotten_when_something_else_begins() -> None:
    assert _told(Text("\n"), Thinking("hm"), Text("a")) == ["", "", "a"]


def test_more_blanks_than_are_held_begin_the_answer() -> None:
    told = _told(Text("\n" * BLANKS_LIMIT), Text("\n"))
    assert told == ["", "\n" * (BLANKS_LIMIT + 1)]


WRITERS = pytest.mark.parametrize(
    "make",
    [lambda: MessageEvents(ReplyContext()), lambda: ResponseEvents(ResponseContext())],
    ids=["message", "response"],
)


@WRITERS
def test_what_had_no_place_is_named_in_one_line(make: Callable[[], BlockWriter]) -> None:
    writer = make()
    assert writer.notes == []
    writer.leave_out({"b", "a"})
    assert writer.notes == [f"fields that a {writer.reply} has no place for: a, b"]


@WRITERS
def test_a_call_counts_the_same_however_its_arguments_are_spaced(
    make: Callable[[], BlockWriter],
) -> None:
    """Streamed they are the server's own JSON text, whole they are an object written anew."""
    writers = [make(), make()]
    arguments = ['{"city": "New York",\n "n": 1}', '{"city":"New York","n":1}']
    for writer, text in zip(writers, arguments, strict=True):
        deque(writer.feed(ToolCall(0, "c", "f", text)))
    assert writers[0].said == writers[1].said > 0


def test_what_says_something_and_has_no_place_is_named() -> None:
    inner = {"role": "assistant", "content": None, "audio": {"id": 1}, "refusal": ""}
    assert left_out(Opaque("anthropic", inner, {"logprobs": {}, "vendor": 1})) == {
        "audio",
        "vendor",
    }


def test_what_is_told_otherwise_is_not_named() -> None:
    assert left_out(
        Opaque(
            "anthropic", {"content": [1], "plan": "a", "vendor": 1}, {}, told=("content", "plan")
        )
    ) == {"vendor"}
