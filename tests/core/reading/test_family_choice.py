"""The families that a parser looks for: how a user or a model's name chooses among them."""

from collections.abc import Iterable

import pytest

from converter.core.reading.families import TABLE
from converter.core.reading.family_choice import choose, families_of, for_model, joined
from converter.core.reading.reading import Expected, Reading
from converter.core.reading.thought_row import ThoughtRow

NAMES = [family.name for family in TABLE]


def names(families: Iterable[ThoughtRow]) -> list[str]:
    return [family.name for family in families]


def test_names_and_marks_are_each_others_alone() -> None:
    assert len(set(NAMES)) == len(TABLE)
    assert all(
        mark for family in TABLE for mark in (*family.opens, *family.closes, *family.ignored)
    )
    assert not [
        family.name for family in TABLE if set(family.opens) & {*family.closes, *family.ignored}
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
    assert not {"reasoning", "thought"} & set(chosen)


@pytest.mark.parametrize("name", NAMES)
def test_a_family_is_chosen_by_its_name(name: str) -> None:
    assert [family.name for family in choose([name])] == [name]


def test_a_literal_pair_is_a_family_of_its_own() -> None:
    (family,) = choose(["[[ ]]"])
    assert (family.open, family.close, family.attributes) == ("[[", "]]", False)


def test_what_is_chosen_twice_is_looked_for_once() -> None:
    assert choose(["think", "auto", "think"]) == choose(["think", "auto"])
    assert len(choose(["auto", "reasoning"])) == len(choose(["auto"])) + 1


def test_a_pair_with_a_familys_opener_replaces_it() -> None:
    (family,) = choose(["think", "<think> <end>"])
    assert family.close == "<end>"


@pytest.mark.parametrize("written", [[], [""], ["  "]])
def test_nothing_chosen_is_off(written: list[str]) -> None:
    assert choose(written) == ()


@pytest.mark.parametrize("name", ["tink", "<think>", "a b c", "a  b", "Think", "auto,think"])
def test_anything_else_is_refused_with_what_is_allowed(name: str) -> None:
    with pytest.raises(
        ValueError, match=r"expected auto, a pair OPEN CLOSE .* or one of: think, thinking"
    ):
        choose([name])


@pytest.mark.parametrize(
    "written",
    [["[ [/"], ["<a> </a>", "<a>> </b>"], ["<a </a>", "<ab </ab>"], ["x x"], ["< >", "think"]],
)
def test_marks_that_a_stream_cannot_tell_apart_are_refused(written: list[str]) -> None:
    with pytest.raises(ValueError, match="begins"):
        choose(written)


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


def test_a_joined_row_replaces_the_one_with_its_opener() -> None:
    (family,) = joined(choose(["think"]), choose(["think-answer"]))
    assert family.name == "think-answer"


def test_a_joined_row_that_cannot_be_distinguished_stays_out() -> None:
    chosen = choose(["<rea> </rea>", "<reasoning>x </x>"])
    assert joined(chosen, choose(["reasoning", "thought"])) == (*chosen, *choose(["thought"]))


def test_a_literal_pair_of_a_family_is_that_family() -> None:
    (row,) = choose(["<unused94> <unused95>"])
    assert (row.name, row.labels) == ("medgemma", ("thought\n",))


def test_a_models_name_adds_families_to_auto_only() -> None:
    expected = Expected(model="ibm/granite-3.2")
    assert "granite" in names(families_of(Reading(choose(["auto"]), expected=expected)))
    chosen = choose(["think"])
    assert families_of(Reading(chosen, expected=expected)) == chosen
