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


def test_another_owner_neither_finds_nor_drops_nor_names() -> None:
    store = Memory(5, 100)
    one, other = store.of("one"), store.of("other")
    one.keep("a", b"1", names=["talk"])
    for memory in (other, store):
        assert (memory.get("a"), memory.history("a"), memory.find("talk")) == (None, None, "")
        assert memory.forget("a") is False
    other.keep("a", b"2", names=["talk"])
    assert (one.get("a"), one.find("talk"), other.history("a")) == (b"1", "a", [b"2"])
    assert len(store) == 2


def test_all_owners_share_the_bounds() -> None:
    store = Memory(2, 100)
    for owner in ("one", "other", "third"):
        store.of(owner).keep("a", b"1")
    assert [store.of(owner).get("a") for owner in ("one", "other", "third")] == [None, b"1", b"1"]


def test_an_entry_of_a_line_follows_the_last_one_of_it() -> None:
    memory = Memory(5, 100)
    memory.keep("begun", b"0", names=["talk"])
    for key in ("a", "b"):  # both asked when there was only the beginning
        memory.keep(key, key.encode(), "begun", line="talk")
    assert memory.history(memory.find("talk")) == [b"0", b"a", b"b"]


def test_a_line_that_was_dropped_does_not_begin_again() -> None:
    memory = Memory(5, 100)
    memory.keep("begun", b"0", names=["talk"])
    memory.forget("begun")
    memory.keep("a", b"1", "begun", line="talk")
    assert (memory.find("talk"), memory.history("a"), memory.get("a")) == ("", None, b"1")
