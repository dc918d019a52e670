"""Lessons that processes share about a server: each is checked, and the latest counts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.servers.known_servers import (
    AGE,
    MOST_SHARED,
    SERVER,
    Lesson,
    merge_lessons,
    read_lessons,
    server_word,
    write_lessons,
)
from converter.addon.servers.profiles import SERVERS

NOW = 1_000_000.0
DIGEST = "0a" * 32
GOOD = {
    "server": "vllm",
    "repeats": "",
    f"parses {DIGEST}": "",
    f"prompt {DIGEST}": "thinking",
    f"begins {DIGEST}": "likely thinking",
    f"thinks {DIGEST}": "",
    f"refuses {DIGEST}": "field messages.name\nfield seed\npictures\nthe server's own reader",
    f"refuses {DIGEST[::-1]}": "format\npattern\nschemas without a meaning",
}


def learned(lessons: dict[str, str], at: float = NOW) -> dict[str, Lesson]:
    return {name: Lesson(at, word) for name, word in lessons.items()}


def test_what_is_written_is_read() -> None:
    assert read_lessons(write_lessons(learned(GOOD)), NOW) == learned(GOOD)


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
@pytest.mark.parametrize("certain", [True, False])
def test_a_lesson_can_name_every_server(server: object, certain: bool) -> None:
    lessons = learned({SERVER: server_word(server, certain)})  # type: ignore[arg-type]
    assert read_lessons(write_lessons(lessons), NOW) == lessons


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("server", "a later version's"),
        ("server x", "vllm"),
        (f"prompt {DIGEST}", "auto"),
        (f"prompt {DIGEST[1:]}", "thinking"),
        (f"begins {DIGEST}", ""),
        (f"refuses {DIGEST}", "tools"),
        (f"refuses {DIGEST}", "field seed\nfield messages"),
        (f"refuses {DIGEST}", "field messages.content"),
        (f"refuses {DIGEST}", "field no name"),
        ("repeats", "yes"),
        (f"tells {DIGEST}", ""),
    ],
)
def test_what_cannot_be_read_is_left_out_and_the_rest_is_read(name: str, word: str) -> None:
    assert read_lessons(write_lessons(learned({**GOOD, name: word})), NOW).keys() == GOOD.keys() - {
        name
    }


@pytest.mark.parametrize("value", [None, b"", b"{", b"\xff", b"[]", b'{"server": "vllm"}'])
def test_what_is_no_lesson_says_nothing(value: bytes | None) -> None:
    assert read_lessons(value, NOW) == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.sampled_from([*GOOD]) | st.text(), JSON) | JSON)
def test_whatever_comes_is_read_without_complaint(value: object) -> None:
    for name, lesson in read_lessons(json.dumps(value).encode(), NOW).items():
        assert lesson.at <= NOW
        assert read_lessons(write_lessons({name: lesson}), NOW) == {name: lesson}


def test_a_lesson_grows_old_and_none_is_of_the_future() -> None:
    assert read_lessons(write_lessons(learned(GOOD, NOW - AGE + 1)), NOW) == learned(
        GOOD, NOW - AGE + 1
    )
    assert read_lessons(write_lessons(learned(GOOD, NOW - AGE)), NOW) == {}
    assert read_lessons(write_lessons(learned(GOOD, NOW + 9)), NOW) == learned(GOOD)


def test_no_more_than_the_newest_are_written() -> None:
    many = {f"thinks {number:064x}": Lesson(NOW + number, "") for number in range(MOST_SHARED + 9)}
    kept = read_lessons(write_lessons(many), NOW + 999)
    assert len(kept) == MOST_SHARED
    assert min(lesson.at for lesson in kept.values()) == NOW + 9


def test_the_later_word_holds() -> None:
    one = {"repeats": Lesson(1, ""), f"begins {DIGEST}": Lesson(3, "text")}
    other = {f"begins {DIGEST}": Lesson(2, "thinking"), "parses": Lesson(4, "")}
    both = {**other, **one}
    assert merge_lessons(one, other) == merge_lessons(other, one) == both


def test_nothing_is_left_of_a_server_that_another_has_replaced() -> None:
    gone = {"server": Lesson(1, "vllm"), f"begins {DIGEST}": Lesson(9, "thinking")}
    there = {"server": Lesson(2, "llama.cpp"), "repeats": Lesson(2, "")}
    assert merge_lessons(gone, there) == merge_lessons(there, gone) == there
    sure = {"server": Lesson(2, "vllm?")}
    assert merge_lessons(gone, sure) == {**gone, **sure}
