"""A request beyond the server's context, in the words on which Claude Code acts."""

from dataclasses import replace

import pytest

from converter.core.dialects.anthropic import errors as anthropic_errors
from converter.core.dialects.context_length import ContextOverflow, find, named
from converter.core.dialects.error_words import server_error
from converter.core.dialects.responses import errors as responses_errors
from tests.support.error_words import OVERFLOWS, REPLIES, TOGETHER


@pytest.mark.parametrize(("words", "numbers"), OVERFLOWS.values(), ids=OVERFLOWS)
def test_a_prompt_too_long_is_told_with_its_numbers(words: str, numbers: str) -> None:
    found = find(words)
    assert found
    assert found.message().startswith("prompt is too long: ")
    assert numbers in found.message()


@pytest.mark.parametrize("words", TOGETHER.values(), ids=TOGETHER)
def test_prompt_and_reply_too_long_together_are_told_apart(words: str) -> None:
    found = find(words)
    assert found
    assert "5000 + 32000 > 32768" in found.message()


@pytest.mark.parametrize("words", REPLIES.values(), ids=REPLIES)
def test_a_reply_too_long_is_no_prompt_too_long(words: str) -> None:
    """Else an agent compacts a conversation that is short enough, again and again."""
    found = find(words)
    assert found
    assert found.bound
    assert replace(found, tokens=70).message().startswith("input length and `max_tokens` exceed")
    assert "70 + 900000 > 65536" in replace(found, tokens=70).message()


def test_only_a_count_that_nobody_made_is_a_bound() -> None:
    assert [name for name, words in TOGETHER.items() if (found := find(words)) and found.bound] == [
        "vllm"
    ]


def test_a_prompt_that_turns_out_too_long_by_itself_is_told_so() -> None:
    bound = ContextOverflow(769, 32768, 32000, bound=True)
    assert (
        replace(bound, tokens=40000).message() == "prompt is too long: 40000 tokens > 32768 maximum"
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
    assert found.message().startswith(told)


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
        .message()
        .startswith("input length and `max_tokens` exceed context limit: 12 + 32000 > 2048")
    )


OTHER_WORDS = (
    "Input is too long for requested model.",
    "Too many input tokens. Max input tokens: 8192, request input token count: 12345",
    "The model returned the following errors: prompt is too long: 208310 tokens > 200000 maximum",
    "Unable to submit request because the input token count is 45000 but model only supports up to 32768. Reduce the input token count and try again.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "too many tokens: size limit exceeded by 1000 tokens. Try using shorter or fewer inputs. The limit for this model is 4081 tokens.",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4128. Try using a shorter prompt.",
    "Please reduce the length of the messages or completion.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`",
    "The prompt is too long: 140000, model maximum context length: 131071",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    "Prompt exceeds max length",
    "Invalid request: Your request exceeded model token limit: 8192",
    "Input token length too long",
    "invalid params, context window exceeds limit (2013)",
    "input token length exceeds limit",
    "Input length 33000 exceeds the maximum length 32768",
    "Total tokens of image and text exceed max message tokens.",
    "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    "Requested tokens 18000 exceed maximum 16384",
    "Input length of input_ids is 4100, but `max_length` is set to 4096.",
    "Token indices sequence length is longer than the specified maximum sequence length for this model (5000 > 4096).",
    "Prompt length 5000 exceeds max_kv_size 4096",
    "Prompt too long: 40000 tokens exceeds limit of 32768",
    "Prompt length 9000 is greater than max_seq_len 8192.",
    "Input prompt (9000 tokens) is too long and exceeds limit of 8192",
    "ERROR: The prompt size exceeds the context window size and cannot be processed.",
    "rpc error: code = Internal desc = context size exceeded",
    "Number of prompt tokens: 5000 exceeds model max length: 4096",
    "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError",
    "prompt token count (9000) cannot exceed 4096. Please reduce the length of your prompt.",
    "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model",
    "Prompt has too many tokens.",
    "Exceeded model context window size",
    "context window is full",
    "llama_decode: the context is full, n_past 4096 >= n_ctx 4096",
    "The total number of tokens (9000) is over the model's limit of 8192.",
    "Conversation is too long, please start a new one.",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.",
    "request exceeds max_position_embeddings (4096): 5000 tokens",
    "The model's context length is only 4096 tokens, however the request needs 5000.",
    "Sequence length 5000 exceeds max_sequence_length 4096",
    "prompt does not fit into the context: 5000 tokens, n_ctx = 4096",
    "The input is longer than the model can take: 5000 tokens of 4096",
    "max_total_tokens exceeded: 5000 > 4096",
    "Context overflow: prompt too large for the model (5000 tokens).",
    "total tokens (prompt + completion) exceeds the maximum of 4096",
    "Prompt 超长",
    "输入内容过长，超过模型上下文限制",
)  # fmt: skip


@pytest.mark.parametrize("words", OTHER_WORDS)
def test_other_words_are_read_by_their_meaning(words: str) -> None:
    found = find(words)
    assert found
    assert found.message().startswith(("prompt is too long", "input length and"))
    assert find(found.message()) == found or not found.most  # said twice it stays the same
    assert find(found.message()).message() == found.message()  # type: ignore[union-attr]


OTHER_LIMITS = (
    "Rate limit reached for gpt-4o: Limit 30000 tokens per min, requested 41000. Please try again in 2s.",
    "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8000, please reduce your message size.",
    "You exceeded your current quota, please check your plan: too many input tokens",
    "Too many requests: the token limit per day was exceeded for your messages",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
    "max_tokens must be at least 1, got 0",
    "max_tokens is too large: 100000. This model supports at most 4096 completion tokens, whereas you provided 100000.",
    "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for this model",
    "The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower.",
    "Range of max_tokens should be [1, 8192]",
    "max_tokens: Input should be greater than or equal to 0",
    "1 validation error for Request: max_tokens Input should be less than or equal to 4096",
    "tokens: List should have at most 2048 items after validation, not 3000",
    "`max_tokens` must be greater than `thinking.budget_tokens`",
    "Invalid 'messages[0].name': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.",
    "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.",
    "metadata.user_id: String should have at most 256 characters",
    "input.0.call_id: String should have at most 64 characters",
    "messages.0.content.1.image.source: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "Stop sequence too long: maximum length 100",
    "413 Request Entity Too Large",
    "context deadline exceeded",
    "CUDA out of memory: the context length 131072 is too large",
    "n_ctx is 4096",
    "The model `x` was not found, or is too large to be loaded",
    "Concurrency limit exceeded, please try again in 3s",
    "temperature must be less than 2",
    "Internal server error",
)  # fmt: skip


@pytest.mark.parametrize("words", OTHER_LIMITS)
def test_other_limits_are_none_of_the_context(words: str) -> None:
    assert find(words) is None


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
    assert find(named("Bad request.", None, 400, name))


@pytest.mark.parametrize(
    "name", ["invalid_request_error", "rate_limit_exceeded", "string_above_max_length", 400, None]
)
def test_other_names_say_nothing(name: object) -> None:
    assert named("Bad request.", name) == "Bad request."


def test_numbers_are_told_where_they_are_said() -> None:
    assert find("This model's maximum prompt length is 131,072 but the request contains 537,812 tokens.") == (
        ContextOverflow(537812, 131072)
    )  # fmt: skip
    assert find("Error code: 400 - Prompt sequence length is greater than 4096") == (
        ContextOverflow(0, 4096, bound=True)
    )
    assert find("prompt too long; exceeded max context length by 1234 tokens").most == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("status", [200, 400, 413, 422, 500, 503])
def test_it_is_a_bad_request_whatever_the_status_or_the_place_of_its_name(status: int) -> None:
    body = b'{"error": {"message": "Bad request.", "code": "context_length_exceeded"}}'
    told, said = anthropic_errors.error_reply(status, body)
    assert (told, said["error"]["type"]) == (400, "invalid_request_error")
    assert said["error"]["message"].startswith("prompt is too long: Bad request.")
    told, answer = responses_errors.error_reply(status, body)
    assert (told, answer["error"]["code"]) == (400, "context_length_exceeded")  # type: ignore[index]


def test_an_error_in_place_of_a_reply_carries_its_name_too() -> None:
    error = server_error({"error": {"message": "no", "type": "exceed_context_size_error"}})
    assert error
    assert find(error.message)
