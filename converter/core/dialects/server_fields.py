"""Lists request fields that local servers know: those about thinking (`THINKING_FIELDS`, each
with its `Use`; `TEMPLATE`, `EFFORT`, `CONTROL`), and those that go on to the server whatever
dialect the client speaks (`SERVER_FIELDS`).

A client's API may lack a field of `SERVER_FIELDS`. A client that still sends the field, by an SDK's
`extra_body`, means it for the server.

Only listed fields go on, because Claude Code sends other fields that a strict server refuses
(`betas`, `context_management`, `speed`). The list was made in November 2026 from the request models
of vLLM and SGLang and from llama.cpp's schema of completions. It lacks fields that the addon itself
sets (`continue_final_message`), and fields that ask for more than a message can hold (`n`,
`logprobs`, `return_token_ids`).
"""

from collections.abc import Mapping
from enum import Flag, auto

from converter.core.wire.checked import Kinds


def names_in(names: str) -> frozenset[str]:
    """Return the names in a text, which are separated by blanks: `"min_p seed"`."""
    return frozenset(names.split())


class Use(Flag):
    """A use that the addon makes of a request's field about thinking. A field may have several
    uses.
    """

    WISH = auto()
    """The value says whether the client wants thinking. The field may stand in the request itself
    or in its `chat_template_kwargs`.
    """
    BEGINNING = auto()
    """The value decides whether the prompt ends within an open thought."""
    BUDGET = auto()
    """The value limits the tokens of a thought."""
    SHAPING = auto()
    """The value influences the reply: the field goes on to the server, whatever dialect the client
    speaks.
    """
    RENDERED = auto()
    """The value has its effect when the server renders the prompt. If the addon sends a prompt that
    is rendered already, as a text completion, the field is left out.
    """


TEMPLATE, EFFORT = "chat_template_kwargs", "reasoning_effort"
"""Fields of a chat completion: values for the chat template, and how much the model is to think."""
CONTROL, LAST_WORDS = "reasoning_control", "reasoning_budget_message"
"""Fields of llama.cpp. `reasoning_control` allows a later request that ends the reply's thought;
`reasoning_budget_message` has the text that the server then puts at the thought's end.
"""
_TO_TEMPLATE = Use.BEGINNING | Use.SHAPING | Use.RENDERED
"""The uses of a field whose value the chat template reads when it renders the prompt."""
THINKING_FIELDS: Mapping[str, Use] = {
    TEMPLATE: _TO_TEMPLATE,
    EFFORT: Use.WISH | _TO_TEMPLATE,
    "reasoning_format": _TO_TEMPLATE,
    "think": Use.WISH | Use.BEGINNING,
    "thinking": Use.WISH | Use.BEGINNING,
    "enable_thinking": Use.WISH | Use.BEGINNING,
    "reasoning": Use.WISH | Use.BEGINNING,
    "thinking_mode": Use.WISH | Use.BEGINNING,
    "thinking_token_budget": Use.BUDGET | Use.SHAPING,  # vLLM's field for a thought's budget
    "thinking_budget_tokens": Use.BUDGET | Use.SHAPING | Use.RENDERED,  # llama.cpp's budget field
}
"""Field of a chat-completions request that says whether or how long to think -> the uses that the
addon makes of its value.
"""


def fields_with_use(use: Use) -> tuple[str, ...]:
    """Return the names of the fields in `THINKING_FIELDS` that have the use `use`, in the table's
    order.
    """
    return tuple(name for name, uses in THINKING_FIELDS.items() if use in uses)


def with_template(body: Mapping[str, object], switches: object) -> dict[str, object]:
    """Return a chat completion's request with `switches` added to its `chat_template_kwargs`. A new
    value replaces an old value of the same switch. If either is no object, `switches` replaces the
    whole field.
    """
    own = body.get(TEMPLATE)
    joint = {**own, **switches} if isinstance(own, dict) and isinstance(switches, dict) else None
    return {**body, TEMPLATE: joint or switches}


SHAPING_FIELDS = (
    frozenset(fields_with_use(Use.SHAPING))
    # fields of more than one server
    | names_in("""
        frequency_penalty ignore_eos logit_bias min_p min_tokens presence_penalty
        repetition_penalty seed skip_special_tokens stop_token_ids
    """)
    # fields of vLLM
    | names_in("""
        add_special_tokens allowed_token_ids bad_words chat_template documents include_reasoning
        include_stop_str_in_output length_penalty media_io_kwargs mm_processor_kwargs
        repetition_detection spaces_between_special_tokens structured_outputs
        truncate_prompt_tokens truncation_side use_beam_search watermarking
    """)
    # fields of vLLM before 0.12
    | names_in("""
        guided_choice guided_decoding_backend guided_grammar guided_json guided_regex
        guided_whitespace_pattern
    """)
    # fields of SGLang
    | names_in("""
        custom_logit_processor ebnf images_config lora_path max_dynamic_patch min_dynamic_patch
        ngram_corpus_id no_stop_trim regex separate_reasoning stop_regex stream_reasoning task
        use_audio_in_video
    """)
    # fields of llama.cpp
    | names_in("""
        adaptive_decay adaptive_target backend_sampling cache_prompt dry_allowed_length dry_base
        dry_multiplier dry_penalty_last_n dry_sequence_breakers dynatemp_exponent dynatemp_range
        grammar grammar_lazy grammar_triggers id_slot json_schema lora min_keep mirostat
        mirostat_eta mirostat_tau n_cache_reuse n_discard n_indent n_keep n_probs parse_tool_calls
        preserved_tokens reasoning_budget_message reasoning_budget_tokens reasoning_control
        repeat_last_n repeat_penalty samplers sse_ping_interval t_max_predict_ms top_n_sigma
        typical_p xtc_probability xtc_threshold
    """)
)
"""Fields that influence the text of the reply: those of `THINKING_FIELDS` with the use `SHAPING`,
and the further fields of each server.
"""

ROUTING_FIELDS = names_in("""
    bootstrap_host bootstrap_port bootstrap_room cache_salt custom_params data_parallel_rank
    disagg_prefill_dp_rank ec_transfer_params extra_key kv_transfer_params priority request_id rid
    routed_dp_rank session_id session_params stream_interval vllm_xargs
""")
"""Fields that say where and when a server runs the request, and that do not influence the reply's
text. Recordings leave them out, because their values may be hosts, secrets or names of people.
"""

SERVER_FIELDS = SHAPING_FIELDS | ROUTING_FIELDS
"""Fields that go on to the server whatever dialect the client speaks."""
BUDGET_FIELDS = fields_with_use(Use.BUDGET)
"""Fields of chat completions that limit the tokens of a thought."""

SAMPLING: Kinds = {"temperature": float, "top_p": float, "top_k": int}
"""A request's fields for sampling -> their types. OpenAI's own API lacks `top_k`, but local servers
take it.
"""
