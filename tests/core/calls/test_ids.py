"""Ids of calls."""

from converter.core.calls.ids import CallIds, id_suffix, is_kimi_id, short_id


def test_a_free_id_is_taken_as_it_is() -> None:
    ids = CallIds(frozenset({"a"}), "x")
    assert [ids.take("b"), ids.take("b") == "b", ids.take("a") == "a"] == ["b", False, False]


def test_a_call_without_an_id_gets_one() -> None:
    ids = CallIds(frozenset(), "x")
    assert ids.take("")
    assert ids.take("") != ids.take("")


def test_kimis_count_goes_on() -> None:
    ids = CallIds(frozenset({"functions.f:0", "functions.f:1"}), "x")
    assert [ids.take("functions.f:0"), ids.take("functions.f:7"), ids.take("functions.f:0")] == [
        "functions.f:2",
        "functions.f:7",
        "functions.f:3",
    ]
    assert is_kimi_id("functions.f:0")
    assert not is_kimi_id("call_0")


def test_ids_for_mistrals_models_are_nine_letters_and_digits() -> None:
    """Its templates refuse other ones in the next turn."""
    first = short_id("call_x_0")
    ids = CallIds(frozenset({first}), "x", "Ministral-8B")
    ids_taken = [ids.take_for_text("") for _ in range(3)]
    assert len({first, *ids_taken}) == 4
    assert ids_taken == [short_id(each) for each in ids_taken]
    assert ids.take("call_1") == "call_1"  # a server's own
    assert CallIds(frozenset(), "x", "Qwen3").take_for_text("a") == "a"


def test_an_exchange_gives_the_ids_drawn_for_it_the_end_of_its_name() -> None:
    assert id_suffix("5c2f7c41-7f3e-4c5e-9d26-0d1e2f3a4b5c") == "0d1e2f3a4b5c"
    assert (id_suffix("recording"), id_suffix("a b:c")) == ("recording", "abc")
