"""The allow-lists of recordings: the fields (`REQUEST`), headers (`HEADERS`) and parts of links
that a recording may hold of a request; `keep` and `is_kept` apply them. `PROTOCOL` lists the words
of wire formats, which are never hidden as secrets.

Anything that is not on the lists is left out, because it may be private.

A `Table` has a rule for each field: `ALL` keeps the whole value; another table keeps only its own
fields of the value, which is an object or an array of objects; a function returns the part of the
value that is kept.
"""

import re
from collections.abc import Callable, Mapping
from itertools import chain
from urllib.parse import urlsplit

from converter.core.dialects.server_fields import SHAPING_FIELDS, THINKING_FIELDS

type Table = Mapping[str, "Rule"]
"""Name of a field that is kept -> the rule for its value."""
type Rule = Table | Callable[[object], object] | None
"""What is kept of a value: all of it (None), fields, or the value that a function returns."""

ALL: Rule = None
"""The rule that keeps the whole value."""
HEADERS = ("accept", "content-type", "anthropic-version", "anthropic-beta")
"""Names of the headers of a request that are kept."""
QUERY = "beta=true"
"""The only parameter that is kept in the query of a request's path."""
_HEADER_VALUE = re.compile(r"[A-Za-z0-9./;=,*+ -]{0,500}")
"""Matches the values with which `HEADERS` are kept: media types, names of betas, versions. A value
with other characters may be a secret.
"""
_LINK = re.compile(
    r"\s*+(?!data:)(?P<scheme>(?:[a-z][a-z0-9+.-]{0,30}:)*)(?P<slashes>[/\\]*)"
    r"(?:(?P<user>[^/\\?#]*)@)?(?P<rest>[^?#]*)(?P<query>[^#]*)(?P<fragment>.*)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches a link, except a `data:` URL, and divides it into named parts."""
_PARAMETERS = re.compile(r";[^/]*")
"""Finds parameters within the path of a link: `;session=1`."""


def _names(text: str) -> list[str]:
    """Return the words of a text, which are names of fields or values."""
    return text.split()


def is_kept(name: str, value: str | None) -> bool:
    """Return True if a recording may hold a request's header with this name, in lower case, and
    this value.
    """
    return name in HEADERS and value is not None and _HEADER_VALUE.fullmatch(value) is not None


def cut_link(link: object) -> object:
    """Return a link without the parts that may grant access: `https://me@a.b/c;d?e#f` ->
    `https://a.b/c`. A `data:` URL, or a value that is no text, is returned unchanged. A link that
    cannot be parsed becomes `http://127.0.0.1:8000/`.
    """
    parts = parts_of_link(link) if isinstance(link, str) else None
    if parts is None:
        return link
    cut = f"{parts['scheme']}{parts['slashes']}{_PARAMETERS.sub('', parts['rest'])}".rstrip()
    try:
        urlsplit(cut)
    except ValueError:
        return "http://127.0.0.1:8000/"
    return cut


def parts_of_link(text: str) -> dict[str, str] | None:
    """Return the parts of a link: `scheme`, `slashes`, `user`, `rest` (host and path), `query` and
    `fragment`; a part that the link lacks is empty. Return None for a `data:` URL, which is no
    link.
    """
    match = _LINK.match(text)
    return {name: part or "" for name, part in match.groupdict().items()} if match else None


def _image_url(value: object) -> object:
    """Return the kept part of the field `image_url`, which is a link or an object with a link: the
    link is cut by `cut_link`.
    """
    return (
        cut_link(value) if isinstance(value, str) else keep(value, {"url": cut_link, "detail": ALL})
    )


def _file(_: object) -> object:
    """Return the id that stands in recordings for the id of any file."""
    return "file_recording"


_SOURCE: dict[str, Rule] = {
    **dict.fromkeys(("type", "media_type", "data")),
    "url": cut_link,
    "file_id": _file,
}
"""Rules for the source of a picture or document: which of its fields are kept."""
_BLOCK: dict[str, Rule] = {
    **dict.fromkeys(_names("type text thinking signature data id name input tool_use_id is_error")),
    **dict.fromkeys(("title", "context", "tool_name", "refusal", "closed")),
    "source": lambda value: cut_link(value) if isinstance(value, str) else keep(value, _SOURCE),
    "image_url": _image_url,
    "input_audio": {"data": ALL, "format": ALL},
}
"""Rules for a block of a message's content: which of its fields are kept."""
_BLOCK["content"] = _SOURCE["content"] = _BLOCK
_FUNCTION = dict.fromkeys(("name", "description", "parameters", "strict", "arguments"))
"""Rules for the function of a tool or of a call: which of its fields are kept."""
_CALL: Table = {"id": ALL, "type": ALL, "index": ALL, "function": _FUNCTION}
"""Rules for a call in a chat-completions message: which of its fields are kept."""
_MESSAGE: Table = {
    **dict.fromkeys(_names("role name tool_call_id refusal prefix partial tool_name")),
    **dict.fromkeys(_names("reasoning_content reasoning reasoning_text thinking thinking_blocks")),
    "content": _BLOCK,
    "tool_calls": _CALL,
    "function_call": _FUNCTION,
}
"""Rules for a message: which of its fields are kept."""
_TOOL: Table = {
    **dict.fromkeys(("type", "name", "description", "input_schema", "strict")),
    "function": _FUNCTION,
}
"""Rules for a tool of a request, without the fields that only the Responses API has."""
_PART: Table = {**_BLOCK, "file_id": _file, "file_url": cut_link, "filename": ALL, "file_data": ALL}
"""Rules for a part of an item of the Responses API: which of its fields are kept."""
_ITEM: dict[str, Rule] = {
    **dict.fromkeys(_names("type role id call_id name namespace arguments input status")),
    **dict.fromkeys(("action", "operation", "execution", "queries", "code", "phase")),
    **dict.fromkeys(("content", "summary", "output"), _PART),
}
"""Rules for an item in the input of the Responses API: which of its fields are kept."""
_ANY_TOOL: dict[str, Rule] = {
    **_TOOL,
    **dict.fromkeys(("parameters", "format", "execution")),
    "environment": {"type": ALL},
}
"""Rules for a tool of a request of any dialect: `_TOOL`, and the fields that only the Responses API
has. A tool of this API may hold further tools (`tools`), to which the same rules apply.
"""
_ANY_TOOL["tools"] = _ITEM["tools"] = _ANY_TOOL
_STREAM_OPTIONS: Table = dict.fromkeys(
    ("include_usage", "include_obfuscation", "continuous_usage_stats")
)
"""Rules for the field `stream_options`: which of its fields are kept."""
_TOOL_CHOICE: Table = {
    **dict.fromkeys(("type", "name", "disable_parallel_tool_use", "namespace", "mode")),
    "function": {"name": ALL},
    "tools": dict.fromkeys(("type", "name", "namespace")),
}
"""Rules for the field `tool_choice`: which of its fields are kept."""
_SAMPLING = _names("""
    temperature top_p top_k min_p typical_p seed n stop stop_sequences stop_token_ids logit_bias
    logprobs top_logprobs frequency_penalty presence_penalty repeat_penalty repetition_penalty
    ignore_eos skip_special_tokens
""")
"""Names of the fields that decide which tokens the model chooses, and at which it stops."""
_SHAPING = _names("""
    max_tokens max_completion_tokens max_output_tokens min_tokens n_predict continue_final_message
    add_generation_prompt stream parallel_tool_calls function_call reasoning_split
    separate_reasoning include_reasoning thinking_forced_open verbosity
    response_format structured_outputs grammar json_schema guided_json guided_regex guided_choice
    guided_grammar output_format instructions include store text truncation keep_alive prompt format
""")
"""Names of further fields of a request that are kept whole: limits, formats and switches."""
_OPTIONS: Table = dict.fromkeys(
    (*_SAMPLING, *_names("num_ctx num_predict num_keep repeat_last_n num_batch num_gpu num_thread"))
)
"""Rules for the field `options` of Ollama's API: which of its fields are kept."""
REQUEST: Table = {
    **dict.fromkeys(["model", *_SAMPLING, *_SHAPING, *THINKING_FIELDS, *sorted(SHAPING_FIELDS)]),
    "stream_options": _STREAM_OPTIONS,
    "tool_choice": _TOOL_CHOICE,
    "messages": _MESSAGE,
    "system": {"type": ALL, "text": ALL},
    "tools": _ANY_TOOL,
    "input": _ITEM,
    "functions": _FUNCTION,
    "thinking": dict.fromkeys(("type", "budget_tokens", "display")),
    "output_config": dict.fromkeys(("effort", "format")),
    "nvext": {"max_thinking_tokens": ALL},
    "options": _OPTIONS,
}
"""The rules for the body of a request of any dialect, and so for all fields that determine a reply.
The Responses API's `encrypted_content` and `previous_response_id` have no rule and are left out.
"""
PROTOCOL = frozenset(
    {
        *chain(REQUEST, _MESSAGE, _BLOCK, _SOURCE, _TOOL, _CALL, _FUNCTION, _PART, _ITEM),
        *chain(_ANY_TOOL, _STREAM_OPTIONS, _TOOL_CHOICE, _OPTIONS),
        *_names("""
            assistant developer enabled disabled adaptive omitted ephemeral object string number
            integer boolean properties required document base64 application/json text/event-stream
            message error choices delta created usage completion_tokens prompt_tokens total_tokens
            finish_reason stop_reason tool_use tool_result redacted_thinking end_turn stop_sequence
            content_filter length standard_only chat.completion chat.completion.chunk message_start
            message_delta message_stop partial_json content_block content_block_start
            content_block_delta content_block_stop text_delta thinking_delta signature_delta
            input_json_delta
            response response.created response.in_progress response.completed response.incomplete
            response.failed response.output_item.added response.output_item.done
            response.content_part.added response.content_part.done response.output_text.delta
            response.output_text.done response.reasoning_summary_part.added
            response.reasoning_summary_part.done response.reasoning_summary_text.delta
            response.reasoning_summary_text.done response.function_call_arguments.delta
            response.function_call_arguments.done response.custom_tool_call_input.delta
            response.custom_tool_call_input.done
            custom_tool_call output_text input_text summary_text in_progress completed incomplete
            failed auto server_error invalid_prompt context_length_exceeded keepalive annotations
            sequence_number output_index content_index summary_index item_id item part input_tokens
            output_tokens input_tokens_details output_tokens_details reasoning_tokens cached_tokens
            cache_write_tokens incomplete_details background
        """),
    }
)
"""Keys and values that belong to the wire formats, such as `message_start`. A secret with the same
text is not hidden, because the recording could not be read without these texts.
"""


def keep(value: object, rule: Rule) -> object:
    """Return the part of a value that a rule keeps: with the rule `{"a": ALL}`, `{"a": 1, "b": 2}`
    -> `{"a": 1}`. If the value is an array, a table applies to each item. A text or number is kept
    even if the rule is a table, such as a `content` that is a text.
    """
    if callable(rule):
        return rule(value)
    if rule is None or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [keep(item, rule) for item in value]
    return {name: keep(inner, rule[name]) for name, inner in value.items() if name in rule}
