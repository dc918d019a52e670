"""The table of families, how a user chooses among them, and the search for their marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.tags import FAMILIES, Marks, choose, tag_set
from tests.strategies import HALF_TAGS, TAGS, law

NAMES = [family.name for family in FAMILIES]


def test_names_and_marks_are_each_others_alone() -> None:
    assert len(set(NAMES)) == len(FAMILIES)
    assert len({family.open for family in FAMILIES}) == len(FAMILIES)
    assert all(family.open != family.close and family.open and family.close for family in FAMILIES)


def test_all_families_can_be_looked_for_at_once() -> None:
    assert choose(NAMES) == FAMILIES


def test_only_families_with_an_angle_bracket_at_the_end_have_forms_with_attributes() -> None:
    assert [family.name for family in FAMILIES if family.attributes] == ["thinking"]
    assert all(family.open.endswith(">") for family in FAMILIES if family.attributes)


def test_auto_is_every_family_that_prose_does_not_say() -> None:
    chosen = [family.name for family in choose(["auto"])]
    assert chosen == [family.name for family in FAMILIES if not family.prose]
    assert {"think", "thinking", "mistral", "seed"} <= set(chosen)
    assert not {"reasoning", "reason", "thought"} & set(chosen)


@pytest.mark.parametrize("name", NAMES)
def test_a_family_is_chosen_by_its_name(name: str) -> None:
    assert [family.name for family in choose([name])] == [name]


def test_a_literal_pair_is_a_family_of_its_own() -> None:
    (family,) = choose(["[[ ]]"])
    assert (family.open, family.close, family.attributes) == ("[[", "]]", False)


def test_what_is_chosen_twice_is_looked_for_once() -> None:
    assert choose(["think", "auto", "think"]) == choose(["think", "auto"])
    assert len(choose(["auto", "reason"])) == len(choose(["auto"])) + 1


def test_a_pair_with_a_familys_opener_takes_its_place() -> None:
    (family,) = choose(["think", "<think> <end>"])
    assert family.close == "<end>"


@pytest.mark.parametrize("names", [[], [""], ["  "]])
def test_nothing_chosen_is_off(names: list[str]) -> None:
    assert choose(names) == ()


@pytest.mark.parametrize("name", ["tink", "<think>", "a b c", "a  b", "Think", "auto,think"])
def test_anything_else_is_refused_with_what_is_allowed(name: str) -> None:
    with pytest.raises(ValueError, match=r"neither auto, nor a pair OPEN CLOSE .* nor one of: think, thinking"):
        choose([name])


@pytest.mark.parametrize("names", [["[ [/"], ["<a> </a>", "<a>> </b>"], ["<a </a>", "<ab </ab>"], ["x x"], ["< >", "think"]])
def test_marks_that_a_stream_cannot_tell_apart_are_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match="begins"):
        choose(names)


def test_a_set_is_made_once_for_the_same_rows() -> None:
    assert tag_set(choose(["auto"])) is tag_set(choose(["auto"]))
    assert tag_set(choose(["auto"]), attributes=False) is not tag_set(choose(["auto"]))


def test_the_earliest_mark_is_found() -> None:
    marks = Marks(["<think>", "[THINK]"])
    found = marks.search("a[THINK]<think>", 0)
    assert found
    assert found[0] == "[THINK]"


def test_no_marks_find_nothing_and_hold_nothing() -> None:
    marks = Marks([])
    assert marks.search("<think>", 0) is None
    assert marks.undecided("<think", 0) == 0


@law(150)
@given(st.lists(st.sampled_from([*TAGS, *HALF_TAGS, "a"]), max_size=4).map("".join), st.integers(0, 3))
def test_undecided_is_the_longest_end_that_begins_a_mark(text: str, begin: int) -> None:
    begin = min(begin, len(text))
    marks = Marks(TAGS)
    ends = [text[place:] for place in range(begin, len(text))]
    expected = [end for end in ends if any(tag.startswith(end) and tag != end for tag in TAGS)]
    assert marks.undecided(text, begin) == (len(expected[0]) if expected else 0)
