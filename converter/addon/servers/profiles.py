"""Profiles: a row of `SERVERS` (a `Server`) for each kind of server, with the request fields that
it takes and the fingerprints by which `probes.py` recognises it. `by_name` finds a row, `GENERIC`
is that of unknown servers, `thinking_fields` chooses fields of a request by a row.

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
    """A header of a response, or a field in its JSON, that identifies a server."""

    path: str
    """The path of the GET request whose response is looked at."""
    header: str = ""
    """The header's name; empty if the fingerprint is a field."""
    field: str = ""
    """The name of the field. It stands in the response's JSON object, or in an object of its list
    `data`, which has the server's models. Empty if the fingerprint is a header.
    """
    value: str = ""
    """A text that the header contains, or the field's whole value; empty: any value."""
    beside: str = ""
    """Another field that an object with `field` must also have; empty: none."""
    lacks: str = ""
    """A field by which another server is told apart: the fingerprint fits only if the response
    lists models, and none of them has this field. Empty: there is no such condition.
    """


def _template_paths(**switches: object) -> dict[str, object]:
    """Return switches of a chat template as paths of body fields with their values:
    `thinking=True` -> `{"chat_template_kwargs.thinking": True}`.
    """
    return {f"{TEMPLATE}.{name}": value for name, value in switches.items()}


TEMPLATE_ON = _template_paths(
    enable_thinking=True, thinking=True, thinking_mode="enabled", reasoning=True
)
"""Path of a body field -> its value that turns thinking on, for each name that the switch has in
some model's chat template.
"""
SWITCHES_OFF = dict[str, object](
    enable_thinking=False, thinking=False, thinking_mode="disabled", reasoning=False
)
"""Entries of `chat_template_kwargs` that turn thinking off, for each name that the switch has in
some model's chat template.
"""
EFFORT_OFF = {EFFORT: "none"}
"""The body field that turns thinking off by an effort."""
TEMPLATE_BUDGET = f"{TEMPLATE}.thinking_budget"
"""The path of the thinking budget that the template of Seed-OSS reads, and, on SGLang, also the
template of Qwen3.
"""

EFFORTS = {
    "minimal": "low",
    **{name: name for name in ("low", "medium", "high")},
    **dict.fromkeys(("xhigh", "max", "ultra"), "high"),
}
"""A client's effort -> the effort that is sent. There are three levels, because gpt-oss knows
three, and Ollama's endpoint answers any other level with an error.
"""
ALL_EFFORTS = {name: name for name in EFFORTS} | {"minimal": "low"}
"""A client's effort -> the effort that is sent to SGLang, which takes every level but `minimal`."""
BUDGET_EFFORTS = ((4096, "high"), (2048, "medium"), (0, "low"))
"""Pairs of a budget in tokens and the effort that is sent for this budget or a higher one, for
models that take an effort but no budget. LiteLLM has the same steps.
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A kind of server, and the request fields that it takes."""

    name: str
    """The server's name in logs, stores and the option `think_server`."""
    fingerprints: tuple[Fingerprint, ...] = ()
    """The server's fingerprints, of which one is enough to identify it."""
    leaves_out: frozenset[str] = frozenset()
    """Body fields that the server refuses or ignores, so that translated requests lack them."""
    on: Mapping[str, object] = field(default_factory=dict)
    """Path of a body field -> its value that turns thinking on."""
    off: Mapping[str, object] = field(default_factory=dict)
    """Path of a body field -> its value that turns thinking off."""
    budget: tuple[str, ...] = ()
    """The paths of fields that limit the tokens of thinking."""
    parser_budget: tuple[str, ...] = ()
    """The paths of further fields that limit the tokens of thinking. A server takes them only if it
    was started with a reasoning parser.
    """
    effort: str = ""
    """The path of the body field that sets the effort of thinking; empty: there is no such field.
    """
    efforts: Mapping[str, str] = field(default_factory=lambda: EFFORTS)
    """A client's effort -> the value that is sent to the server."""
    effort_models: tuple[str, ...] = ()
    """Parts of the names of models that take an effort; empty: all models do."""
    prefill: Mapping[str, object] = field(default_factory=dict)
    """Body fields with which the server continues an assistant message at the request's end, and
    does not begin a new message.
    """
    continues: Literal["", "reasoning", "message", "prompt"] = ""
    """How a last assistant message with a thought is written so that the server continues the
    message. `reasoning`: the thought in the field `reasoning_content`. `message`: the thought in
    the text, between marks. `prompt`: as `message`, but without the opener if the prompt ends with
    one already. Empty: the server cannot continue a thought.
    """
    named_tool_choice: bool = True
    """True if `tool_choice` can demand one tool by its name."""
    image_links: bool = True
    """True if the server fetches images from links."""
    history: HistoryForm = "reasoning_content"
    """The field of a message in which the server reads earlier thoughts."""
    tool_turn_history: str = ""
    """The field that must have the thought of an earlier message with tool calls, whatever the form
    of the thoughts of other messages; empty: there is no such field.
    """
    repeats_opener: bool = False
    """True if the prompt ends with an opener, and the reply may begin with a copy of it."""
    counts: bool = False
    """True if the server sends the counts of tokens in a stream even if the request does not ask
    for them.
    """
    ends_thought_on_request: bool = False
    """True if the server ends the thought of a running reply when it gets a further request for
    that. The reply's own request must have had the field `reasoning_control`.
    """


def _owner_fingerprint(owner: str, beside: str = "") -> Fingerprint:
    """Return the fingerprint of a server that lists a model with the value `owner` in the field
    `owned_by`. `beside`: another field that the same model must have; empty: none.
    """
    return Fingerprint("/v1/models", field="owned_by", value=owner, beside=beside)


def _template_server(
    name: str, *fingerprints: Fingerprint, on: Mapping[str, object] = TEMPLATE_ON, **more: Any
) -> Server:
    """Return the row of a server that passes switches of thinking to the model's chat template.
    `more`: further fields of `Server`.
    """
    return Server(name, fingerprints, on=on, off=_template_paths(**SWITCHES_OFF), **more)


EFFORT_CEILINGS = {"minimal": 1024, "low": 2048, "medium": 4096}
"""Effort -> the most tokens of thinking, if the addon itself enforces budgets. Higher efforts have
no limit. The limits of `low` and `medium` are the budgets at which `BUDGET_EFFORTS` has the next
effort.
"""

# NIM stands before vLLM, because vLLM often runs inside NIM, so that both rows fit.
SERVERS = (
    # LiteLLM 1.108 has its version in a header of each response. It passes every effort on to the
    # model's server, also the effort `none`.
    Server(
        name="litellm",
        fingerprints=(Fingerprint("/v1/models", header="x-litellm-version", value="."),),
        leaves_out=frozenset({"top_k"}),
        off=EFFORT_OFF,
        effort=EFFORT,
    ),
    _template_server(
        "nim",
        Fingerprint("/v1/metadata", field="modelInfo"),
        # GLM's template reads earlier thoughts only if `clear_thinking` is false (NVIDIA's card of
        # GLM 5).
        on={**TEMPLATE_ON, **_template_paths(clear_thinking=False)},
        budget=("nvext.max_thinking_tokens",),
        effort=EFFORT,
        tool_turn_history="reasoning_content",
    ),
    _template_server(
        "vllm",
        _owner_fingerprint("vllm"),
        Fingerprint("/version", field="version"),
        budget=(TEMPLATE_BUDGET,),
        # vLLM 0.32 answers this field with a 400 if it was started without --reasoning-parser and
        # without --reasoning-config.
        parser_budget=("thinking_token_budget",),
        effort=EFFORT,
        prefill={"continue_final_message": True, "add_generation_prompt": False},
        continues="message",
    ),
    _template_server(
        "sglang",
        _owner_fingerprint("sglang"),
        budget=(TEMPLATE_BUDGET,),
        effort=EFFORT,
        efforts=ALL_EFFORTS,
        prefill={"continue_final_message": True},
        # SGLang appends the text of the last message to the rendered prompt, which may end with an
        # opener already.
        continues="prompt",
    ),
    _template_server(
        "llama.cpp",
        Fingerprint("/v1/models", header="server", value="llama.cpp"),
        _owner_fingerprint("llamacpp"),
        budget=("thinking_budget_tokens", TEMPLATE_BUDGET),
        effort=f"{TEMPLATE}.{EFFORT}",
        # llama.cpp 11549 accepts a tool's name as tool_choice, but the model may still call any
        # tool.
        named_tool_choice=False,
        # llama.cpp 11549 needs no field of the request to continue a last assistant message, so the
        # row has no `prefill`.
        continues="reasoning",
        # With --reasoning-format none, llama.cpp 11549 begins the reply with a copy of the opener
        # that ends the prompt. With auto, it sends the thought in a field, and no opener in text.
        repeats_opener=True,
        counts=True,  # llama.cpp sends the counts in the field `timings`, beside the finish
        ends_thought_on_request=True,  # llama.cpp 11549 takes a second request during the reply
    ),
    Server(
        name="ollama",
        fingerprints=(Fingerprint("/api/version", field="version"),),
        # Ollama's chat-completions endpoint ignores these fields, and reports no error.
        leaves_out=frozenset({"top_k", "parallel_tool_calls", "tool_choice", "user"}),
        # The row has no fields `on`: on Ollama a model that can think does so without them, and a
        # model that cannot think would get a 400 because of them.
        off=EFFORT_OFF,
        effort=EFFORT,
        effort_models=("gpt-oss",),
        image_links=False,
        history="reasoning",  # Ollama's endpoint reads earlier thoughts in this field alone
    ),
    Server(
        name="lmstudio",
        fingerprints=(_owner_fingerprint("organization_owner"),),
        effort=EFFORT,
        effort_models=("gpt-oss",),
        # LM Studio answers a request that has a tool's name as tool_choice with the error:
        # "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
        named_tool_choice=False,
    ),
    _template_server(
        "transformers",
        # transformers serve 5.24 lists a model from a local folder with the owner `local`. This
        # fingerprint does not fit a model of the hub: its owner is the account that published it.
        _owner_fingerprint("local", beside="status"),
        # If a request has a field that OpenAI's API lacks, such as `top_k`, transformers serve 5.24
        # answers with a 422. Version 5.23 refused more fields.
        leaves_out=frozenset({"top_k"}),
        counts=True,
    ),
    _template_server("vllm-mlx", _owner_fingerprint("vllm-mlx")),
    _template_server("rapid-mlx", _owner_fingerprint("rapid-mlx")),
    # fusion-mlx 0.10 (the successor of oMLX and Rapid-MLX) lists a model with the owner `local` and
    # the field `modality`.
    _template_server("fusion-mlx", _owner_fingerprint("local", beside="modality")),
    # mlx-vlm 0.7.10 ignores `chat_template_kwargs`. It thinks only if the body itself has the field
    # `enable_thinking`.
    Server(
        name="mlx-vlm",
        fingerprints=(Fingerprint("/v1/models", field="loaded", lacks="owned_by"),),
        on={"enable_thinking": True},
        off={"enable_thinking": False},
    ),
    _template_server("dasllama", _owner_fingerprint("dasllama")),
    # OGX 1.5, formerly Llama Stack, is a gateway that passes the effort on to the model's server.
    Server(
        name="ogx",
        fingerprints=(_owner_fingerprint("ogx"),),
        leaves_out=frozenset({"top_k"}),
        off=EFFORT_OFF,
        effort=EFFORT,
    ),
    _template_server(
        "mlx-lm",
        # mlx-lm 0.32 runs on Python's http.server, and its models have no `owned_by`.
        Fingerprint("/v1/models", header="server", value="basehttp", lacks="owned_by"),
    ),
    # This fingerprint is that of Xinference 4.1 with its engine llama.cpp. It is not known whether
    # its engines take a switch of thinking, so the row has none.
    Server(
        name="xinference",
        fingerprints=(_owner_fingerprint("xinference"),),
        leaves_out=frozenset({"top_k"}),
    ),
    # An unknown server gets only fields of OpenAI's chat-completions reference, because it may
    # refuse others. `reasoning_effort` is in the reference, and eight servers and gateways accept
    # its value `none`.
    Server(name="generic", leaves_out=frozenset({"top_k"}), off=EFFORT_OFF, effort=EFFORT),
)
"""All kinds of servers. A server is of the kind of the first row that has a fitting fingerprint."""

SYSTEM_SWITCHES = (
    (re.compile(r"nemotron.*-v1$"), "detailed thinking on", "detailed thinking off"),
    (
        re.compile(r"nemotron.*-v1[._]5$|qwen3(?!\.\d|-coder)(?!.*(?:instruct|thinking))"),
        "",
        "/no_think",
    ),
)
"""Models whose thinking is switched by a text in the system turn. A row has a pattern of the
models' names, the text that turns thinking on (empty: none is needed), and the text that turns it
off. The templates of Qwen3 and Nemotron 1.5 also have a switch, so `/no_think` is only for servers
that pass no switch to the template.
"""

_BY_NAME = {server.name: server for server in SERVERS}
"""Name of a server -> its row."""
GENERIC = _BY_NAME["generic"]
"""The row for a server of unknown kind."""


def by_name(name: str) -> Server:
    """Return the row of `SERVERS` with this name. Raises ValueError, with all names, if there is
    none.
    """
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
    """Return the settings by which `conversation` is written as a request to this server.

    Arguments:
        history: The field of a message, or the marks in its text (`tags`), in which the request has
            earlier thoughts; `drop`: it has none.
        order: Whether tool results go before the text of their user turn (`tools-first`), or stay
            where the client wrote them (`as-written`).
        parses: True if the server sends this model's thoughts in a field of their own.
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
    """Return the body fields that set whether and how much a model thinks on this server, by the
    client's `switch` and `effort`.

    For the modes `disabled` and `between_tools` of the switch, only the fields `server.off` are
    sent. The mode `enabled` becomes the fields `server.on`, with budget and effort beside them.
    Without a switch (`None`), and for `adaptive`, only budget and effort are sent: Claude Code
    2.1.197 sends `adaptive` for every unknown model, and vLLM with a Mistral tokenizer answers any
    `chat_template_kwargs` with a 400. `parses`: True if the server sends thoughts in a field of
    their own; it then gets the budget in the fields `server.parser_budget` too.

    If the client sends a budget and no effort, the effort is the one for this budget
    (`BUDGET_EFFORTS`). No effort is sent to a server or a model that takes none, and none that
    `server.efforts` lacks.
    """
    if switch is not None and switch.mode in ("disabled", "between_tools"):
        return nest_fields(server.off)
    enabled = switch is not None and switch.mode == "enabled"
    budget = switch.budget if switch is not None else None
    switched = server.on if enabled else {}
    paths = server.budget + (server.parser_budget if parses else ())
    budgets = {path: budget for path in paths if budget is not None}
    if effort is None and budget is not None:
        effort = next(name for least, name in BUDGET_EFFORTS if budget >= least)
    fits = not server.effort_models or any(part in model.lower() for part in server.effort_models)
    value = server.efforts.get(effort or "")
    efforts = {server.effort: value} if server.effort and fits and value else {}
    return nest_fields({**switched, **budgets, **efforts})


def system_switch(server: Server, switch: ThinkingSwitch | None, model: str) -> str:
    """Return the text that turns this model's thinking on or off in the system turn, such as
    `/no_think`.

    Empty in three cases: the model has no such text; the request does not switch thinking (`switch`
    is `None` or `adaptive`); the text is `/no_think`, and the server is of a known kind and has a
    field that turns thinking off.
    """
    if switch is None or switch.mode == "adaptive":
        return ""
    for name, on, off in SYSTEM_SWITCHES:
        if name.search(model.lower()):
            order = on if switch.mode == "enabled" else off
            # An unknown server may ignore the effort `none`, so it gets `/no_think` too.
            is_switched = server.off and server is not GENERIC
            return "" if order == "/no_think" and is_switched else order
    return ""


def nest_fields(paths: Mapping[str, object]) -> dict[str, object]:
    """Return the body fields at these paths: `{"a": 1, "b.c": 2}` -> `{"a": 1, "b": {"c": 2}}`."""
    groups: dict[str, dict[str, object]] = {}
    for path, value in paths.items():
        outer, dot, name = path.partition(".")
        if dot:
            groups.setdefault(outer, {})[name] = value
    return {path: value for path, value in paths.items() if "." not in path} | groups
