"""A request beyond the server's context, in the words on which Claude Code acts."""

from dataclasses import replace

import pytest

from converter.servers.context_length import ContextOverflow, find
from tests.support.error_words import OVERFLOWS, TOGETHER


@pytest.mark.parametrize(("words", "numbers"), OVERFLOWS.values(), ids=OVERFLOWS)
def test_a_prompt_too_long_is_told_with_its_numbers(words: str, numbers: str) -> None:
    found = find(words)
    assert found
    assert found.words().startswith("prompt is too long: ")
    assert numbers in found.words()


@pytest.mark.parametrize("words", TOGETHER.values(), ids=TOGETHER)
def test_prompt_and_reply_too_long_together_are_told_apart(words: str) -> None:
    found = find(words)
    assert found
    assert "5000 + 32000 > 32768" in found.words()


def test_only_a_count_that_nobody_made_is_a_bound() -> None:
    assert [name for name, words in TOGETHER.items() if (found := find(words)) and found.bound] == [
        "vllm"
    ]


def test_a_prompt_that_turns_out_too_long_by_itself_is_told_so() -> None:
    bound = ContextOverflow(769, 32768, 32000, bound=True)
    assert (
        replace(bound, tokens=40000).words() == "prompt is too long: 40000 tokens > 32768 maximum"
    )


@pytest.mark.parametrize(("prompt", "told"), [(99, "input length"), (100, "prompt is too long")])
def test_a_prompt_that_fills_the_context_is_too_long_by_itself(prompt: int, told: str) -> None:
    """A shorter reply could not fit either, so a client has to compact."""
    words = (
        f"This model's maximum context length is 100 tokens. However, you requested {prompt + 50} tokens "
        f"({prompt} in the messages, 50 in the completion)."
    )
    found = find(words)
    assert found
    assert found.words().startswith(told)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "The model does not exist.",
        "maximum context length",
        "(5 tokens)",
        f"(5 tokens) exceeds the available context size ({'9' * 5000} tokens)",
    ],
)
def test_other_words_are_no_overflow(words: str) -> None:
    assert find(words) is None


def test_a_prompt_that_vllm_stopped_counting_at_its_limit_is_a_bound() -> None:
    words = (
        "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, which "
        "exceeds this limit even without any output tokens. Please reduce the length of the input prompt."
    )
    assert find(words) == ContextOverflow(2049, 2048, bound=True)


def test_a_reply_that_never_fits_waits_for_the_count_of_the_prompt() -> None:
    found = find(
        "max_tokens=32000 cannot be greater than max_model_len=2048. Please request fewer output tokens."
    )
    assert found == ContextOverflow(0, 2048, 32000, bound=True)
    assert found
    assert (
        replace(found, tokens=12)
        .words()
        .startswith("input length and `max_tokens` exceed context limit: 12 + 32000 > 2048")
    )
