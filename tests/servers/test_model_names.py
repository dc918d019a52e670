"""The names that clients have for models."""

import json

import pytest

from converter.servers.model_names import (
    Entry,
    entries,
    find,
    only_one,
    read_rows,
    renamed,
    served_name,
    with_aliases,
)

ROWS = read_rows(["claude-*=Qwen3-8B", "gpt-4o = small", "last=", "o?=big", "*="])
SERVED: list[Entry] = [{"id": "small", "owned_by": "vllm"}, {"id": "Qwen3-8B", "max_model_len": 9}]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("claude-sonnet-5", "Qwen3-8B"),
        ("gpt-4o", "small"),
        ("o3", "big"),
        ("Claude-x", ""),
        ("", ""),
    ],
)
def test_the_first_row_that_fits_counts(asked: str, name: str) -> None:
    assert served_name(ROWS, asked) == name


def test_without_a_row_a_name_stays() -> None:
    assert served_name(read_rows(["a=b"]), "c") is None


@pytest.mark.parametrize("row", ["", "=", "=x", "claude-*"])
def test_what_is_no_row_is_refused(row: str) -> None:
    with pytest.raises(ValueError, match=r"expected PATTERN=NAME, such as .*, got"):
        read_rows([row])


def test_a_list_has_the_names_without_wildcards_too() -> None:
    listed = with_aliases(SERVED, ROWS)
    assert [entry["id"] for entry in listed] == ["small", "Qwen3-8B", "gpt-4o"]
    assert listed[2]["owned_by"] == "vllm"
    assert [entry["id"] for entry in with_aliases(SERVED[:1], ROWS)] == ["small", "gpt-4o", "last"]
    assert with_aliases(SERVED, read_rows(["small=Qwen3-8B"])) == SERVED


def test_one_model_is_found_by_any_of_its_names() -> None:
    assert find(SERVED, ROWS, "small") == SERVED[0]
    assert find(SERVED, ROWS, "claude-opus") == {"id": "claude-opus", "max_model_len": 9}
    assert find(SERVED, ROWS, "other") is None
    assert find(SERVED[:1], ROWS, "other") == {"id": "other", "owned_by": "vllm"}


def test_only_one_is_what_its_name_says() -> None:
    assert (only_one(SERVED[:1]), only_one(SERVED), only_one([])) == ("small", "", "")


@pytest.mark.parametrize("listed", [None, [], {"data": 3}, {"data": [3, {"id": 4}, {}]}])
def test_a_list_that_is_none_is_empty(listed: object) -> None:
    assert entries(listed) == []


@pytest.mark.parametrize("space", ["", " "])
def test_a_frame_gets_the_clients_name_and_keeps_every_other_byte(space: str) -> None:
    text = json.dumps('say "model":"x" \\')
    frame = f'data: {{"choices":[{{"delta":{{"content":{text}}}}}],"model":{space}"a\\"b"}}\n\n'
    got = renamed(frame.encode(), 'c"d').decode()
    assert got == frame.replace('"a\\"b"', '"c\\"d"')


def test_a_frame_without_a_model_stays() -> None:
    assert renamed(b"data: [DONE]\n\n", "x") == b"data: [DONE]\n\n"
