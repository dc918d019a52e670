"""Profiles: a row for each kind of server, with the fields that it takes and the fingerprints by
which it is recognised.

A path in a row names a field of the chat-completions body, with a dot before a field inside it
(`chat_template_kwargs.thinking`). Servers that render the model's own chat template hand it every
entry of `chat_template_kwargs`. A template ignores unknown names, so one set of switches fits all
models: `enable_thinking` (Qwen3, GLM, Nemotron 3, SmolLM3, Laguna), `thinking` (DeepSeek
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
    """A header of a response, or a field in its JSON, that identifies a server.

    Attributes:
        path: The path of the request that gets the response.
        header: The header's name; empty if the fingerprint is a field.
        field: The field's name, in the response's object or in a model of its list (`data`).
        value: A text that the header contains, or the field's whole value; empty: any value.
        beside: Another field that the same object must have; empty: none.
        lacks: A field that no model of the list may have; empty: none.
    """

    path: str
    header: str = ""
    field: str = ""
    value: str = ""
    beside: str = ""
    lacks: str = ""


def _template(**switches: object) -> dict[str, object]:
    """Return `{"chat_template_kwargs.thinking": True}` for `thinking=True`."""
    return {f"{TEMPLATE}.{name}": value for name, value in switches.items()}


TEMPLATE_ON = _template(
    enable_thinking=True, thinking=True, thinking_mode="enabled", reasoning=True
)
SWITCHES_OFF = dict[str, object](
    enable_thinking=False, thinking=False, thinking_mode="disabled", reasoning=False
)
EFFORT_OFF = {EFFORT: "none"}
TEMPLATE_BUDGET = f"{TEMPLATE}.thinking_budget"  # for Seed-OSS, and for Qwen3 on SGLang

# Three levels, because gpt-oss knows three, and Ollama's endpoint answers any other with an error.
EFFORTS = {
    "minimal": "low",
    **{name: name for name in ("low", "medium", "high")},
    **dict.fromkeys(("xhigh", "max", "ultra"), "high"),
}
ALL_EFFORTS = {name: name for name in EFFORTS} | {"minimal": "low"}
# Least budget in tokens -> effort, for models that take an effort and no budget (LiteLLM's steps).
BUDGET_EFFORTS = ((4096, "high"), (2048, "medium"), (0, "low"))


@dataclass(frozen=True, slots=True)
class Server:
    """One kind of server, and the fields that it takes.

    Attributes:
        name: The server's name in logs, stores and the option `think_server`.
        marks: The server's fingerprints, of which one is enough to identify it.
        leaves_out: Body fields that the server refuses or ignores, so that they are not sent.
        on: Body fields that turn thinking on.
        off: Body fields that turn thinking off.
        budget: The paths of fields that limit the tokens of thinking.
        parser_budget: The paths of further fields that limit the tokens of thinking. A server takes
            them only if it was started with a reasoning parser.
        effort: The path of the field that has the effort; empty: the server has no such field.
        efforts: A client's effort -> the value that the server takes.
        effort_models: Parts of the names of models that take an effort; empty: all models do.
        prefill: Body fields that make the server continue a last assistant message.
        continues: How a last assistant message with a thought is written so that the server
            continues the message. `reasoning`: the thought in the field `reasoning_content`.
            `message`: the thought in the text, between marks. `prompt`: as `message`, but without
            the opener if the prompt ends with one already. Empty: the server cannot continue a
            thought.
        named_tool_choice: True if a request can demand one tool by its name.
        image_links: True if the server fetches images from links.
        history: The field of a message in which the server reads earlier thoughts.
        tool_turn_history: The field of an earlier message with tool calls that must have the
            thought, whatever the form of other earlier thoughts; empty: none.
        repeats_opener: True if a reply may begin with the opener that ends the prompt.
        counts: True if a stream has the counts of tokens without a field that asks for them.
        ends_thoughts: True if the server can be asked to end the thought of a running reply whose
            request had the field `reasoning_control`.
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
    """Return the fingerprint of a server in whose list of models the field `owned_by` is `owner`.
    `beside`: another field that the same model must have; empty: no other field is needed.
    """
    return Fingerprint("/v1/models", field="owned_by", value=owner, beside=beside)


def _by_template(
    name: str, *marks: Fingerprint, on: Mapping[str, object] = TEMPLATE_ON, **more: Any
) -> Server:
    """Return the row of a server that passes switches of thinking to the model's chat template."""
    return Server(name, marks, on=on, off=_template(**SWITCHES_OFF), **more)


EFFORT_CEILINGS = {"minimal": 1024, "low": 2048, "medium": 4096}
"""Tokens of thinking that an effort allows if the addon enforces budgets. Higher efforts have no
limit. For `low` and `medium` it is the least budget of the next effort in `BUDGET_EFFORTS`.
"""

# The first row with a fitting fingerprint counts. NIM stands before vLLM, because vLLM often runs
# inside NIM, so that both rows fit.
SERVERS = (
    # LiteLLM 1.108 has its version in a header of each response, and passes on efforts and `none`.
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
        # GLM's template reads earlier thoughts only with this switch (GLM 5's card by NVIDIA).
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
        # vLLM 0.32 answers this field with a 400 without --reasoning-parser or --reasoning-config.
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
        # SGLang puts the message's text behind the prompt, which may end with an opener already.
        continues="prompt",
    ),
    _by_template(
        "llama.cpp",
        Fingerprint("/v1/models", header="server", value="llama.cpp"),
        _owned_by("llamacpp"),
        budget=("thinking_budget_tokens", TEMPLATE_BUDGET),
        effort=f"{TEMPLATE}.{EFFORT}",
        # llama.cpp 11549 takes a tool's name as tool_choice, but the model may call any tool.
        named_tool_choice=False,
        # llama.cpp 11549 continues a last assistant message without any field that asks for it.
        continues="reasoning",
        # llama.cpp 11549 repeats the opener with --reasoning none. With --reasoning auto it sends
        # the thought in a field, and the text begins with the answer.
        repeats_opener=True,
        counts=True,  # in the field `timings` of the frame with the finish
        ends_thoughts=True,  # seen in llama.cpp 11549
    ),
    Server(
        name="ollama",
        marks=(Fingerprint("/api/version", field="version"),),
        # Ollama's chat-completions endpoint ignores these fields without an error.
        leaves_out=frozenset({"top_k", "parallel_tool_calls", "tool_choice", "user"}),
        # The row has no `on`: a model that can think does so without a field, and a request for any
        # other model would get a 400 because of the field.
        off=EFFORT_OFF,
        effort=EFFORT,
        effort_models=("gpt-oss",),
        image_links=False,
        history="reasoning",  # the only field for thoughts that Ollama's endpoint reads
    ),
    Server(
        name="lmstudio",
        marks=(_owned_by("organization_owner"),),
        effort=EFFORT,
        effort_models=("gpt-oss",),
        # LM Studio answers a tool's name as tool_choice with the error:
        # "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
        named_tool_choice=False,
    ),
    _by_template(
        "transformers",
        # transformers serve 5.24 lists a model of the hub with the hub's owner, and a model from a
        # local folder with the owner `local`.
        _owned_by("local", beside="status"),
        # transformers serve 5.24 answers a field that OpenAI's API lacks with a 422; 5.23 refused
        # more fields.
        leaves_out=frozenset({"top_k"}),
        counts=True,
    ),
    _by_template("vllm-mlx", _owned_by("vllm-mlx")),
    _by_template("rapid-mlx", _owned_by("rapid-mlx")),
    # fusion-mlx 0.10, the successor of oMLX and Rapid-MLX
    _by_template("fusion-mlx", _owned_by("local", beside="modality")),
    # mlx-vlm 0.7.10 thinks only with this field, and ignores `chat_template_kwargs`.
    Server(
        name="mlx-vlm",
        marks=(Fingerprint("/v1/models", field="loaded", lacks="owned_by"),),
        on={"enable_thinking": True},
        off={"enable_thinking": False},
    ),
    _by_template("dasllama", _owned_by("dasllama")),
    # OGX 1.5, formerly Llama Stack, is a gateway that passes the effort on.
    Server(
        name="ogx",
        marks=(_owned_by("ogx"),),
        leaves_out=frozenset({"top_k"}),
        off=EFFORT_OFF,
        effort=EFFORT,
    ),
    _by_template(
        "mlx-lm",
        # mlx-lm 0.32 runs on Python's http.server, and its models have no `owned_by`.
        Fingerprint("/v1/models", header="server", value="basehttp", lacks="owned_by"),
    ),
    # Seen in Xinference 4.1 with llama.cpp. Whether its engines take a switch is not known.
    Server(
        name="xinference",
        marks=(_owned_by("xinference"),),
        leaves_out=frozenset({"top_k"}),
    ),
    # An unknown server gets only fields of OpenAI's chat-completions reference, because it may
    # refuse others. The effort is such a field. Eight servers and gateways accept the value `none`.
    Server(name="generic", leaves_out=frozenset({"top_k"}), off=EFFORT_OFF, effort=EFFORT),
)

# Models whose thinking is switched by a text in the system turn: (pattern of the name, text for on,
# text for off). Qwen3 and Nemotron 1.5 also have a switch of the template, so `/no_think` is only
# for servers that pass no switch to the template.
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
    """Return the row of this name. Raises ValueError, with all names, if there is none."""
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
    """Return the settings by which a conversation is written as a request to this server.
    `history`: the form of earlier thoughts. `order`: the order of tool results and text in a user
    turn. `parses`: True if the server sends thoughts in a field of their own.
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

    The mode `enabled` becomes the server's fields `on`; `disabled` and `between_tools` become its
    fields `off`. For `adaptive` no switch is sent, because Claude Code 2.1.197 sends this mode for
    every unknown model, and vLLM with a Mistral tokenizer answers any `chat_template_kwargs` with a
    400. `parses`: True if the server sends thoughts in a field of their own.
    """
    if switch is not None and switch.mode in ("disabled", "between_tools"):
        return nested(server.off)
    enabled = switch is not None and switch.mode == "enabled"
    budget = switch.budget if switch is not None else None
    switched = server.on if enabled else {}
    paths = server.budget + (server.parser_budget if parses else ())
    budgets = {path: budget for path in paths if budget is not None}
    return nested({**switched, **budgets, **_effort_field(server, effort, budget, model)})


def system_switch(server: Server, switch: ThinkingSwitch | None, model: str) -> str:
    """Return the text for the system turn that turns this model's thinking on or off.

    Empty in three cases: the model has no such text; the request does not switch thinking; the
    text is `/no_think`, and the server has a field that turns thinking off.
    """
    if switch is None or switch.mode == "adaptive":
        return ""
    for name, on, off in SYSTEM_SWITCHES:
        if name.search(model.lower()):
            order = on if switch.mode == "enabled" else off
            # GENERIC's `off` is an effort, which an unknown server may ignore: it gets the text too
            is_switched = server.off and server is not GENERIC
            return "" if order == "/no_think" and is_switched else order
    return ""


def _effort_field(
    server: Server, effort: str | None, budget: int | None, model: str
) -> dict[str, object]:
    """Return the field with the server's value for an effort, or for a budget if there is no
    effort. Return no field if the server or the model takes no effort.
    """
    if effort is None and budget is not None:
        effort = next(name for least, name in BUDGET_EFFORTS if budget >= least)
    fits = not server.effort_models or any(part in model.lower() for part in server.effort_models)
    word = server.efforts.get(effort or "")
    return {server.effort: word} if server.effort and fits and word else {}


def nested(paths: Mapping[str, object]) -> dict[str, object]:
    """Return body fields from paths: `{"a": 1, "b.c": 2}` -> `{"a": 1, "b": {"c": 2}}`."""
    groups: dict[str, dict[str, object]] = {}
    for path, value in paths.items():
        outer, dot, name = path.partition(".")
        if dot:
            groups.setdefault(outer, {})[name] = value
    return {path: value for path, value in paths.items() if "." not in path} | groups
