"""The same promises, whatever keeps the entries."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from converter.core.model.memory import Memory
from tests.support.stores import KINDS, Opens

pytestmark = pytest.mark.slow

ANY_STORE = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=KINDS)
def opens(request: pytest.FixtureRequest) -> Iterator[Opens]:
    yield from KINDS[request.param]()


def test_what_is_kept_is_returned(opens: Opens) -> None:
    memory = opens(2, 100)
    memory.keep("a", b"1")
    assert (memory.get("a"), memory.get("b")) == (b"1", None)


def test_a_history_is_listed_oldest_first(opens: Opens) -> None:
    memory = opens(3, 100)
    for key, previous in (("a", ""), ("b", "a"), ("c", "b")):
        memory.keep(key, key.encode(), previous)
    assert memory.history("c") == [b"a", b"b", b"c"]
    assert memory.history("b") == [b"a", b"b"]


def test_a_history_with_a_gap_is_none(opens: Opens) -> None:
    memory = opens(3, 100)
    memory.keep("a", b"1")
    memory.keep("b", b"2", "a")
    memory.forget("a")
    assert memory.history("b") is None
    assert memory.get("b") == b"2"


def test_a_circle_is_no_history(opens: Opens) -> None:
    memory = opens(3, 100)
    memory.keep("a", b"1", "b")
    memory.keep("b", b"2", "a")
    assert memory.history("b") is None


def test_the_least_recently_used_goes_first(opens: Opens) -> None:
    memory = opens(2, 100)
    memory.keep("a", b"1")
    memory.keep("b", b"2")
    memory.get("a")
    memory.keep("c", b"3")
    assert [memory.get(key) for key in "abc"] == [b"1", None, b"3"]


def test_an_entry_larger_than_the_memory_is_not_kept(opens: Opens) -> None:
    memory = opens(2, 3)
    memory.keep("a", b"123")
    memory.keep("b", b"1234")
    assert [memory.get(key) for key in "ab"] == [b"123", None]


def test_no_memory_keeps_nothing(opens: Opens) -> None:
    memory = opens(0, 100)
    memory.keep("a", b"1")
    assert memory.size == 0


def test_a_name_stays_with_the_first_entry_that_has_it(opens: Opens) -> None:
    memory = opens(3, 100)
    memory.keep("a", b"1", names=["talk"])
    memory.keep("b", b"2", names=["talk"])
    assert memory.find("talk") == "a"
    memory.forget("b")
    assert memory.find("talk") == "a"
    memory.forget("a")
    assert memory.find("talk") == ""


def test_forgetting_tells_whether_there_was_one(opens: Opens) -> None:
    memory = opens(1, 100)
    memory.keep("a", b"1")
    assert [memory.forget("a"), memory.forget("a")] == [True, False]


@ANY_STORE
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.binary(max_size=9), st.booleans())))
def test_the_bounds_hold_whatever_is_kept(
    opens: Opens, steps: list[tuple[str, bytes, bool]]
) -> None:
    memory = opens(3, 20)
    for key, value, kept in steps:
        if kept:
            memory.keep(key, value, names=[key * 2])
        else:
            memory.forget(key)
        held = [entry for key in "abcd" if (entry := memory.get(key)) is not None]
        assert len(held) <= 3
        assert memory.size == sum(len(entry) + 2 for entry in held) <= 20
        assert all(bool(memory.find(key * 2)) == (memory.get(key) is not None) for key in "abcd")


def test_another_owner_neither_finds_nor_drops_nor_names(opens: Opens) -> None:
    store = opens(5, 100)
    one, other = Memory(store=store.store, owner="one"), Memory(store=store.store, owner="other")
    one.keep("a", b"1", names=["talk"])
    for memory in (other, store):
        assert (memory.get("a"), memory.history("a"), memory.find("talk")) == (None, None, "")
        assert memory.forget("a") is False
    other.keep("a", b"2", names=["talk"])
    assert (one.get("a"), one.find("talk"), other.history("a")) == (b"1", "a", [b"2"])


def test_all_owners_share_the_bounds(opens: Opens) -> None:
    store = opens(2, 100).store
    memories = [Memory(store=store, owner=owner) for owner in ("one", "other", "third")]
    for memory in memories:
        memory.keep("a", b"1")
    assert [memory.get("a") for memory in memories] == [None, b"1", b"1"]


def test_an_entry_of_a_line_follows_the_last_one_of_it(opens: Opens) -> None:
    memory = opens(5, 100)
    memory.keep("begun", b"0", names=["talk"])
    for key in ("a", "b"):  # both asked when there was only the beginning
        memory.keep(key, key.encode(), "begun", moving_name="talk")
    assert memory.history(memory.find("talk")) == [b"0", b"a", b"b"]


def test_a_line_that_was_dropped_does_not_begin_again(opens: Opens) -> None:
    memory = opens(5, 100)
    memory.keep("begun", b"0", names=["talk"])
    memory.forget("begun")
    memory.keep("a", b"1", "begun", moving_name="talk")
    assert (memory.find("talk"), memory.history("a"), memory.get("a")) == ("", None, b"1")


def test_a_line_goes_on_where_its_last_entry_was_kept_again(opens: Opens) -> None:
    memory = opens(5, 100)
    memory.keep("begun", b"0", names=["talk"])
    memory.keep("a", b"1", moving_name="talk")
    memory.keep("b", b"2", moving_name="talk")
    assert memory.history(memory.find("talk")) == [b"0", b"1", b"2"]
    assert memory.history("a") == [b"0", b"1"]


def test_an_unused_entry_goes_after_some_time_and_a_used_one_stays(opens: Opens) -> None:
    memory = opens(5, 100)
    memory.keep("a", b"1", names=["first"])
    memory.keep("b", b"2", "a")
    opens.passes(600)
    assert memory.history("b") == [b"1", b"2"]
    opens.passes(600)
    assert memory.history("b") == [b"1", b"2"]
    opens.passes(1200)
    assert [memory.get(key) for key in "ab"] == [None, None]
    memory.keep("c", b"3")
    assert (memory.size, memory.find("first")) == (1, "")


def test_any_text_is_a_name(opens: Opens) -> None:
    memory = opens(5, 100)
    names = ["", "a b", "\0", "\ud800", "ä", "{x}"]
    memory.keep("\udfff", b"\xff\0", names=names)
    assert [memory.find(name) for name in names[1:]] == ["\udfff"] * 5
    assert memory.get("\udfff") == b"\xff\0"
