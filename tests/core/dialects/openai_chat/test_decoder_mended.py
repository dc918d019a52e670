"""Chat completions with a slip in them: what has a clear meaning is put right, and nothing else."""

import pytest

from converter.core.dialects.openai_chat.decoder import mend


def _mended(**fields: object) -> object:
    body = mend({"id": "a", "choices": [{"index": 0, "delta": {}, **fields}]})
    assert isinstance(body, dict)
    assert body["id"] == "a"
    [choice] = body["choices"]
    return choice


@pytest.mark.parametrize(
    ("index", "mended"),
    [("0", 0), (2.0, 2), (None, 0), (-1, -1), (1.5, 1.5), ("x", "x"), (True, True)],
)
def test_an_index_is_a_number(index: object, mended: object) -> None:
    assert _mended(index=index) == {"index": mended, "delta": {}}


@pytest.mark.parametrize(
    ("delta", "mended"),
    [
        (None, {}),
        ("a", {"content": "a"}),
        (["a", "b"], {"content": "ab"}),
        ({"content": ["a", {"type": "text", "text": "b"}]}, {"content": "ab"}),
        ({"content": {"text": "a"}}, {"content": "a"}),
        ({"content": []}, {"content": ""}),
        ({"content": "a", "reasoning": 7, "reasoning_content": False}, {"content": "a"}),
        ({"refusal": ["a"]}, {"refusal": "a"}),
        ({"role": 7, "vendor": 5}, {"role": 7, "vendor": 5}),
        (
            {"tool_calls": {"index": "1", "id": "a"}},
            {"tool_calls": [{"index": 1, "id": "a"}]},
        ),
    ],
)
def test_a_delta_says_what_it_means(delta: object, mended: object) -> None:
    assert _mended(delta=delta) == {"index": 0, "delta": mended}


@pytest.mark.parametrize(
    "delta",
    [
        5,
        {"content": 5},
        {"content": True},
        {"content": ["a", 5]},
        {"content": [{"type": "image_url"}]},
        {"tool_calls": ["a"]},
    ],
)
def test_what_may_mean_anything_stays(delta: object) -> None:
    assert _mended(delta=delta) == {"index": 0, "delta": delta}


def test_a_message_is_mended_as_a_delta_is() -> None:
    body = mend({"choices": [{"message": {"content": ["a"]}}, {"message": "b"}]})
    assert body == {
        "choices": [
            {"index": 0, "message": {"content": "a"}},
            {"index": 1, "message": {"content": "b"}},
        ]
    }


def test_choices_are_a_list_of_objects() -> None:
    choice = {"index": 0, "delta": {"content": "a"}}
    assert mend({"choices": choice}) == mend({"choices": [None, choice]}) == {"choices": [choice]}
    assert mend({"choices": {}}) == {"choices": []}


def test_choices_that_are_a_text_are_none() -> None:
    assert mend({"id": "c", "choices": "x"}) == {"id": "c", "choices": []}


@pytest.mark.parametrize("said", [5, "a", [1], {"a": 1}, {"choices": [5]}])
def test_what_is_no_chat_completion_stays(said: object) -> None:
    assert mend(said) == said
