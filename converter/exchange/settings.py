"""The options of the addon, one row each, and the settings that are read from them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from converter.dialects.reasoning_fields import Mapped, read_map
from converter.dialects.table import DIALECTS
from converter.exchange.option_readers import (
    FIELDS,
    FOLDED,
    LIMITS,
    STARTS,
    MemoryLimits,
    MetricsPlace,
    Ping,
    names,
    one_of,
    read_collector,
    read_days,
    read_fields,
    read_folder,
    read_limits,
    read_memory,
    read_metrics,
    read_path,
    read_ping,
    read_server,
    read_start,
    read_tokens,
)
from converter.model.initial_state import InitialState
from converter.parsing.tag_matcher import AUTO, choose
from converter.parsing.think_tags import ThinkTags
from converter.servers.chat_templates import HistoryPlace, Place, history_of
from converter.servers.model_names import Rows, read_rows
from converter.servers.profiles import SERVERS, Order, Server

_NATIVE = tuple(
    dialect.requests.native_option for dialect in DIALECTS if dialect.requests.native_option
)
_ORDERS = get_args(Order.__value__)
_HISTORY = (AUTO, *get_args(Place.__value__), *_ORDERS)
UNKNOWN = HistoryPlace("tags")
"""What a model gets that has no row: its thoughts as it most likely wrote them."""
DEFAULT_SIGNATURE = "think-addon"
"""Clients drop unsigned thinking; this signature nobody mistakes for a real one."""
ENOUGH = "I have thought enough about this, so I answer now."
"""In the first person, because the model says it."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, `think_NAME`. `type` and `default` are as mitmproxy keeps it; `read` makes of the
    written value the one that the machines take, or raises ValueError.
    """

    name: str
    type: Any
    default: object
    meaning: str
    read: Callable[[object], object]
    choices: tuple[str, ...] = ()


def _choice(name: str, choices: tuple[str, ...], meaning: str) -> Option:
    """Return an option that is one of these names; the first is the default."""
    return Option(name, str, choices[0], meaning, one_of(choices), choices)


def _read_native(written: object) -> frozenset[str]:
    chosen = names(written)
    for name in chosen:
        one_of(_NATIVE)(name)
    return frozenset(chosen)


@dataclass(frozen=True, slots=True)
class WrittenHistory:
    """The way in which earlier turns are written: where their thoughts go, and where tool results
    stand among the text of a user turn. No place: as the model's row says.
    """

    thoughts: Place | None
    order: Order

    def read_by(self, model: str, server: Server | None) -> HistoryPlace:
        """Return the form of earlier thoughts for the model, on this server, if it is known."""
        known = history_of(model) or UNKNOWN
        named = server.history if server and known.place == "reasoning_content" else known.place
        switches = known.switches if server is None or server.on else {}
        return HistoryPlace(self.thoughts or named, known.loop, switches, known.exact)

    def is_wanted(self, model: str) -> bool:
        """Tell whether the model wants its thoughts back: by its row, or by the user's word."""
        known = history_of(model)
        places = {self.thoughts or (known and known.place), known.place if known else None}
        return bool(places - {None}) and "drop" not in places


def _read_history(written: object) -> WrittenHistory:
    chosen = [one_of(_HISTORY)(name) for name in names(written)]
    thoughts = [name for name in chosen if name not in _ORDERS] or [AUTO]
    if len(thoughts) > 1:
        raise ValueError(f"expected one place for thoughts, got {', '.join(thoughts)}")
    orders = [name for name in chosen if name in _ORDERS] or ["as-written"]
    place = None if thoughts[0] == AUTO else cast(Place, thoughts[0])
    return WrittenHistory(place, cast(Order, orders[-1]))


OPTIONS = (
    Option(
        "tags",
        Sequence[str],
        [AUTO],
        "marks around thinking",
        lambda written: choose(names(written)),
    ),
    Option("start", str, AUTO, "whether a reply starts inside a thought", read_start, STARTS),
    Option("attributes", bool, True, 'read attribute forms, <thinking thought="..."/>', bool),
    Option(
        "fields",
        Sequence[str],
        [FIELDS[0]],
        "names that OpenAI clients get",
        read_fields,
        (*FIELDS, FOLDED),
    ),
    Option("signature", str, DEFAULT_SIGNATURE, "signature of thinking blocks", str),
    Option(
        "map",
        Sequence[str],
        [],
        "fields of the server's own: FIELD=BLOCK:KEY",
        lambda written: read_map(names(written)),
    ),
    Option(
        "models",
        Sequence[str],
        [],
        "names that clients have for models: PATTERN=NAME",
        lambda written: read_rows(names(written)),
    ),
    Option("variants", bool, False, "list NAME-nothink, -low, -high and -max as well", bool),
    Option("markers", bool, False, "read phrases as thinking (a heuristic)", bool),
    _choice("prompt", ("off", "tags"), "ask a model to think that does not by itself"),
    _choice(
        "tools",
        ("auto", "off", "told"),
        "read tool calls from text; told: also tell tools in the system turn",
    ),
    _choice("budget", ("server", "proxy", "enforce"), "who keeps the client's budget of thinking"),
    Option(
        "budget_tokens", str, "", "the budget of a request that names none, enforced", read_tokens
    ),
    _choice("loops", ("tell", "end", "off"), "what is done about a thought that repeats itself"),
    Option("enough", str, ENOUGH, "the words that close a thought which was ended", str),
    _choice("unasked", ("show", "hide"), "what a client gets that did not ask for thinking"),
    _choice("blanks", ("keep", "trim"), "blanks around thoughts"),
    Option("events", str, "", "file that gets a JSON line for each thought", read_path),
    Option(
        "record", str, "", "folder that keeps each rewritten exchange as a recording", read_folder
    ),
    Option("print", bool, False, "print thinking and answers in the terminal, as they come", bool),
    Option("metrics", str, "", "port, address or file for Prometheus", read_metrics),
    Option("traces", str, "", "URL of an OpenTelemetry collector", read_collector),
    Option("traces_words", bool, False, "send the words of replies there too", bool),
    Option(
        "native",
        Sequence[str],
        [],
        "dialects of which the server's own endpoints are asked, their replies mended",
        _read_native,
        _NATIVE,
    ),
    Option(
        "limits",
        Sequence[str],
        [],
        "limits of what is taken and kept: NAME=NUMBER",
        lambda written: read_limits(names(written)),
        tuple(f"{name}={number}" for name, number in LIMITS.items()),
    ),
    Option(
        "memory",
        str,
        AUTO,
        "where replies are kept that clients refer to: memory:, sqlite:PATH, redis://...",
        read_memory,
    ),
    Option(
        "memory_days", int, 30, "days after which a kept reply goes that nobody uses", read_days
    ),
    Option("memory_key", str, "", "file with the key that seals what is kept elsewhere", read_path),
    Option(
        "server",
        str,
        AUTO,
        "what the server is; auto asks it, once",
        read_server,
        (AUTO, *sorted(row.name for row in SERVERS)),
    ),
    Option(
        "history",
        Sequence[str],
        [AUTO],
        "where earlier thoughts go in a translated request, and tool results in a user turn",
        _read_history,
        _HISTORY,
    ),
    _choice("restore", ("auto", "off"), "put back earlier thoughts that a client has dropped"),
    _choice("pictures", ("text", "refuse"), "what a model gets of pictures that it cannot see"),
    Option("flows", str, "", "mitmproxy filter: which flows to act on", str),
    Option(
        "ping",
        str,
        "10",
        "seconds of silence before a streaming client is pinged; 0: never; SECONDS,early",
        read_ping,
    ),
    Option(
        "hosts",
        Sequence[str],
        [],
        "names of web pages that may use the proxy; *: all",
        lambda written: tuple(name.lower() for name in names(written)),
    ),
)
"""Sequences say what is allowed in `choices` as well; mitmproxy knows choices of single values
only.
"""
NOT_RECORDED = (
    "models",
    "variants",
    "pictures",
    "events",
    "record",
    "print",
    "metrics",
    "traces",
    "traces_words",
    "flows",
    "ping",
    "hosts",
    "limits",
    "memory",
    "memory_days",
    "memory_key",
)
"""They say where to look and where to write, not how a reply is rewritten; paths and hosts have no
place in a recording.
"""
RECORDED = tuple(option.name for option in OPTIONS if option.name not in NOT_RECORDED)
"""The options that decide how a reply is rewritten."""


REPLACED = {
    "tools_prompt": "write think_tools=told for think_tools_prompt=on",
    **{name: f"write think_native={name} for think_{name}=native" for name in _NATIVE},
    "memory_replies": "write think_limits=replies=NUMBER",
    "memory_megabytes": "write think_limits=replies_mb=NUMBER",
    "keep": "write think_limits=flows=NUMBER and think_limits=flows_mb=NUMBER",
    "max_request": "write think_limits=request_mb=NUMBER",
    "order": "write think_history=tools-first",
    "early_start": "write think_ping=10,early",
    "fast": "THINK_FAST=false in the environment has every frame parsed",
    "stats": "think_metrics counts all replies, and the page /think shows the last hour's",
}
"""Names that options had once, and what to use in their place."""


def renamed(written: Mapping[str, object]) -> dict[str, object]:
    """Return options by the names of today; recordings hold those of their own time."""
    options = {name: value for name, value in written.items() if name not in REPLACED}
    if written.get("tools_prompt") == "on":
        options["tools"] = "told"
    if native := [name for name in _NATIVE if written.get(name) == "native"]:
        options["native"] = native
    if isinstance(thoughts := options.get("history"), str):
        options["history"] = [thoughts]
    if written.get("order") == "tools-first":
        options["history"] = [*names(options.get("history")), "tools-first"]
    return options


@dataclass(frozen=True, slots=True)
class Settings:
    """The options as the machines take them: a field for each row. `fast`: rewrite frames of a
    known shape without parsing them; tests set `THINK_FAST=false` in the environment.
    """

    tags: tuple[ThinkTags, ...]
    start: InitialState
    attributes: bool
    fields: tuple[str, ...]
    signature: str
    map: Mapping[str, Mapped]
    models: Rows
    variants: bool
    markers: bool
    prompt: str
    tools: str
    budget: str
    budget_tokens: int | None
    loops: str
    enough: str
    unasked: str
    blanks: str
    events: str
    record: str
    print: bool
    metrics: MetricsPlace | None
    traces: str
    traces_words: bool
    native: frozenset[str]
    limits: MemoryLimits
    memory: str
    memory_days: int
    memory_key: str
    server: Server | None
    history: WrittenHistory
    restore: str
    pictures: str
    flows: str
    ping: Ping
    hosts: tuple[str, ...]
    fast: bool = True


def read(written: Mapping[str, object] | None = None) -> Settings:
    """Return the settings; what `written` lacks is the default. Raises ValueError, beginning with
    the option's name.
    """
    given = renamed(written or {})
    values = {
        option.name: _read_one(option, given.get(option.name, option.default)) for option in OPTIONS
    }
    # Each row reads a value of its own type, which mypy cannot see.
    fast = os.environ.get("THINK_FAST") != "false"
    return Settings(**values, fast=fast)  # type: ignore[arg-type]


def _read_one(option: Option, written: object) -> object:
    try:
        return option.read(written)
    except (ValueError, RuntimeError) as error:  # the home of a user who is not there
        raise ValueError(f"think_{option.name}: {error}") from None
