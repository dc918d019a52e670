"""The facts that a server gives of a model: its window, its longest reply, whether it thinks, calls
tools and sees pictures. No fact is guessed from a model's name.
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
"""Paths, and the names of the window there: llama.cpp, vLLM, SGLang and NIM; old llama.cpp; LM
Studio (two); Ollama; SGLang, for pictures and parsers, by two names. `n_ctx_train` and LM Studio's
`max_context_length` are the limits of the model, not of its server.
"""
MORE_FACTS_AT: Mapping[str, str] = {
    "llama.cpp": "/props",
    "lmstudio": "/api/v0/models",
    "ollama": "/api/ps",
    "sglang": "/model_info",
}
"""Paths where a server gives more facts of its models than in its list."""
SHOWN_AT = "/api/show"
"""Where Ollama lists all that a model can; llama.cpp answers there too, with less than all."""
_OUTPUTS = ("max_output_tokens", "max_completion_tokens")
_THINKS = ("thinking", "reasoning")
_CALLS = ("tools", "tool_use", "trained_for_tool_use", "supports_tools")
_SEES = ("vision", "multimodal", "image", "vlm", "has_image_understanding")
_ABILITY_FIELDS = ("capabilities", "modalities", "chat_template_caps", "supported_parameters")
"""Fields with a list of abilities, or with switches: Ollama and LM Studio, llama.cpp (two),
gateways.
"""
_INPUTS = "input_modalities"
_KINDS = {"vlm": True, "llm": False}
"""LM Studio's types of model, and whether each sees."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The facts of a model; None where the server gives none.

    Attributes:
        window: tokens of the context.
        output: tokens of the longest reply.
        parsers: the server's own of thinking and calls.
    """

    window: int | None = None
    output: int | None = None
    thinks: bool | None = None
    calls_tools: bool | None = None
    sees: bool | None = None
    parsers: tuple[str, ...] = ()

    @property
    def abilities(self) -> list[str]:
        """The model's abilities, for people; none where the server gives none."""
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
        """The window and the abilities as one line of text, for people."""
        window = [f"a window of {self.window:,} tokens"] if self.window else []
        return ", ".join([*window, *self.abilities])


def read(answers: Mapping[str, object], model: str) -> ModelFacts:
    """Return the facts in the server's JSON at each of the paths."""
    rows = {path: _about(value, model) for path, value in answers.items()}
    fields = WINDOW_FIELDS.items()
    windows = [size for path, names in fields for size in _numbers(rows.get(path), names)]
    # a yes counts before a no
    flags = dict(sorted(_ability_flags(rows), key=lambda switch: switch[1]))
    outputs = _numbers(rows.get("/v1/models"), _OUTPUTS)
    thinks, calls, sees = (_verdict(flags, names) for names in (_THINKS, _CALLS, _SEES))
    window, output = next(iter(windows), None), next(outputs, None)
    return ModelFacts(window, output, thinks, calls, sees, _parsers(answers.get("/model_info")))


def of_entry(entry: Mapping[str, object]) -> ModelFacts:
    """Return the facts in an entry of the server's list of models."""
    return read({"/v1/models": {"data": [entry]}}, str(entry.get("id")))


def created_at(entry: Mapping[str, object]) -> str:
    """Return when the model of an entry was made; clients want a date, so of one that names none:
    the epoch.
    """
    created = entry.get("created")
    seconds = created if type(created) is int and 0 < created < 1 << 34 else 0
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def with_facts(body: bytes) -> dict[str, object] | None:
    """Return a list of models, or one model, with its facts in `context_length`,
    `max_output_tokens`, `supported_parameters` and `input_modalities`; `None` where nothing is to
    be added. The names are those of gateways (OpenRouter), which agents read.
    """
    if not isinstance(listed := json_text.read_or_none(body), dict):
        return None
    if not isinstance(data := listed.get("data"), list):
        more = _more(listed) if isinstance(listed.get("id"), str) else {}
        return {**listed, **more} if more else None
    answers = [{**row, **_more(row)} if isinstance(row, dict) else row for row in data]
    return {**listed, "data": answers} if answers != data else None


def _more(entry: Mapping[str, object]) -> dict[str, object]:
    facts = of_entry(entry)
    parameters = {"tools": facts.calls_tools, "reasoning": facts.thinks}
    more = {
        "context_length": facts.window,
        "max_output_tokens": facts.output,
        "supported_parameters": [name for name, can in parameters.items() if can],
        _INPUTS: ["text", "image"] if facts.sees else [],
    }
    answers = {name for each in _objects(entry) for name in each}
    return {name: value for name, value in more.items() if value and name not in answers}


def _about(value: object, model: str) -> object:
    """Return the rows about the model, of a list of models; all there is where nothing is listed.
    Of several models none may speak for another.
    """
    listed = map(as_object(value).get, ("data", "models"))
    rows = next(filter(None, map(objects, listed)), None)
    if rows is None:
        return value
    named = [row for row in rows if model in map(row.get, ("id", "name", "key"))]
    return named or (rows if len(rows) == 1 else None)


def _objects(value: object) -> Iterator[dict[str, object]]:
    """Yield the objects in a value, the outer ones first."""
    waiting = [value]
    for each in waiting:  # it grows meanwhile, because a server may nest deeper than Python calls
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        waiting += [part for part in inner if isinstance(part, dict | list)]
        if isinstance(each, dict):
            yield each


def _parsers(answers: object) -> tuple[str, ...]:
    """Return the parsers that SGLang was started with, `none` where it has none."""
    flags = as_object(answers)
    names = {"reasoning_parser": "reasoning parser", "tool_call_parser": "tool-call parser"}
    return tuple(
        f"{label}: {flags[name] or 'none'}" for name, label in names.items() if name in flags
    )


def _numbers(value: object, names: Sequence[str]) -> Iterator[int]:
    """Yield the positive numbers under any of these names."""
    for each in _objects(value):
        numbers = map(each.get, names)
        yield from (size for size in numbers if type(size) is int and size > 0)


def _ability_flags(rows: Mapping[str, object]) -> Iterator[tuple[str, bool]]:
    """Yield each word for a faculty, and whether the model has it."""
    if isinstance(shown := rows.get(SHOWN_AT), dict) and isinstance(
        shown.get("capabilities"), list
    ):
        yield from ((word, False) for word in (_THINKS[0], _CALLS[0], _SEES[0]))
    for each in _objects(list(rows.values())):
        for name in _ABILITY_FIELDS:
            yield from _switches(each.get(name))
        if isinstance(values := as_object(each.get("thinking")).get("values"), list):
            yield _THINKS[0], any(value is not False for value in values)
        if isinstance(inputs := each.get(_INPUTS), list):
            yield "image", "image" in inputs
        if isinstance(sees := each.get("has_image_understanding"), bool):
            yield "has_image_understanding", sees
        if isinstance(kind := each.get("type"), str) and kind in _KINDS:
            yield "vlm", _KINDS[kind]


def _switches(value: object) -> Iterable[tuple[str, bool]]:
    if isinstance(value, dict):
        return [(name, bool(on)) for name, on in value.items() if isinstance(on, bool | dict)]
    names = value if isinstance(value, list) else ()
    return [(name, True) for name in names if isinstance(name, str)]


def _verdict(flags: Mapping[str, bool], names: Sequence[str]) -> bool | None:
    verdicts = [flags[name] for name in names if name in flags]
    return any(verdicts) if verdicts else None
