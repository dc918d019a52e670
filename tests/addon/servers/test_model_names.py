"""The names that clients have for models."""

import pytest

from converter.addon.servers.model_names import (
    VARIANTS,
    ModelRow,
    find_model,
    find_row,
    model_entries,
    read_rows,
    variant_row,
    with_aliases,
    with_gateway_names,
    with_variants,
)

ROWS = read_rows(["claude-*=Qwen3-8B", "gpt-4o = small", "last=", "o?=big", "*="])
SERVED: list[dict[str, object]] = [
    {"id": "small", "owned_by": "vllm"},
    {"id": "Qwen3-8B", "max_model_len": 9},
]


@pytest.mark.parametrize(
    ("requested", "name"),
    [
        ("claude-sonnet-5", "Qwen3-8B"),
        ("gpt-4o", "small"),
        ("o3", "big"),
        ("Claude-x", ""),
        ("", ""),
    ],
)
def test_the_first_row_that_fits_counts(requested: str, name: str) -> None:
    row = find_row(ROWS, requested)
    assert row is not None
    assert row.name == name


def test_without_a_row_a_name_stays() -> None:
    assert find_row(read_rows(["a=b"]), "c") is None


@pytest.mark.parametrize("row", ["", "=", "=x", "claude-*"])
def test_what_is_no_row_is_refused(row: str) -> None:
    with pytest.raises(ValueError, match=r"expected PATTERN=NAME, such as .*, got"):
        read_rows([row])


@pytest.mark.parametrize(
    ("written", "row"),
    [
        ("a=b effort=low budget=2000", ModelRow("a", "b", "low", 2000)),
        ("a=b  budget=5", ModelRow("a", "b", "", 5)),
        ("*= effort=none", ModelRow("*", "", "none")),
        ("a=b c", ModelRow("a", "b c")),
    ],
)
def test_a_row_may_wish_how_much_is_thought(written: str, row: ModelRow) -> None:
    assert read_rows([written]) == (row,)


@pytest.mark.parametrize("row", ["a=b effort=much", "a=b budget=few", "a=b budget="])
def test_a_wish_that_is_none_is_refused(row: str) -> None:
    with pytest.raises(
        ValueError, match=r"expected effort= one of none, .*, budget= a number, got"
    ):
        read_rows([row])


@pytest.mark.parametrize(
    ("requested", "row"),
    [
        ("small-low", ModelRow("small-low", "small", "low", 2048)),
        ("gpt-4o-nothink", ModelRow("gpt-4o-nothink", "small", "none")),
        ("claude-x-max", ModelRow("claude-x-max", "Qwen3-8B", "max")),
        ("small-lower", None),
        ("o3-high", None),
    ],
)
def test_a_name_may_wish_how_much_is_thought(requested: str, row: ModelRow | None) -> None:
    assert variant_row(SERVED, ROWS, requested) == row


def test_all_wishes_are_listed_behind_the_models() -> None:
    listed = with_variants(SERVED[:1])
    assert [entry["id"] for entry in listed] == ["small", *(f"small-{name}" for name in VARIANTS)]
    assert find_model(SERVED, (), "small-low") == {"id": "small-low", "owned_by": "vllm"}


def test_a_list_has_the_names_without_wildcards_too() -> None:
    listed = with_aliases(SERVED, ROWS)
    assert [entry["id"] for entry in listed] == ["small", "Qwen3-8B", "gpt-4o"]
    assert listed[2]["owned_by"] == "vllm"
    assert [entry["id"] for entry in with_aliases(SERVED[:1], ROWS)] == ["small", "gpt-4o", "last"]
    assert with_aliases(SERVED, read_rows(["small=Qwen3-8B"])) == SERVED


def test_ollamas_latest_matches_its_name_alone() -> None:
    served: list[dict[str, object]] = [{"id": "tiny-think:latest"}, {"id": "tiny-think:q4"}]
    assert find_model(served, (), "tiny-think") == {"id": "tiny-think"}
    assert find_model(served, (), "tiny-think:latest") == served[0]
    assert find_model(served, (), "tiny") is None


def test_one_model_matches_any_of_its_names() -> None:
    assert find_model(SERVED, ROWS, "small") == SERVED[0]
    assert find_model(SERVED, ROWS, "claude-opus") == {"id": "claude-opus", "max_model_len": 9}
    assert find_model(SERVED, ROWS, "other") is None
    assert find_model(SERVED[:1], ROWS, "other") == {"id": "other", "owned_by": "vllm"}


@pytest.mark.parametrize("listed", [None, [], {"data": 3}, {"data": [3, {"id": 4}, {}]}])
def test_a_list_that_is_none_is_empty(listed: object) -> None:
    assert model_entries(listed) == []


def test_claude_code_lists_each_model_and_asks_for_it() -> None:
    listed = with_gateway_names([*SERVED, {"id": "claude-x"}])
    names = ["small", "Qwen3-8B", "claude-x", "anthropic/small", "anthropic/Qwen3-8B"]
    assert [entry["id"] for entry in listed] == names
    assert variant_row(SERVED, (), "anthropic/small") == ModelRow("anthropic/small", "small")
    wished = variant_row(SERVED, (), "anthropic/small-high")
    assert wished is not None
    assert (wished.name, wished.effort) == ("small", "high")
    assert variant_row(SERVED, (), "anthropic/other") is None
    alias = ModelRow("opus-local", "small")  # with its name, `with_gateway_names` lists it, too
    assert variant_row(SERVED, (alias,), "anthropic/opus-local") == alias
    served: list[dict[str, object]] = [{"id": "anthropic/small"}]  # a gateway's own
    assert variant_row(served, (), "anthropic/small") is None
