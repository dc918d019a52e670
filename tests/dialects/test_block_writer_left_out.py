from converter.dialects.block_writer import left_out
from converter.model.events import Opaque


def test_what_says_something_and_has_no_place_is_named() -> None:
    inner = {"role": "assistant", "content": None, "audio": {"id": 1}, "refusal": ""}
    assert left_out(Opaque("anthropic", inner, {"logprobs": {}, "vendor": 1})) == {
        "audio",
        "vendor",
    }


def test_what_is_told_otherwise_is_not_named() -> None:
    assert left_out(
        Opaque(
            "anthropic", {"content": [1], "plan": "a", "vendor": 1}, {}, told=("content", "plan")
        )
    ) == {"vendor"}
