"""A body read with the help of an earlier body is the same as one read without it."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.wire import json_text, known_json
from converter.core.wire.known_json import KeptObject, ReadObject
from tests.core.wire.test_json_text import VALUES
from tests.support.rows import rows_of
from tests.support.strategies import law

ROWS = rows_of(__file__)

LISTS = ("messages", "input")

_TEXTS = st.text(
    st.sampled_from(["a", '"', "\\", "é", "你", "🙂", "\n", "\u2028", ",", "}"]), max_size=6
)
_MESSAGES = st.lists(
    st.dictionaries(st.sampled_from(["role", "content", "cache_control"]), VALUES | _TEXTS)
    | VALUES
    | _TEXTS,
    max_size=6,
)
_BODIES = st.fixed_dictionaries(
    {},
    optional={
        "model": _TEXTS,
        "n": st.integers() | st.floats(),
        "messages": _MESSAGES | VALUES,
        "input": _MESSAGES,
        "tools": VALUES,
        "metadata": VALUES,
    },
)
_WRITERS: list[Callable[[Any], str]] = [
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    lambda value: json.dumps(value, indent=1),
]


def read(data: bytes, *before: KeptObject) -> ReadObject:
    parsed = known_json.read(data, before, LISTS)
    assert parsed
    return parsed


def messages_of(body_read: ReadObject) -> list[Any]:
    messages = body_read.value["messages"]
    assert isinstance(messages, list)
    return messages


def kept_object(value: object) -> KeptObject:
    return read(json.dumps(value).encode()).kept


def shown(value: object) -> str:
    """Return a text that differs for 1, 1.0 and True, and for each order, and is equal for NaN."""
    return repr(value)


def outcome(reader: Callable[[bytes], object], data: bytes) -> str:
    try:
        return shown(reader(data))
    except json_text.UnreadableError:
        return "unreadable"


@st.composite
def _next_turns(draw: st.DrawFn, body: dict[str, Any]) -> dict[str, Any]:
    """A body that repeats most of another, as next turns do."""
    body = deepcopy(body)
    messages = body.get("messages")
    changes = draw(st.sets(st.sampled_from(["more", "edited", "less", "metadata", "order"])))
    if isinstance(messages, list):
        if messages and "edited" in changes:
            messages[draw(st.integers(0, len(messages) - 1))] = draw(VALUES)
        if messages and "less" in changes:
            del messages[draw(st.integers(0, len(messages) - 1))]
        if "more" in changes:
            messages += draw(_MESSAGES)
    if "metadata" in changes:
        body["metadata"] = draw(VALUES)
    names = draw(st.permutations(list(body))) if "order" in changes else list(body)
    return {name: body[name] for name in names}


@law(300)
@given(st.data())
def test_a_body_is_read_as_if_none_had_been_before(data: st.DataObject) -> None:
    body, before = data.draw(_BODIES), list[KeptObject]()
    for write in data.draw(st.lists(st.sampled_from(_WRITERS), min_size=1, max_size=4)):
        written = write(body).encode()
        if repeated := known_json.read(written, before, LISTS):
            assert shown(repeated.value) == shown(json_text.read(written))
            before.insert(0, repeated.kept)
        body = data.draw(_next_turns(body))


@law(300)
@given(st.data())
def test_whatever_the_bytes_nothing_else_is_read(data: st.DataObject) -> None:
    body = data.draw(_BODIES)
    written = bytearray(data.draw(st.sampled_from(_WRITERS))(body).encode())
    first = known_json.read(bytes(written), (), LISTS)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(written)))
        size = data.draw(st.integers(0, 2))
        pieces = [
            b"",
            b",",
            b"}",
            b"]",
            b'"',
            b"1",
            b".5",
            b"e9",
            b"\xff",
            b"\xc3",
            b"\xef\xbb\xbf",
            b" ",
        ]
        written[at : at + size] = data.draw(st.sampled_from(pieces))
    spoiled = bytes(written)
    repeated = known_json.read(spoiled, [first.kept] if first else [], LISTS)
    if repeated:
        assert shown(repeated.value) == outcome(json_text.read, spoiled)


TURN = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "é"}]


def test_what_is_repeated_is_the_same_object() -> None:
    tools, system = [{"name": "f"}], [{"text": "be short"}]
    first = read(json.dumps({"system": system, "messages": TURN, "tools": tools, "n": 1}).encode())
    body = {"messages": [*TURN, {"role": "user"}], "tools": tools, "n": 2, "system": system}
    then = read(json.dumps(body).encode(), first.kept)
    assert (then.before, then.value) == (0, body)
    for name in ("tools", "system"):
        assert then.value[name] is first.value[name]
    pairs = zip(messages_of(first), messages_of(then), strict=False)
    assert all(one is other for one, other in pairs)


def test_nothing_is_read_of_what_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    written = json.dumps({"messages": TURN, "n": 1}).encode()
    first = read(written)
    monkeypatch.setattr(json_text, "scan", pytest.fail)
    assert read(written, first.kept).value == first.value


def test_behind_a_message_that_has_changed_others_are_still_cached() -> None:
    first = read(json.dumps({"messages": [*TURN, *TURN]}).encode())
    changed = [TURN[0], {"role": "assistant", "content": "longer"}, *TURN]
    then = read(json.dumps({"messages": changed}).encode(), first.kept)
    assert then.value == {"messages": changed}
    pairs = zip(messages_of(then), messages_of(first), strict=True)
    same = [one is other for one, other in pairs]
    assert same == [True, False, True, True]


def test_behind_more_changes_than_marks_move_all_is_new() -> None:
    last = {"role": "user", "content": "more"}
    first = read(json.dumps({"messages": [*TURN, *TURN, last]}).encode())
    changed = [TURN[0], {"n": 1}, {"n": 2}, {"n": 3}, last]
    then = read(json.dumps({"messages": changed}).encode(), first.kept)
    assert then.value == {"messages": changed}
    assert messages_of(then)[0] is messages_of(first)[0]
    assert messages_of(then)[4] is not messages_of(first)[4]


def test_a_request_may_change_its_list_of_messages() -> None:
    written = json.dumps({"messages": TURN}).encode()
    first = read(written)
    messages_of(first).append("more")
    assert read(written, first.kept).value == {"messages": TURN}


def test_the_request_that_is_repeated_furthest_is_the_one_before() -> None:
    histories = [TURN, [*TURN, {"n": 1}], [*TURN, {"n": 2}], [TURN[0]], [{"n": 3}]]
    before = [kept_object({"messages": messages}) for messages in histories]
    request = {"messages": [*TURN, {"n": 2}, {"n": 3}]}
    assert read(json.dumps(request).encode(), *before).before == 2
    assert read(json.dumps({"messages": TURN}).encode(), *before).before == 0
    assert read(b'{"messages": [{"n": 4}]}', *before).before is None
    assert read(json.dumps(request).encode(), before[2], before[2]).before == 0


@pytest.mark.parametrize("value", [b"1", b"-1", b"1.5", b"true", b'"a"', b"NaN"])
@pytest.mark.parametrize("behind", [b"", b"0", b".5", b"e2", b"e", b"x", b"-"])
def test_a_value_ends_where_its_bytes_end(value: bytes, behind: bytes) -> None:
    for form in (b'{"n":%b}', b'{"messages":[%b]}', b'{"n":%b ,"m":2}'):
        before = read(form % value).kept
        parsed = known_json.read(form % (value + behind), [before], LISTS)
        plain = outcome(json_text.read, form % (value + behind))
        assert (shown(parsed.value) if parsed else "unreadable") == plain


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b'"a"',
        b'{"a":1',
        b'{"a":1}}',
        b'{"a":1,}',
        b'{"a":1,"a":2}',
        b'{"\\u0061":1}',
        b'{"messages":[1,]}',
        b'{"messages":[]}',
        b'{"messages":[1}',
        b'{"a":"\xff"}',
        b'{"a":\xef\xbb\xbf1}',
        b'{"a":' + b"[" * 200_000,
        b'{"a":' + b"1" * 5000 + b"}",
        b'{"messages":[' + b"1," * 9999 + b"1]}",
        b"{" + b",".join(b'"%d":1' % number for number in range(999)) + b"}",
    ],
)
def test_bytes_of_an_unusual_form_are_left_to_the_plain_reader(data: bytes) -> None:
    assert known_json.read(data, (), LISTS) is None


def test_a_mark_of_the_byte_order_is_passed_over() -> None:
    assert read('\ufeff{"a": "é"}'.encode()).value == {"a": "é"}


def test_the_bytes_that_came_are_held_once() -> None:
    data = json.dumps({"messages": TURN}).encode()
    assert read(data).kept.data is data


@pytest.mark.parametrize(
    ("before", "now", "goes_on"), ROWS["a request goes on with one whose messages it repeats"]
)
def test_a_request_goes_on_with_one_whose_messages_it_repeats(
    before: str, now: str, goes_on: bool
) -> None:
    first = kept_object({"messages": [*before]})
    then = read(json.dumps({"messages": [*now]}).encode(), first).kept
    assert known_json.goes_on(first, then) is goes_on
    assert not known_json.goes_on(first, kept_object({"input": [*now]}))


def test_the_spans_of_a_first_turn_are_those_of_its_bytes() -> None:
    items = [{"text": "é你🙂" * 9}, {"text": "plain"}, {"text": "ü"}]
    first = read(json.dumps({"input": items}, ensure_ascii=False, indent=2).encode()).kept
    data, one = first.data, first.lists["input"]
    places = [(one.begin + begin, one.begin + end) for begin, end in one.spans]
    assert [json.loads(data[begin:end]) for begin, end in places] == items
    assert data[one.begin] == data[one.spans[0][0] + one.begin] == ord("{")
