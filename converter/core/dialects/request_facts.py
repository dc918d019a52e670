"""Finds the facts of a request, of any dialect, that decide how its reply is read: the offered
tools, the calls in the history, `stop_strings`, the limit of tokens, the grammar of the answer
(`grammar_of`). Also has names of request fields, such as `STOP_FIELDS` and `COUNTING`.
"""

from collections.abc import Iterator, Mapping, Sequence

from converter.core.calls.schema_values import Schema
from converter.core.model.raw_messages import entries_of, messages_of
from converter.core.reading.beginning import Grammar
from converter.core.reading.reading import Expected, ExpectedCalls
from converter.core.reading.tool_calls.calls_read import Tools
from converter.core.wire.json_text import as_object, objects

COUNTING = "stream_options"
"""The field of a chat-completions request that asks for token counts at the end of a stream."""
COUNTED: Mapping[str, object] = {"include_usage": True}
"""The value of the field `COUNTING` in a request that asks for the counts."""
_JSON = ("json_object", "json_schema")
"""Values of `type`, in a field of `_FORMATS`, by which a request asks for JSON."""
_FORMATS = (
    ("response_format",),
    ("output_config", "format"),
    ("output_format",),
    ("text", "format"),
)
"""Paths of the fields in which a request asks for JSON, in this order: chat completions, the
Messages API, its beta, the Responses API.
"""
_OUTER = frozenset(path[0] for path in _FORMATS)
"""The outermost field of each path in `_FORMATS`. In a request without these fields no path needs
to be followed.
"""
_JSON_GRAMMARS = ("guided_json", "json_schema", "format")
"""Fields of vLLM, llama.cpp and Ollama that ask for JSON in the answer."""
_GRAMMARS = (
    *("guided_regex", "guided_choice", "guided_grammar"),
    *("structured_outputs", "structural_tag", "grammar", "regex", "ebnf"),
)
"""Fields of vLLM, llama.cpp and SGLang that ask for an answer in a grammar other than JSON."""
_ALL_GRAMMARS = frozenset((*_JSON_GRAMMARS, *_GRAMMARS))
"""All fields by which a request imposes a grammar."""
_STOPS = ("stop", "stop_sequences")
"""Fields with a request's stop strings; the second one is that of the Messages API."""
INCLUDES_STOP = "include_stop_str_in_output"
"""A field of vLLM: if it is true, the reply ends with the stop string."""
STOP_FIELDS = frozenset((*_STOPS, INCLUDES_STOP))
"""All fields about stop strings."""
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "n_predict")
"""Fields that limit the tokens of a reply."""
FREE_TEXT: Schema = {}
"""The schema, in `tool_schemas`, of a tool that takes free text. It is compared by identity
(`is`), because a client's own schema may be empty, too.
"""
_FORCED = ("required", "any", "function", "tool", "allowed_tools")
"""Tool choices after which the reply must be a call. Servers enforce this with a grammar."""


def expected_of(body: Mapping[str, object]) -> Expected:
    """Return the facts of a request by which the stages read its reply: the model, the offered
    tools, the stop strings, the grammar.
    """
    return Expected(
        model=str(body.get("model") or ""),
        calls=expected_calls(body),
        stops=stop_strings(body),
        wants_json=wants_json(body),
        grammar=grammar_of(body),
    )


def expected_calls(body: Mapping[str, object]) -> ExpectedCalls:
    """Return the facts of a request by which the calls of its reply are read: the offered tools,
    whether a call is forbidden, and the ids of earlier calls.
    """
    tools, ids = tool_schemas(body), frozenset(call_ids(body))
    read, forbidden = offered(body, tools), forbids_calls(body)
    return ExpectedCalls(bool(body.get("tools")), tools, read, forbidden, ids)


def stop_strings(body: Mapping[str, object]) -> tuple[str, ...]:
    """Return the request's stop strings."""
    stop = next((value for name in _STOPS if (value := body.get(name))), None)
    strings = stop if isinstance(stop, list) else [stop]
    return tuple(string for string in strings if isinstance(string, str) and string)


def token_limit(body: Mapping[str, object]) -> int:
    """Return how many tokens the reply may have; 0 if there is no limit, or if several choices are
    requested.
    """
    limits = [body.get(name) for name in _LIMITS]
    limits.append(as_object(body.get("options")).get("num_predict"))
    numbers = [limit for limit in limits if type(limit) is int and limit > 0]
    return min(numbers, default=0) if body.get("n") in (None, 1) else 0


def offered(body: Mapping[str, object], tools: Mapping[str, Schema] | None = None) -> Tools | None:
    """Return the tools with a schema that the reply may call, and settings for their calls; None if
    it may call none. A tool that takes free text is not among them. `tools`: the result of
    `tool_schemas`, if the caller has it.
    """
    tools = tool_schemas(body) if tools is None else tools
    tools = {name: schema for name, schema in tools.items() if schema is not FREE_TEXT}
    if not tools:
        return None
    choice = as_object(body.get("tool_choice"))
    # The tools to which the client limits the choice; an empty list sets no limit.
    limited = as_object(choice.get("allowed_tools")) or choice
    if chosen := {name for name, _ in _named_schemas(limited.get("tools", [choice]))}:
        tools = {name: schema for name, schema in tools.items() if name in chosen}
    if not tools or forbids_calls(body):
        return None
    disabled = choice.get("disable_parallel_tool_use") is True
    parallel = body.get("parallel_tool_calls") is not False and not disabled
    return Tools(tools, parallel, wants_json(body))


def forbids_calls(body: Mapping[str, object]) -> bool:
    """Return True if the request offers tools but forbids calling them."""
    return bool(body.get("tools")) and _choice_mode(body) == "none"


def _choice_mode(body: Mapping[str, object]) -> object:
    """Return the mode of a request's tool choice, such as `auto` or `none`; None if there is no
    choice. If the choice is a list of allowed tools, the mode is in a field of an inner object.
    """
    choice = body.get("tool_choice")
    if not isinstance(choice, Mapping):
        return choice
    if choice.get("type") != "allowed_tools":
        return choice.get("type")
    return (as_object(choice.get("allowed_tools")) or choice).get("mode")


def tool_schemas(body: Mapping[str, object]) -> dict[str, Schema]:
    """Return the schemas of all offered tools, by name; `FREE_TEXT` for a tool that takes free
    text.
    """
    return dict(_named_schemas(body.get("tools")))


def call_ids(body: Mapping[str, object]) -> list[str]:
    """Return the ids of the calls in a request's history, in their order."""
    ids = list[str]()
    for turn in messages_of(body):
        for entry in entries_of(turn):
            kind = entry.get("type")
            called = isinstance(kind, str) and (kind == "tool_use" or kind.endswith("_call"))
            if called or isinstance(entry.get("function") or entry.get("custom"), dict):
                name = entry.get("call_id") or entry.get("id")
                ids += [name] if isinstance(name, str) else []
    return ids


def _named_schemas(tools: object) -> Iterator[tuple[str, Schema]]:
    """Yield the name and the schema of each tool in a list of a request."""
    for tool in objects(tools):
        custom = tool.get("custom")
        if isinstance(custom, dict) and isinstance(named := custom.get("name"), str) and named:
            yield named, FREE_TEXT
        function = tool.get("function")
        inner = function if isinstance(function, Mapping) else tool
        name, schema = inner.get("name"), inner.get("parameters", inner.get("input_schema"))
        if isinstance(name, str) and name:
            yield name, schema if isinstance(schema, Mapping) else {}


def wants_json(body: Mapping[str, object]) -> bool:
    """Return True if the request asks for JSON in a field of `_FORMATS`; `grammar_of` also knows
    the servers' own fields. Then an object in the answer is not read as a tool call, and a tag
    within a string is text.
    """
    return not _OUTER.isdisjoint(body) and any(_type_at(body, path) in _JSON for path in _FORMATS)


def forces_call(body: Mapping[str, object]) -> bool:
    """Return True if the reply must be a call of an offered tool."""
    return bool(body.get("tools")) and _choice_mode(body) in _FORCED


def grammar_of(body: Mapping[str, object]) -> Grammar:
    """Return the kind of grammar that the request imposes on the answer: JSON, another, or none."""
    outputs = body.get("structured_outputs")
    in_json = isinstance(outputs, Mapping) and (outputs.get("json") or outputs.get("json_object"))
    if wants_json(body) or in_json or forces_call(body):
        return Grammar.JSON
    if _ALL_GRAMMARS.isdisjoint(body):
        return Grammar.NONE  # returned early, because nearly all requests have no grammar
    if any(body.get(name) for name in _JSON_GRAMMARS):
        return Grammar.JSON
    return Grammar.OTHER if any(body.get(name) for name in _GRAMMARS) else Grammar.NONE


def allowed_answers(body: Mapping[str, object]) -> tuple[str, ...]:
    """Return the answers between which the server has to choose; empty if the request lists
    none.
    """
    named = as_object(body.get("structured_outputs")).get("choice") or body.get("guided_choice")
    return tuple(each for each in named if isinstance(each, str)) if isinstance(named, list) else ()


def _type_at(body: Mapping[str, object], path: Sequence[str]) -> object:
    """Return the `type` of the object at `path`, names of nested fields from the outermost one on;
    None if there is none.
    """
    inner: object = body
    for name in (*path, "type"):
        inner = inner.get(name) if isinstance(inner, Mapping) else None
    return inner
