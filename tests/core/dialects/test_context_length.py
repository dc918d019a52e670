"""A request beyond the server's context, in the words on which Claude Code acts."""

from dataclasses import replace

import pytest

from converter.core.dialects.anthropic import errors as anthropic_errors
from converter.core.dialects.context_length import ContextOverflow, overflow_in, with_name
from converter.core.dialects.error_words import server_error
from converter.core.dialects.responses import errors as responses_errors
from tests.support.error_words import OVERFLOWS, REPLIES, TOGETHER
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


@pytest.mark.parametrize(("message", "numbers"), OVERFLOWS.values(), ids=OVERFLOWS)
def test_a_prompt_too_long_is_reported_with_its_numbers(message: str, numbers: str) -> None:
    matched = overflow_in(message)
    assert matched
    assert matched.message().startswith("prompt is too long: ")
    assert numbers in matched.message()


@pytest.mark.parametrize("message", TOGETHER.values(), ids=TOGETHER)
def test_prompt_and_reply_too_long_together_are_distinguished(message: str) -> None:
    matched = overflow_in(message)
    assert matched
    assert "5000 + 32000 > 32768" in matched.message()


@pytest.mark.parametrize("message", REPLIES.values(), ids=REPLIES)
def test_a_reply_too_long_is_no_prompt_too_long(message: str) -> None:
    """Else an agent compacts a conversation that is short enough, again and again."""
    matched = overflow_in(message)
    assert matched
    assert matched.at_least
    assert replace(matched, prompt_tokens=70).message().startswith("input length and `max")
    assert "70 + 900000 > 65536" in replace(matched, prompt_tokens=70).message()


def test_only_a_count_that_nobody_measured_is_a_bound() -> None:
    assert [
        name for name, text in TOGETHER.items() if (read := overflow_in(text)) and read.at_least
    ] == ["vllm"]


def test_a_prompt_that_turns_out_too_long_by_itself_is_reported_so() -> None:
    bound = ContextOverflow(769, 32768, 32000, at_least=True)
    message = replace(bound, prompt_tokens=40000).message()
    assert message == "prompt is too long: 40000 tokens > 32768 maximum"


@pytest.mark.parametrize(("prompt", "sent"), [(99, "input length"), (100, "prompt is too long")])
def test_a_prompt_that_fills_the_context_is_too_long_by_itself(prompt: int, sent: str) -> None:
    """A shorter reply could not fit either, so a client has to compact."""
    text = (
        f"This model's maximum context length is 100 tokens. However, you requested {prompt + 50} tokens "
        f"({prompt} in the messages, 50 in the completion)."
    )
    matched = overflow_in(text)
    assert matched
    assert matched.message().startswith(sent)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "The model does not exist.",
        "maximum context length",
        "(5 tokens)",
        f"(5 tokens) exceeds the available context size ({'9' * 5000} tokens)",
    ],
)
def test_another_text_is_no_overflow(message: str) -> None:
    assert overflow_in(message) is None


def test_a_prompt_that_vllm_stopped_counting_at_its_limit_is_a_bound() -> None:
    text = (
        "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, which "
        "exceeds this limit even without any output tokens. Please reduce the length of the input prompt."
    )
    assert overflow_in(text) == ContextOverflow(2049, 2048, at_least=True)


def test_a_reply_that_never_fits_waits_for_the_count_of_the_prompt() -> None:
    matched = overflow_in(
        "max_tokens=32000 cannot be greater than max_model_len=2048. Please request fewer output tokens."
    )
    assert matched == ContextOverflow(0, 2048, 32000, at_least=True)
    assert matched
    message = replace(matched, prompt_tokens=12).message()
    assert message.startswith("input length and `max_tokens` exceed context limit: 12 + 32000 >")


OTHER_MESSAGES = ROWS["other messages"]  # fmt: skip


@pytest.mark.parametrize("message", OTHER_MESSAGES)
def test_another_text_is_read_by_its_meaning(message: str) -> None:
    matched = overflow_in(message)
    assert matched
    assert matched.message().startswith(("prompt is too long", "input length and"))
    assert overflow_in(matched.message()) == matched or not matched.context_tokens  # said twice
    assert overflow_in(matched.message()).message() == matched.message()  # type: ignore[union-attr]


OTHER_LIMITS = ROWS["other limits"]  # fmt: skip


@pytest.mark.parametrize("message", OTHER_LIMITS)
def test_other_limits_are_none_of_the_context(message: str) -> None:
    assert overflow_in(message) is None


@pytest.mark.parametrize(
    "name",
    [
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_max_prompt_tokens_exceeded",
        "ContextWindowExceededError",
        "context_window_exceeded",
        "prompt_too_long",
    ],
)
def test_a_name_alone_says_it(name: str) -> None:
    assert overflow_in(with_name("Bad request.", None, 400, name))


@pytest.mark.parametrize(
    "name", ["invalid_request_error", "rate_limit_exceeded", "string_above_max_length", 400, None]
)
def test_other_names_say_nothing(name: object) -> None:
    assert with_name("Bad request.", name) == "Bad request."


def test_numbers_are_reported_where_the_server_sends_them() -> None:
    assert overflow_in("This model's maximum prompt length is 131,072 but the request contains 537,812 tokens.") == (
        ContextOverflow(537812, 131072)
    )  # fmt: skip
    assert overflow_in("Error code: 400 - Prompt sequence length is greater than 4096") == (
        ContextOverflow(0, 4096, at_least=True)
    )
    matched = overflow_in("prompt too long; exceeded max context length by 1234 tokens")
    assert matched and not matched.context_tokens  # noqa: PT018


@pytest.mark.parametrize("message", ROWS["what a gateway adds"])
def test_what_a_gateway_adds_to_a_servers_sentence_does_not_count(message: str) -> None:
    assert overflow_in(message) == ContextOverflow(5000, 4096)


@pytest.mark.parametrize("status", [200, 400, 413, 422, 500, 503])
def test_it_is_a_bad_request_whatever_the_status_or_the_field_of_its_name(status: int) -> None:
    body = b'{"error": {"message": "Bad request.", "code": "context_length_exceeded"}}'
    sent, sent_body = anthropic_errors.error_reply(status, body)
    assert (sent, sent_body["error"]["type"]) == (400, "invalid_request_error")
    assert sent_body["error"]["message"].startswith("prompt is too long: Bad request.")
    sent, answer = responses_errors.error_reply(status, body)
    assert (sent, answer["error"]["code"]) == (400, "context_length_exceeded")  # type: ignore[index]


def test_an_error_instead_of_a_reply_carries_its_name_too() -> None:
    error = server_error({"error": {"message": "no", "type": "exceed_context_size_error"}})
    assert error
    assert overflow_in(error.message)
