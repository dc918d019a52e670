from hypothesis import given
from hypothesis import strategies as st

from converter.model.memory import Memory


def test_what_is_kept_is_found() -> None:
    memory = Memory(2, 100)
    memory.keep("a", b"1")
    assert (memory.get("a"), memory.get("b")) == (b"1", None)


def test_a_history_is_told_oldest_first() -> None:
    memory = Memory(3, 100)
    for key, previous in (("a", ""), ("b", "a"), ("c", "b")):
        memory.keep(key, key.encode(), previous)
    assert memory.history("c") == [b"a", b"b", b"c"]
    assert memory.history("b") == [b"a", b"b"]


def test_a_history_with_a_gap_is_none() -> None:
    memory = Memory(3, 100)
    memory.keep("a", b"1")
    memory.keep("b", b"2", "a")
    memory.forget("a")
    assert memory.history("b") is None
    assert memory.get("b") == b"2"


def test_a_circle_is_no_history() -> None:
    memory = Memory(3, 100)
    memory.keep("a", b"1", "b")
    memory.keep("b", b"2", "a")
    assert memory.history("b") is None


def test_the_least_recently_used_goes_first() -> None:
    memory = Memory(2, 100)
    memory.keep("a", b"1")
    memory.keep("b", b"2")
    memory.get("a")
    memory.keep("c", b"3")
    assert [memory.get(key) for key in "abc"] == [b"1", None, b"3"]


def test_an_entry_larger_than_the_memory_is_not_kept() -> None:
    memory = Memory(2, 3)
    memory.keep("a", b"123")
    memory.keep("b", b"1234")
    assert [memory.get(key) for key in "ab"] == [b"123", None]


def test_no_memory_keeps_nothing() -> None:
    memory = Memory(0, 100)
    memory.keep("a", b"1")
    assert (len(memory), memory.size) == (0, 0)


def test_a_name_means_the_last_entry_that_has_it() -> None:
    memory = Memory(3, 100)
    memory.keep("a", b"1", names=["talk"])
    memory.keep("b", b"2", names=["talk"])
    assert memory.find("talk") == "b"
    memory.forget("a")
    assert memory.find("talk") == "b"
    memory.forget("b")
    assert memory.find("talk") == ""


def test_forgetting_tells_whether_there_was_one() -> None:
    memory = Memory(1, 100)
    memory.keep("a", b"1")
    assert [memory.forget("a"), memory.forget("a")] == [True, False]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.binary(max_size=9), st.booleans())))
def test_the_bounds_hold_whatever_is_kept(steps: list[tuple[str, bytes, bool]]) -> None:
    memory = Memory(3, 20)
    for key, value, kept in steps:
        if kept:
            memory.keep(key, value, names=[key * 2])
        else:
            memory.forget(key)
        held = [found for key in "abcd" if (found := memory.get(key)) is not None]
        assert len(memory) == len(held) <= 3
        assert memory.size == sum(len(found) + 2 for found in held) <= 20
        assert all(bool(memory.find(key * 2)) == (memory.get(key) is not None) for key in "abcd")
