"""One row per server: the fields it takes, and the marks by which it is recognised.

A path in a row names a field of the chat-completions body, with a dot before a field inside it
(`chat_template_kwargs.thinking`). Servers that render the model's own chat template hand it every
entry of `chat_template_kwargs` and a template ignores unknown names, so one set of switches
fits all models: `enable_thinking` (Qwen3, GLM, Nemotron 3, SmolLM3, Laguna), `thinking` (DeepSeek
V3.1, Kimi, Granite), `thinking_mode` (MiniMax-M3), `reasoning` (Cohere).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from converter.core.dialects.request_settings import HistoryForm, Order, RequestSettings
from converter.core.dialects.server_fields import EFFORT, TEMPLATE
from converter.core.model.conversation import Conversation, ThinkingSwitch


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A mark that identifies a server: a header of a response, or a field in its JSON.

    Attributes:
        path: The path of the request.
        header: The header's name; empty: the mark is a field.
        field: The field's name.
        value: Part of the header, or the value of the field; empty: the field is there.
        beside: Another field of the same object.
        lacks: A field that no model of the list has.
    """

    path: str
    header: str = ""
    field: str = ""
    value: str = ""
    beside: str = ""
    lacks: str = ""


def _template(**switches: object) -> dict[str, object]:
    return {f"{TEMPLATE}.{name}": value for name, value in switches.items()}


TEMPLATE_ON = _template(
    enable_thinking=True, thinking=True, thinking_mode="enabled", reasoning=True
)
TEMPLATE_OFF = _template(
    enable_thinking=False, thinking=False, thinking_mode="disabled", reasoning=False
)
EFFORT_OFF = {EFFORT: "none"}
TEMPLATE_BUDGET = f"{TEMPLATE}.thinking_budget"  # Seed-OSS; Qwen3 on SGLang

# Three levels are what gpt-oss knows and what Ollama's endpoint accepts; a fourth is an error
# there.
EFFORTS = {
    "minimal": "low",
    **{name: name for name in ("low", "medium", "high")},
    **dict.fromkeys(("xhigh", "max", "ultra"), "high"),
}
ALL_EFFORTS = {name: name for name in EFFORTS} | {"minimal": "low"}
# Least budget in tokens -> effort, for models that know levels only (the steps LiteLLM uses).
BUDGET_EFFORTS = ((4096, "high"), (2048, "medium"), (0, "low"))


@dataclass(frozen=True, slots=True)
class Server:
    """One kind of server, and the fields that it takes.

    Attributes:
        name: Its kind, as logs and stores name it.
        marks: The fingerprints that identify it.
        leaves_out: Body fields that it refuses, or does not read.
        on: Body fields that turn thinking on.
        off: Body fields that turn thinking off.
        budget: The paths of a limit of thinking tokens.
        parser_budget: More such paths, for a server started with its own reasoning parser.
        effort: The path of the effort, as one of `efforts`.
        efforts: The server's effort for each effort that a client names.
        effort_models: Parts of the names of models that take an effort; empty: all take one.
        prefill: Body fields with which a last assistant message is continued.
        continues: How such a message holds a thought: as `reasoning`, in its text behind the head
            of a `message`, or behind all that the `prompt` ends with; empty: not at all.
        named_tool_choice: One tool can be demanded by name.
        image_links: It fetches images.
        history: The field in which it takes earlier thoughts.
        tool_turn_history: The field in which a past tool call must carry its thought, whatever
            `history` is.
        repeats_opener: A reply writes the template's opener again.
        counts: A stream reports its counts though the request asks for none.
        ends_thoughts: It ends a thought when it is told to, if the request has said so.
    """

    name: str
    marks: tuple[Fingerprint, ...] = ()
    leaves_out: frozenset[str] = frozenset()
    on: Mapping[str, object] = field(default_factory=dict)
    off: Mapping[str, object] = field(default_factory=dict)
    budget: tuple[str, ...] = ()
    parser_budget: tuple[str, ...] = ()
    effort: str = ""
    efforts: Mapping[str, str] = field(default_factory=lambda: EFFORTS)
    effort_models: tuple[str, ...] = ()
    prefill: Mapping[str, object] = field(default_factory=dict)
    continues: Literal["", "reasoning", "message", "prompt"] = ""
    named_tool_choice: bool = True
    image_links: bool = True
    history: HistoryForm = "reasoning_content"
    tool_turn_history: str = ""
    repeats_opener: bool = False
    counts: bool = False
    ends_thoughts: bool = False


def _owned_by(owner: str, beside: str = "") -> Fingerprint:
    """Return the fingerprint of a server that names itself the owner of the models it lists."""
    return Fingerprint("/v1/models", field="owned_by", value=owner, beside=beside)


def _by_template(
    name: str, *marks: Fingerprint, on: Mapping[str, object] = TEMPLATE_ON, **more: Any
) -> Server:
    """Return the row of a server that hands the model's template its switches of thinking."""
    return Server(name, marks, on=on, off=TEMPLATE_OFF, **more)


EFFORT_CEILINGS = {"minimal": 1024, "low": 2048, "medium": 4096}
"""Tokens of thinking that an effort allows, where budgets are enforced: those that stand for the
next one. High and more are no limit.
"""

# In the order in which to ask a server: NIM is often vLLM inside and would answer to both names.
SERVERS = (
    # 1.108 says its version with each answer; it passes an effort on, and `none`
    Server(
        name="litellm",
        marks=(Fingerprint("/v1/models", header="x-litellm-version", value="."),),
        leaves_out=frozenset({"top_k"}),
        off=EFFORT_OFF,
        effort=EFFORT,
    ),
    _by_template(
        "nim",
        Fingerprint("/v1/metadata", field="modelInfo"),
        # GLM keeps earlier thoughts only with clear_thinking off (NVIDIA's model card for GLM 5).
        on={**TEMPLATE_ON, **_template(clear_thinking=False)},
        budget=("nvext.max_thinking_tokens",),
        effort=EFFORT,
        tool_turn_history="reasoning_content",
    ),
    _by_template(
        "vllm",
        _owned_by("vllm"),
        Fingerprint("/version", field="version"),
        budget=(TEMPLATE_BUDGET,),
        # Without --reasoning-parser or --reasoning-config, vLLM 0.32 answers this field with a 400.
        parser_budget=("thinking_token_budget",),
        effort=EFFORT,
        prefill={"continue_final_message": True, "add_generation_prompt": False},
        continues="message",
    ),
    _by_template(
        "sglang",
        _owned_by("sglang"),
        budget=(TEMPLATE_BUDGET,),
        effort=EFFORT,
        efforts=ALL_EFFORTS,
        prefill={"continue_final_message": True},
        # It writes the message's text behind its prompt, which may have opened a thought.
        continues="prompt",
    ),
    _by_template(
        "llama.cpp",
        Fingerprint("/v1/models", header="server", value="llama.cpp"),
        _owned_by("llamacpp"),
        budget=("thinking_budget_tokens", TEMPLATE_BUDGET),
        effort=f"{TEMPLATE}.{EFFORT}",
        # llama.cpp 11549 takes the object form and then lets the model call any tool.
        named_tool_choice=False,
        # A last assistant message goes on in 11549, whatever is asked.
        continues="reasoning",
        # 11549 with --reasoning none; with auto it takes the thought out, and what is left is text.
        repeats_opener=True,
        counts=True,  # in `timings`, with a stream's finish
        ends_thoughts=True,  # 11549
    ),
    Server(
        name="ollama",
        marks=(Fingerprint("/api/version", field="version"),),
        # Its endpoint knows none of these and drops them without a word.
        leaves_out=frozenset({"top_k", "parallel_tool_calls", "tool_choice", "user"}),
        # Models that can think do so unasked; asking a model that cannot is a 400, so there is no
        # `on`.
        off=EFFORT_OFF,
        effort=EFFORT,
        effort_models=("gpt-oss",),
        image_links=False,
        history="reasoning",  # the one name that its endpoint reads
    ),
    Server(
        name="lmstudio",
        marks=(_owned_by("organization_owner"),),
        effort=EFFORT,
        effort_models=("gpt-oss",),
        # "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
        named_tool_choice=False,
    ),
    _by_template(
        "transformers",
        # 5.24, which lists its models as those of the hub's owners; of a folder that is `local`.
        _owned_by("local", beside="status"),
        # 5.24 answers it with a 422, as all fields that OpenAI has not; 5.23 refused more.
        leaves_out=frozenset({"top_k"}),
        counts=True,
    ),
    _by_template("vllm-mlx", _owned_by("vllm-mlx")),
    _by_template("rapid-mlx", _owned_by("rapid-mlx")),
    # oMLX's and Rapid-MLX's heir, 0.10
    _by_template("fusion-mlx", _owned_by("local", beside="modality")),
    # 0.7.10 thinks only when it is told so, and hands its template no `chat_template_kwargs`
    Server(
        name="mlx-vlm",
        marks=(Fingerprint("/v1/models", field="loaded", lacks="owned_by"),),
        on={"enable_thinking": True},
        off={"enable_thinking": False},
    ),
    _by_template("dasllama", _owned_by("dasllama")),
    # 1.5, once Llama Stack: a gateway that passes an effort on
    Server(
        name="ogx",
        marks=(_owned_by("ogx"),),
        leaves_out=frozenset({"top_k"}),
        off=EFFORT_OFF,
        effort=EFFORT,
    ),
    _by_template(
        "mlx-lm",
        # 0.32 lists its models without an owner, by Python's own server of HTTP.
        Fingerprint("/v1/models", header="server", value="basehttp", lacks="owned_by"),
    ),
    # 4.1 with llama.cpp; whether its engines take a switch is not known.
    Server(
        name="xinference",
        marks=(_owned_by("xinference"),),
        leaves_out=frozenset({"top_k"}),
    ),
    # Plain OpenAI: what is no field of the chat-completions reference may be refused, so it is not
    # sent. An effort is one, and eight servers and gateways took `none`.
    Server(name="generic", leaves_out=frozenset({"top_k"}), off=EFFORT_OFF, effort=EFFORT),
)

# Models that are switched by words in the system turn: name -> words for on, words for off. Qwen3
# and Nemotron 1.5 also have a template switch, so there the words are for servers that pass none
# on.
SYSTEM_SWITCHES = (
    (re.compile(r"nemotron.*-v1$"), "detailed thinking on", "detailed thinking off"),
    (
        re.compile(r"nemotron.*-v1[._]5$|qwen3(?!\.\d|-coder)(?!.*(?:instruct|thinking))"),
        "",
        "/no_think",
    ),
)

_BY_NAME = {server.name: server for server in SERVERS}
GENERIC = _BY_NAME["generic"]


def by_name(name: str) -> Server:
    """The row of this name; ValueError, naming all there are, when there is none."""
    if name not in _BY_NAME:
        raise ValueError(f"no server is called {name!r}; there are {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[name]


def request_settings(
    server: Server,
    conversation: Conversation,
    history: HistoryForm = "tags",
    order: Order = "as-written",
    parses: bool = False,
) -> RequestSettings:
    """Return the choices for a request that asks this server for the conversation. `parses`: see
    `thinking_fields`.
    """
    switch, effort, model = conversation.thinking, conversation.effort, conversation.model
    return RequestSettings(
        history,
        order,
        server=server.name,
        leaves_out=server.leaves_out,
        thinking=thinking_fields(server, switch, effort, model, parses),
        switch=system_switch(server, switch, model),
        prefill=server.prefill,
        tool_turn_history=server.tool_turn_history,
        named_tool_choice=server.named_tool_choice,
        image_links=server.image_links,
    )


def thinking_fields(
    server: Server,
    switch: ThinkingSwitch | None,
    effort: str | None,
    model: str,
    parses: bool = False,
) -> dict[str, object]:
    """Return the body fields that set how much a model thinks.

    `enabled` and `disabled` go out as the server's switch. `between_tools` is thinking turned off,
    too. `adaptive` leaves it to the model, so no switch is sent: a vLLM with a Mistral tokenizer
    answers any `chat_template_kwargs` with a 400, and Claude Code 2.1.197 asks every unknown model
    for adaptive thinking. `parses` says that the server takes the thinking out of the text itself.
    """
    if switch is not None and switch.mode in ("disabled", "between_tools"):
        return nested(server.off)
    enabled = switch is not None and switch.mode == "enabled"
    budget = switch.budget if switch is not None else None
    switched = server.on if enabled else {}
    paths = server.budget + (server.parser_budget if parses else ())
    budgets = {path: budget for path in paths if budget is not None}
    return nested({**switched, **budgets, **_effort(server, effort, budget, model)})


def system_switch(server: Server, switch: ThinkingSwitch | None, model: str) -> str:
    """Return the text in the system turn that turns this model's thinking on or off; empty when
    no text is needed: the request leaves it open, or the server has a switch that does it.
    """
    if switch is None or switch.mode == "adaptive":
        return ""
    for name, on, off in SYSTEM_SWITCHES:
        if name.search(model.lower()):
            order = on if switch.mode == "enabled" else off
            is_switched = server.off and server is not GENERIC  # which may read no effort
            return "" if order == "/no_think" and is_switched else order
    return ""


def _effort(
    server: Server, effort: str | None, budget: int | None, model: str
) -> dict[str, object]:
    if effort is None and budget is not None:
        effort = next(name for least, name in BUDGET_EFFORTS if budget >= least)
    fits = not server.effort_models or any(part in model.lower() for part in server.effort_models)
    word = server.efforts.get(effort or "")
    return {server.effort: word} if server.effort and fits and word else {}


def nested(paths: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of these paths."""
    groups: dict[str, dict[str, object]] = {}
    for path, value in paths.items():
        outer, dot, name = path.partition(".")
        if dot:
            groups.setdefault(outer, {})[name] = value
    return {path: value for path, value in paths.items() if "." not in path} | groups
