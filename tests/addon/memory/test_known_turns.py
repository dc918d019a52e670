"""The newest requests of conversations are known to their owners, and are few."""

import json

import pytest

from converter.addon.bounds import KNOWN_TURNS, KNOWN_TURNS_BYTES
from converter.addon.memory.known_turns import SHORT, KnownTurns
from converter.core.model.conversation import Turn
from converter.core.model.repeated_turns import RepeatedTurns
from converter.core.wire.json_text import UnreadableError
from converter.core.wire.known_json import KeptObject


def request_of(
    cache: KnownTurns, *texts: str, owner: str = "o", size: int = SHORT
) -> RepeatedTurns[Turn, KeptObject] | None:
    """Pass a request on; return the turns of the request before it."""
    body = {"messages": [{"role": "user", "content": text} for text in texts]}
    value, turns = cache.read(owner, json.dumps(body).encode())
    assert value == body
    assert turns
    before = turns.before
    for message in body["messages"]:
        turns.read(message, lambda: (Turn("user", ()), False))
    cache.keep(owner, turns, size)
    assert turns.before is None
    return before


def test_a_request_finds_the_one_before_it_though_its_last_message_is_another() -> None:
    cache = KnownTurns()
    assert request_of(cache, "a", "b", "c") is None
    assert request_of(cache, "other") is None
    first = cache._kept[0].turns
    assert request_of(cache, "a", "b", "unmarked", "d") is first


def test_nobody_finds_the_request_of_another_owner() -> None:
    cache = KnownTurns()
    request_of(cache, "a", "b")
    assert request_of(cache, "a", "b", owner="p") is None
    assert request_of(cache, "a", "b")


def test_a_request_without_messages_is_not_kept() -> None:
    cache, body = KnownTurns(), b'{"messages":"words"}'
    value, turns = cache.read("o", body)
    assert turns
    cache.keep("o", turns, len(body))
    assert (value, cache._kept) == (json.loads(body), [])


@pytest.mark.parametrize(
    "body", [b"{}", b'"words"', b'{"a":1,"a":2}', b'{"messages":[%b1]}' % (b"1," * 9000)]
)
def test_a_request_of_an_unusual_form_has_no_turns_to_keep(body: bytes) -> None:
    assert KnownTurns().read("o", body) == (json.loads(body), None)


@pytest.mark.parametrize("more", ["", ',"a":1,"a":2'])
def test_a_model_has_a_short_name(more: str) -> None:
    body = f'{{"messages":["a"],"model":"{"m" * 1025}"{more}}}'
    with pytest.raises(UnreadableError, match="1024 characters"):
        KnownTurns().read("o", body.encode())


def test_a_body_that_is_no_json_raises_as_ever() -> None:
    with pytest.raises(UnreadableError, match="Expecting"):
        KnownTurns().read("o", b"{")


def test_a_request_replaces_the_one_before() -> None:
    cache = KnownTurns()
    request_of(cache, "other", "one", size=KNOWN_TURNS_BYTES // 2)
    for number in range(2, 5):
        request_of(cache, "a", *map(str, range(number)), size=KNOWN_TURNS_BYTES // 2)
    assert request_of(cache, "other", "one", size=SHORT)


def test_conversations_that_begin_alike_are_all_kept() -> None:
    cache = KnownTurns()
    for number in range(4):
        request_of(cache, "system", str(number))
    for number in range(4):
        before = request_of(cache, "system", str(number), "more")
        assert before
        assert len(before._turns) == 2
    assert len(cache._kept) == 4


def test_a_request_beyond_all_bounds_has_none_either() -> None:
    body = b'{"messages":["c"],"rest":"%b"}' % (b"d" * KNOWN_TURNS_BYTES)
    assert KnownTurns().read("o", body) == (json.loads(body), None)


def test_the_oldest_go() -> None:
    cache = KnownTurns()
    for number in range(KNOWN_TURNS + 1):
        request_of(cache, str(number))
    assert request_of(cache, "0") is None
    for number in range(3):
        request_of(cache, f"long {number}", size=KNOWN_TURNS_BYTES // 2)
    assert request_of(cache, "long 0") is None


@pytest.mark.parametrize(
    ("value", "many"), [(b'{"a":1,"b":2,"c":3}', 32_000), (b"[1,1,1,1]", 31_000)]
)
def test_small_values_count_for_what_they_take(value: bytes, many: int) -> None:
    cache = KnownTurns()
    for number in range(KNOWN_TURNS):
        body = b'{"messages":["%d",[%b]]}' % (number, b",".join([value] * many))
        _, turns = cache.read("o", body)
        assert turns
        cache.keep("o", turns, len(body))
    assert len(cache._kept) < KNOWN_TURNS * 0.8


def test_text_of_code_counts_for_its_bytes() -> None:
    cache = KnownTurns()
    lines = [f"for (const each of all{3**n}) {{ tell(each[0], each.name); }}\n" for n in range(300)]
    request_of(cache, "".join(lines), size=SHORT * 8)  # lines of one length would mislead a sample
    assert cache._kept[0].size == SHORT * 8
