"""What a user may choose: one row per option of the addon, and the settings read from them.

A row's `read` turns what the user wrote into what the machines take, or raises ValueError saying
what is allowed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from converter.dialects.reasoning_fields import Mapped, read_map
from converter.initial_state import InitialState
from converter.parsing.tag_matcher import AUTO, ThinkTags, choose
from converter.servers.model_names import Rows, read_rows
from converter.servers.profiles import SERVERS, History, Order, Server, by_name

FIELDS = ("reasoning_content", "reasoning")
HISTORIES: tuple[str, ...] = get_args(History.__value__)
ORDERS: tuple[str, ...] = get_args(Order.__value__)
_STARTS = tuple(
    state.value for state in (InitialState.AUTO, InitialState.TEXT, InitialState.THINKING)
)
_PROMPTS = ("off", "tags")
_TOOLS = ("auto", "off")
_TOOLS_PROMPTS = ("off", "on")
_UNASKED = ("show", "hide")
_BLANKS = ("keep", "trim")
_BUDGETS = ("server", "proxy")
_ENDPOINTS = ("translate", "native")
DEFAULT_SIGNATURE = "think-addon"
"""Clients drop unsigned thinking; this signature nobody mistakes for a real one."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, `think_NAME`. `type` and `default` are as mitmproxy keeps it."""

    name: str
    type: Any
    default: object
    meaning: str
    read: Callable[[object], object]
    choices: tuple[str, ...] = ()


def _names(written: object) -> list[str]:
    return [str(name) for name in written] if isinstance(written, Sequence) else []


def _read_fields(written: object) -> tuple[str, ...]:
    fields = tuple(dict.fromkeys(_names(written)))
    if not fields or not set(fields) <= set(FIELDS):
        raise ValueError(
            f"expected one or both of: {', '.join(FIELDS)}; got {', '.join(fields) or 'nothing'}"
        )
    return fields


def _one_of(allowed: Sequence[str]) -> Callable[[object], str]:
    def read(written: object) -> str:
        if written not in allowed:
            raise ValueError(f"expected one of: {', '.join(allowed)}; got {written!r}")
        return str(written)

    return read


def _read_start(written: object) -> InitialState:
    return InitialState(_one_of(_STARTS)(written))


def _read_path(written: object) -> str:
    path = Path(str(written)).expanduser()
    if str(written) and not (path.parent.is_dir() and not path.is_dir()):
        raise ValueError(f"expected a file in an existing folder, got {str(written)!r}")
    return str(path) if str(written) else ""


def _read_folder(written: object) -> str:
    path = Path(str(written)).expanduser()
    if str(written) and not (path.is_dir() or (path.parent.is_dir() and not path.exists())):
        raise ValueError(
            f"expected a folder, or a new one in an existing folder, got {str(written)!r}"
        )
    return str(path) if str(written) else ""


def _read_seconds(written: object) -> int:
    if type(written) is not int or written < 0:
        raise ValueError(f"{written!r} is no number of seconds, 0 or more")
    return written


def _read_count(written: object) -> int:
    if type(written) is not int or written < 0:
        raise ValueError(f"expected a whole number from 0, got {written!r}")
    return written


@dataclass(frozen=True, slots=True)
class MetricsPlace:
    """Where metrics can be read: an address to listen at, or a file."""

    host: str = ""
    port: int = 0
    file: str = ""


def _read_metrics(written: object) -> MetricsPlace | None:
    host, _, port = str(written).rpartition(":")
    if port.isascii() and port.isdecimal():
        if not 1 <= int(port) <= 65535:
            raise ValueError(f"expected a port from 1 to 65535, got {port}")
        return MetricsPlace(host.strip("[]") or "127.0.0.1", int(port))
    return MetricsPlace(file=_read_path(written)) if str(written) else None


def _read_server(written: object) -> Server | None:
    return None if written == AUTO else by_name(str(written))


OPTIONS = (
    Option(
        "tags",
        Sequence[str],
        [AUTO],
        "marks around thinking",
        lambda written: choose(_names(written)),
    ),
    Option("start", str, AUTO, "whether a reply starts inside a thought", _read_start, _STARTS),
    Option("attributes", bool, True, 'read attribute forms, <thinking thought="..."/>', bool),
    Option(
        "fields", Sequence[str], [FIELDS[0]], "names that OpenAI clients get", _read_fields, FIELDS
    ),
    Option("signature", str, DEFAULT_SIGNATURE, "signature of thinking blocks", str),
    Option(
        "map",
        Sequence[str],
        [],
        "fields of the server's own: FIELD=BLOCK:KEY",
        lambda written: read_map(_names(written)),
    ),
    Option(
        "models",
        Sequence[str],
        [],
        "names that clients have for models: PATTERN=NAME",
        lambda written: read_rows(_names(written)),
    ),
    Option("markers", bool, False, "read phrases as thinking (a heuristic)", bool),
    Option(
        "prompt",
        str,
        _PROMPTS[0],
        "ask a model to think that does not by itself",
        _one_of(_PROMPTS),
        _PROMPTS,
    ),
    Option(
        "tools",
        str,
        _TOOLS[0],
        "read tool calls that a model writes into its text",
        _one_of(_TOOLS),
        _TOOLS,
    ),
    Option(
        "tools_prompt",
        str,
        _TOOLS_PROMPTS[0],
        "tell tools in the system turn, for servers that know none",
        _one_of(_TOOLS_PROMPTS),
        _TOOLS_PROMPTS,
    ),
    Option(
        "budget",
        str,
        _BUDGETS[0],
        "who keeps the client's budget of thinking",
        _one_of(_BUDGETS),
        _BUDGETS,
    ),
    Option(
        "unasked",
        str,
        _UNASKED[0],
        "what a client gets that did not ask for thinking",
        _one_of(_UNASKED),
        _UNASKED,
    ),
    Option("blanks", str, _BLANKS[0], "blanks around thoughts", _one_of(_BLANKS), _BLANKS),
    Option("events", str, "", "file that gets a JSON line for each thought", _read_path),
    Option(
        "record", str, "", "folder that keeps each rewritten exchange as a recording", _read_folder
    ),
    Option("print", bool, False, "print thinking and answers in the terminal, as they come", bool),
    Option("metrics", str, "", "port, address or file for Prometheus", _read_metrics),
    Option("stats", bool, False, "print a table of all replies when mitmproxy ends", bool),
    Option(
        "messages",
        str,
        _ENDPOINTS[0],
        "translate Messages requests, or mend a server's own replies",
        _one_of(_ENDPOINTS),
        _ENDPOINTS,
    ),
    Option(
        "responses",
        str,
        _ENDPOINTS[0],
        "translate Responses requests, or mend a server's own replies",
        _one_of(_ENDPOINTS),
        _ENDPOINTS,
    ),
    Option(
        "memory_replies", int, 500, "replies kept for previous_response_id; 0: none", _read_count
    ),
    Option("memory_megabytes", int, 32, "megabytes of replies kept, at most", _read_count),
    Option(
        "server",
        str,
        AUTO,
        "what the server is; auto asks it, once",
        _read_server,
        (AUTO, *sorted(row.name for row in SERVERS)),
    ),
    Option(
        "history",
        str,
        HISTORIES[0],
        "where earlier thoughts go in a translated request",
        _one_of(HISTORIES),
        HISTORIES,
    ),
    Option(
        "order",
        str,
        ORDERS[0],
        "tool results among the text of a user turn",
        _one_of(ORDERS),
        ORDERS,
    ),
    Option("fast", bool, True, "rewrite frames of a known shape without parsing them", bool),
    Option("flows", str, "", "mitmproxy filter: which flows to act on", str),
    Option(
        "ping",
        int,
        10,
        "seconds of silence before a streaming client is pinged; 0: never",
        _read_seconds,
    ),
    Option("early_start", bool, False, "begin a stream while the server holds its head back", bool),
    Option(
        "hosts",
        Sequence[str],
        [],
        "names of web pages that may use the proxy; *: all",
        lambda written: tuple(name.lower() for name in _names(written)),
    ),
)
"""Sequences say what is allowed in `choices` as well; mitmproxy knows choices of single values
only.
"""
NOT_RECORDED = (
    "models",
    "events",
    "record",
    "print",
    "metrics",
    "stats",
    "fast",
    "flows",
    "ping",
    "early_start",
    "hosts",
    "memory_replies",
    "memory_megabytes",
)
"""They say where to look and where to write, not how a reply is rewritten; paths and hosts have no
place in a recording.
"""
RECORDED = tuple(option.name for option in OPTIONS if option.name not in NOT_RECORDED)
"""The options that decide how a reply is rewritten."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options say, read: a field for each row."""

    tags: tuple[ThinkTags, ...]
    start: InitialState
    attributes: bool
    fields: tuple[str, ...]
    signature: str
    map: Mapping[str, Mapped]
    models: Rows
    markers: bool
    prompt: str
    tools: str
    tools_prompt: str
    budget: str
    unasked: str
    blanks: str
    events: str
    record: str
    print: bool
    metrics: MetricsPlace | None
    stats: bool
    messages: str
    responses: str
    memory_replies: int
    memory_megabytes: int
    server: Server | None
    history: History
    order: Order
    fast: bool
    flows: str
    ping: int
    early_start: bool
    hosts: tuple[str, ...]


def read(written: Mapping[str, object] | None = None) -> Settings:
    """Return the settings; what `written` lacks is the default. Raises ValueError, beginning with
    the option's name.
    """
    values = {
        option.name: _read_one(option, (written or {}).get(option.name, option.default))
        for option in OPTIONS
    }
    return Settings(**values)  # type: ignore[arg-type]  # each row reads its own type


def _read_one(option: Option, written: object) -> object:
    try:
        return option.read(written)
    except ValueError as error:
        raise ValueError(f"think_{option.name}: {error}") from None
