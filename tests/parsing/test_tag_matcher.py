"""The table of families, how a user chooses among them, and the search for their marks."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.parsing.tag_matcher import (
    TABLE,
    Mark,
    MarkSearch,
    ThinkTags,
    choose,
    for_model,
    joined,
    tag_set,
)
from tests.support.strategies import HALF_TAGS, TAGS, law

NAMES = [family.name for family in TABLE]


def names(families: Iterable[ThinkTags]) -> list[str]:
    return [family.name for family in families]


def opening(*literals: str) -> MarkSearch:
    return MarkSearch(dict.fromkeys(literals, Mark.OPEN))


def test_names_and_marks_are_each_others_alone() -> None:
    assert len(set(NAMES)) == len(TABLE)
    assert all(
        mark for family in TABLE for mark in (*family.openers, *family.closers, *family.ignored)
    )
    assert not [
        family.name for family in TABLE if set(family.openers) & {*family.closers, *family.ignored}
    ]


def test_all_families_but_those_of_one_opener_can_be_looked_for_at_once() -> None:
    chosen = choose(NAMES)
    left_out = [family for family in TABLE if family not in chosen]
    assert names(left_out) == ["think", "thinking", "think-answer"]
    assert {family.open for family in left_out} <= {family.open for family in chosen}


def test_only_families_with_an_angle_bracket_at_the_end_have_forms_with_attributes() -> None:
    assert [family.name for family in TABLE if family.attributes] == ["thinking", "apriel"]
    assert all(family.open.endswith(">") for family in TABLE if family.attributes)


def test_auto_is_every_family_that_prose_does_not_say() -> None:
    chosen = [family.name for family in choose(["auto"])]
    assert chosen == [family.name for family in TABLE if not family.ambiguous_in_prose]
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


@pytest.mark.parametrize("written", [[], [""], ["  "]])
def test_nothing_chosen_is_off(written: list[str]) -> None:
    assert choose(written) == ()


@pytest.mark.parametrize("name", ["tink", "<think>", "a b c", "a  b", "Think", "auto,think"])
def test_anything_else_is_refused_with_what_is_allowed(name: str) -> None:
    with pytest.raises(
        ValueError, match=r"neither auto, nor a pair OPEN CLOSE .* nor one of: think, thinking"
    ):
        choose([name])


@pytest.mark.parametrize(
    "written",
    [["[ [/"], ["<a> </a>", "<a>> </b>"], ["<a </a>", "<ab </ab>"], ["x x"], ["< >", "think"]],
)
def test_marks_that_a_stream_cannot_tell_apart_are_refused(written: list[str]) -> None:
    with pytest.raises(ValueError, match="begins"):
        choose(written)


def test_a_set_is_made_once_for_the_same_rows() -> None:
    assert tag_set(choose(["auto"])) is tag_set(choose(["auto"]))
    assert tag_set(choose(["auto"]), attributes=False) is not tag_set(choose(["auto"]))


def test_the_earliest_mark_is_found() -> None:
    marks = opening("<think>", "[THINK]")
    found = marks.search("a[THINK]<think>", 0)
    assert found
    assert found[0] == "[THINK]"


def test_no_marks_find_nothing_and_hold_nothing() -> None:
    marks = opening()
    assert marks.search("<think>", 0) is None
    assert marks.undecided("<think", 0) == 0


@law(150)
@given(
    st.lists(st.sampled_from([*TAGS, *HALF_TAGS, "a"]), max_size=4).map("".join), st.integers(0, 3)
)
def test_undecided_is_the_longest_end_that_begins_a_mark(text: str, begin: int) -> None:
    begin = min(begin, len(text))
    marks = opening(*TAGS)
    ends = [text[place:] for place in range(begin, len(text))]
    expected = [end for end in ends if any(tag.startswith(end) and tag != end for tag in TAGS)]
    assert marks.undecided(text, begin) == (len(expected[0]) if expected else 0)


MODELS = {
    "tencent/Hunyuan-A13B-Instruct": ["think-answer"],
    "granite3.3:8b": ["think-response"],
    "baidu/ERNIE-4.5-21B-A3B-Thinking": ["think-response"],
    "ibm-granite/granite-3.2-8b-instruct": ["granite"],
    "granite3.2:2b": ["granite"],
    "ServiceNow-AI/Apriel-1.6-15b-Thinker": ["apriel", "apriel-phrase"],
    "openai/gpt-oss-120b": ["harmony-words"],
    "openai.gpt-oss-20b-1:0": ["reasoning", "harmony-words"],
    "moonshot.kimi-k2-thinking": ["reasoning"],
    "muse_glimmer": ["muse"],
    "gemini-3-pro": ["thought"],
    "MiniMax-M2": ["thought"],
    "DeepSeek-R1": [],
    "Qwen3-8B": [],
    "granite-4.0-h": [],
    "amused": [],
    "": [],
}


@pytest.mark.parametrize("model", MODELS)
def test_a_models_name_asks_for_families(model: str) -> None:
    assert names(for_model(model)) == MODELS[model]
    assert all(family.ambiguous_in_prose for family in for_model(model))
    together = joined(choose(["auto"]), for_model(model))
    assert set(MODELS[model]) <= set(names(together))
    assert choose(["auto"]) == together or MODELS[model]


def test_a_joined_row_takes_the_place_of_the_one_with_its_opener() -> None:
    (family,) = joined(choose(["think"]), choose(["think-answer"]))
    assert family.name == "think-answer"


def test_a_joined_row_that_cannot_be_told_apart_stays_out() -> None:
    chosen = choose(["<rea> </rea>", "<reason>x </x>"])
    assert joined(chosen, choose(["reason", "thought"])) == (*chosen, *choose(["thought"]))


SUFFIXED = ["<think:SUFFIX>", "</think:SUFFIX>", "<think>"]


@pytest.mark.parametrize("suffix", ["a", "0a1b2c3d", "A-_9", "x" * 32, "SUFFIX"])
def test_a_suffix_is_any_word(suffix: str) -> None:
    found = opening(*SUFFIXED).search(f"a<think:{suffix}>b", 0)
    assert found
    assert opening(*SUFFIXED).read(found[0]) == (Mark.OPEN, "<think:SUFFIX>", suffix)


@pytest.mark.parametrize("suffix", ["", " ", "a b", "x" * 33, "é", "<"])
def test_what_is_no_word_is_no_suffix(suffix: str) -> None:
    assert opening(*SUFFIXED).search(f"a<think:{suffix}>b", 0) is None


@pytest.mark.parametrize("begun", ["<", "<thi", "<think:", "<think:a", "</think:" + "x" * 32])
def test_a_suffix_that_may_still_come_is_undecided(begun: str) -> None:
    assert opening(*SUFFIXED).undecided(f"a{begun}", 0) == len(begun)
    assert opening(*SUFFIXED).undecided(f"a{begun}?", 0) == 0


def test_a_suffix_that_is_too_long_is_decided() -> None:
    assert opening(*SUFFIXED).undecided("<think:" + "x" * 33, 0) == 0


def test_with_a_suffix_given_only_that_counts() -> None:
    marks = MarkSearch({"</think:SUFFIX>": Mark.CLOSE}, "ab")
    found = marks.search("</think:a></think:abc></think:ab>", 0)
    assert found
    assert found.start() == 22
    assert marks.undecided("</think:a", 0) == 9
    assert marks.undecided("</think:b", 0) == 0
