"""Fields of local servers that no client API knows: who sends one (an SDK's `extra_body`) means the
server, whatever API the rest of the request is written in.
"""

SERVER_FIELDS = frozenset(
    {
        "chat_template_kwargs",
        "frequency_penalty",
        "grammar",
        "ignore_eos",
        "logit_bias",
        "min_p",
        "presence_penalty",
        "reasoning_effort",
        "reasoning_format",
        "repeat_penalty",
        "repetition_penalty",
        "seed",
        "separate_reasoning",
        "structured_outputs",
    }
)
