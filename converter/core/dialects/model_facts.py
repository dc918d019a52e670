"""`ModelFacts` has the facts that a server reports about a model: its context window, its longest
reply, whether it thinks, calls tools and sees pictures. `read` and `facts_of` find them in servers'
answers, `with_facts` adds them to a list of models for clients.

No fact is guessed from the model's name.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from converter.core.wire import json_text
from converter.core.wire.json_text import as_object, objects

WINDOW_FIELDS: Mapping[str, tuple[str, ...]] = {
    "/v1/models": (
        "n_ctx",
        "max_model_len",
        "context_window",
        "loaded_context_length",
        "context_length",
        "max_context_length",
    ),
    "/props": ("n_ctx",),
    "/api/v0/models": ("loaded_context_length",),
    "/api/v1/models": ("context_length",),
    "/api/ps": ("context_length",),
    "/model_info": (),
    "/get_model_info": (),
}
"""Path -> names of the fields with the context window in the answer. The first path and the first
field that has a window count.

- `/v1/models`: llama.cpp, vLLM, SGLang, NIM
- `/props`: old llama.cpp
- `/api/v0/models` and `/api/v1/models`: LM Studio
- `/api/ps`: Ollama
- `/model_info` and `/get_model_info`: two paths of one endpoint of SGLang. Its answer has no
  window, but other facts

`n_ctx_train`, and `max_context_length` of LM Studio's own paths, are left out: they are limits of
the model, while its server may be set to less.
"""
MORE_FACTS_AT: Mapping[str, str] = {
    "llama.cpp": "/props",
    "lmstudio": "/api/v0/models",
    "ollama": "/api/ps",
    "sglang": "/model_info",
}
"""Server -> a path with facts about its models that its list of models lacks."""
SHOWN_AT = "/api/show"
"""Path at which Ollama lists all abilities of a model. llama.cpp has the path, too, but lists only
some of them.
"""
_REPLY_LIMITS = ("max_output_tokens", "max_completion_tokens")
"""Names of the fields with the number of tokens that a reply may have at most."""
_THINKS = ("thinking", "reasoning")
"""Servers' names for the ability to think."""
_CALLS = ("tools", "tool_use", "trained_for_tool_use", "supports_tools")
"""Servers' names for the ability to call tools."""
_SEES = ("vision", "multimodal", "image", "vlm", "has_image_understanding")
"""Servers' names for the ability to see pictures."""
_ABILITY_FIELDS = ("capabilities", "modalities", "chat_template_caps", "supported_parameters")
"""Fields that hold a list of abilities or an object of switches: `capabilities` of Ollama and LM
Studio, `modalities` and `chat_template_caps` of llama.cpp, `supported_parameters` of gateways.
"""
_INPUT_FIELD = "input_modalities"
"""Name of the field with the list of what a model can read: `text`, `image`."""
_SEES_BY_TYPE = {"vlm": True, "llm": False}
"""Type of a model in LM Studio's list -> True if such a model sees pictures."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model. None means that the server does not report the fact."""

    window: int | None = None
    """How many tokens the model's context holds."""
    output: int | None = None
    """How many tokens the longest reply may have."""
    thinks: bool | None = None
    """True if the model can think; None if the server does not report it."""
    calls_tools: bool | None = None
    """True if the model can call tools; None if the server does not report it."""
    sees: bool | None = None
    """True if the model can see pictures; None if the server does not report it."""
    parsers: tuple[str, ...] = ()
    """The parsers of thinking and of calls with which an SGLang server was started, as texts:
    `reasoning parser: qwen3`, or `none` for no parser. Empty for any other server.
    """

    @property
    def abilities(self) -> list[str]:
        """Abilities, parsers and the longest reply, as far as the server reports them, each as a
        text for people: `thinks: yes`.
        """
        answers = {
            "thinks": self.thinks,
            "calls tools": self.calls_tools,
            "sees pictures": self.sees,
        }
        abilities = [
            f"{name}: {'yes' if can else 'no'}" for name, can in answers.items() if can is not None
        ]
        output = [f"longest reply: {self.output:,} tokens"] if self.output else []
        return [*abilities, *self.parsers, *output]

    @property
    def line(self) -> str:
        """All facts that the server reports, in one line of text, for people."""
        window = [f"a window of {self.window:,} tokens"] if self.window else []
        return ", ".join([*window, *self.abilities])


def read(answers: Mapping[str, object], model: str) -> ModelFacts:
    """Return the facts about `model`. `answers`: path of the server -> the JSON that the server
    answered there.
    """
    rows = {path: _part_about(value, model) for path, value in answers.items()}
    fields = WINDOW_FIELDS.items()
    windows = [size for path, names in fields for size in _numbers_in(rows.get(path), names)]
    # Sorted, so that True comes last and overwrites False if two answers disagree on an ability.
    flags = dict(sorted(_ability_flags(rows), key=lambda switch: switch[1]))
    outputs = _numbers_in(rows.get("/v1/models"), _REPLY_LIMITS)
    thinks, calls, sees = (_any_flag(flags, names) for names in (_THINKS, _CALLS, _SEES))
    window, output = next(iter(windows), None), next(outputs, None)
    # SGLang reports the two parsers with which it was started; a parser that is null was not set.
    labels = {"reasoning_parser": "reasoning parser", "tool_call_parser": "tool-call parser"}
    started = as_object(answers.get("/model_info"))
    parsers = [f"{labels[name]}: {started[name] or 'none'}" for name in labels if name in started]
    return ModelFacts(window, output, thinks, calls, sees, tuple(parsers))


def facts_of(entry: Mapping[str, object]) -> ModelFacts:
    """Return the facts in one entry of a server's list of models."""
    return read({"/v1/models": {"data": [entry]}}, str(entry.get("id")))


def created_at(entry: Mapping[str, object]) -> str:
    """Return the date of a model, from its entry in the list of models. An entry without a date
    gets 1970-01-01, because clients expect a date.
    """
    created = entry.get("created")
    seconds = created if type(created) is int and 0 < created < 1 << 34 else 0
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def with_facts(body: bytes) -> dict[str, object] | None:
    """Return `body`, a server's list of models or its entry of one model, with facts added to each
    entry: `context_length`, `max_output_tokens`, `supported_parameters` and `input_modalities`.
    These are the names of OpenRouter, which agents read. Return `None` if there is nothing to add,
    or if `body` is neither of the two.
    """
    if not isinstance(listed := json_text.read_or_none(body), dict):
        return None
    if not isinstance(data := listed.get("data"), list):
        more = _added_facts(listed) if isinstance(listed.get("id"), str) else {}
        return {**listed, **more} if more else None
    answers = [{**row, **_added_facts(row)} if isinstance(row, dict) else row for row in data]
    return {**listed, "data": answers} if answers != data else None


def _added_facts(entry: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that `with_facts` adds to the entry of a model: the facts that the entry
    reports in other fields. A field that the entry already has at any depth is left out.
    """
    facts = facts_of(entry)
    parameters = {"tools": facts.calls_tools, "reasoning": facts.thinks}
    more = {
        "context_length": facts.window,
        "max_output_tokens": facts.output,
        "supported_parameters": [name for name, can in parameters.items() if can],
        _INPUT_FIELD: ["text", "image"] if facts.sees else [],
    }
    answers = {name for each in _objects(entry) for name in each}
    return {name: value for name, value in more.items() if value and name not in answers}


def _part_about(value: object, model: str) -> object:
    """Return the part of a server's answer that is about `model`:

    - of a list of models the entries with this name;
    - of a list with one entry this entry, whatever its name is;
    - None if no entry of a longer list has the name;
    - `value` itself if it is no list of models.
    """
    listed = map(as_object(value).get, ("data", "models"))
    rows = next(filter(None, map(objects, listed)), None)
    if rows is None:
        return value
    named = [row for row in rows if model in map(row.get, ("id", "name", "key"))]
    return named or (rows if len(rows) == 1 else None)


def _objects(value: object) -> Iterator[dict[str, object]]:
    """Yield all objects in a value, outer objects before those within them."""
    waiting = [value]
    for each in waiting:  # the list grows in the loop: recursion would fail at deeply nested JSON
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        waiting += [part for part in inner if isinstance(part, dict | list)]
        if isinstance(each, dict):
            yield each


def _numbers_in(value: object, names: Sequence[str]) -> Iterator[int]:
    """Yield the positive whole numbers in the fields with these names, at any depth: those of outer
    objects first, and those of one object in the order of `names`.
    """
    for each in _objects(value):
        numbers = map(each.get, names)
        yield from (size for size in numbers if type(size) is int and size > 0)


def _ability_flags(rows: Mapping[str, object]) -> Iterator[tuple[str, bool]]:
    """Yield the name of each ability that the answers mention, and True if the model has it, else
    False. Ollama's list at `SHOWN_AT` names only what the model has: so all abilities are first
    yielded with False, and a True that follows counts more.
    """
    if isinstance(shown := rows.get(SHOWN_AT), dict) and isinstance(
        shown.get("capabilities"), list
    ):
        yield from ((word, False) for word in (_THINKS[0], _CALLS[0], _SEES[0]))
    for each in _objects(list(rows.values())):
        for name in _ABILITY_FIELDS:
            yield from _flags_in(each.get(name))
        if isinstance(values := as_object(each.get("thinking")).get("values"), list):
            yield _THINKS[0], any(value is not False for value in values)
        if isinstance(inputs := each.get(_INPUT_FIELD), list):
            yield "image", "image" in inputs
        if isinstance(sees := each.get("has_image_understanding"), bool):
            yield "has_image_understanding", sees
        if isinstance(kind := each.get("type"), str) and kind in _SEES_BY_TYPE:
            yield "vlm", _SEES_BY_TYPE[kind]


def _flags_in(value: object) -> Iterable[tuple[str, bool]]:
    """Return the abilities in the value of an ability field: name, and True if the model has it.
    The value is an object of switches, or a list of the abilities that the model has.
    """
    if isinstance(value, dict):
        return [(name, bool(on)) for name, on in value.items() if isinstance(on, bool | dict)]
    names = value if isinstance(value, list) else ()
    return [(name, True) for name in names if isinstance(name, str)]


def _any_flag(flags: Mapping[str, bool], names: Sequence[str]) -> bool | None:
    """Return True if one of the abilities `names` is reported as present; False if at least one is
    reported, but each of these as absent; None if none is reported.
    """
    answers = [flags[name] for name in names if name in flags]
    return any(answers) if answers else None
