"""Fields of local servers that every dialect lets through."""

from converter.core.dialects.anthropic import request_reader as anthropic_request
from converter.core.dialects.responses import request_reader as responses_request
from converter.core.dialects.server_fields import ROUTING_FIELDS, SERVER_FIELDS, SHAPING_FIELDS


def test_what_only_local_servers_know_is_listed_once_and_no_field_of_an_api_is() -> None:
    assert {"chat_template_kwargs", "grammar", "min_p"} <= SERVER_FIELDS
    assert not SERVER_FIELDS & {"model", "messages", "input", "tools", "temperature", "max_tokens"}
    assert not SHAPING_FIELDS & ROUTING_FIELDS


def test_what_users_of_each_server_send_is_there() -> None:
    vllm = {"cache_salt", "vllm_xargs", "kv_transfer_params", "priority", "min_tokens", "bad_words"}
    sglang = {"stop_token_ids", "skip_special_tokens", "regex", "ebnf", "separate_reasoning"}
    llama = {"cache_prompt", "id_slot", "typical_p", "dry_multiplier", "samplers", "mirostat"}
    assert vllm | sglang | llama <= SERVER_FIELDS


def test_what_newer_and_older_versions_take_is_there() -> None:
    vllm = {"watermarking", "media_io_kwargs", "stream_interval", "guided_json", "guided_choice"}
    sglang = {"custom_logit_processor", "images_config", "ngram_corpus_id", "use_audio_in_video"}
    llama = {"adaptive_target", "n_cache_reuse", "reasoning_budget_tokens", "parse_tool_calls"}
    assert vllm | sglang | llama <= SERVER_FIELDS


def test_what_strict_servers_refuse_is_not() -> None:
    anthropic = {"betas", "context_management", "speed", "service_tier", "mcp_servers", "container"}
    assert not anthropic & SERVER_FIELDS
    assert not {"n", "logprobs", "stream_options", "continue_final_message"} & SERVER_FIELDS


def test_each_goes_to_the_server_from_every_dialect() -> None:
    fields = dict.fromkeys(SERVER_FIELDS, 1)
    turns = [{"role": "user", "content": "a"}]
    messages = anthropic_request.read({"model": "m", "max_tokens": 1, "messages": turns, **fields})
    response, _ = responses_request.read({"model": "m", "input": "a", **fields})
    assert messages.extensions == response.extensions == fields
