"""`Settings`, the options of the addon, one field each with its default, help text, choices and
reader (`OPTIONS` lists these rows). `read` makes `Settings` from what a user wrote; most readers
are in `option_readers.py`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, cast, get_args

from converter.addon.exchange import option_readers as reader
from converter.addon.exchange.option_readers import FOLDED, read_one_of
from converter.addon.servers.chat_templates import HistoryOptions
from converter.addon.servers.model_names import ModelRows, read_rows
from converter.addon.servers.profiles import SERVERS, Server
from converter.core.dialects.reasoning_fields import read_map
from converter.core.dialects.request_settings import HistoryForm, Order
from converter.core.dialects.signs_of_life import FORMS
from converter.core.dialects.table import DIALECTS
from converter.core.dialects.wire_form import Mapped
from converter.core.model.initial_state import InitialState
from converter.core.reading.family_choice import AUTO, choose
from converter.core.reading.thought_row import ThoughtRow

PREFIX = "think_"
"""Prefix of the options' names in mitmproxy."""
_NATIVE_OPTIONS = tuple(
    dialect.requests.native_option for dialect in DIALECTS if dialect.requests.native_option
)
"""The values of `think_native`, which name dialects."""
_RESULT_ORDERS = get_args(Order.__value__)
"""The values of `think_history` that say where tool results stand in a user's message."""
_HISTORY_VALUES = (AUTO, *get_args(HistoryForm.__value__), *_RESULT_ORDERS)
"""All values of `think_history`."""
DEFAULT_SIGNATURE = "think-addon"
"""The signature of thinking blocks in the Messages API. Clients drop thinking without a signature.
This text cannot be mistaken for a signature of Anthropic's.
"""
ENOUGH = "I have thought enough about this, so I answer now."
"""The text at the end of a thought that the addon ends. It is in the first person, because it
becomes part of the model's own thought.
"""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, `think_NAME`."""

    name: str
    """The name without the prefix."""
    default: object
    """The default in the form that a user would write."""
    help_text: str
    """The text about the option in lists of options, such as that of `--help`."""
    read: Callable[[Any], object]
    """Turns the written value into the value of `Settings`, or raises ValueError."""
    choices: tuple[str, ...] = ()
    """The values that are allowed; empty for any."""
    recorded: bool = True
    """True if recordings store the option, because it changes how a reply is rewritten."""

    @property
    def type(self) -> Any:
        """The type with which the option is registered in mitmproxy."""
        return Sequence[str] if isinstance(self.default, list) else type(self.default)


def _option(
    default: object,
    meaning: str,
    read: Callable[[Any], object] | None = None,
    choices: tuple[str, ...] = (),
    recorded: bool = True,
) -> Any:
    """Return a field of the dataclass `Settings` for an option. `meaning`: its `help_text`. `read`:
    turns the value that the user wrote into the value of `Settings`; `None`: both are the same. The
    other arguments are fields of `Option`.
    """
    row = Option("", default, meaning, read or type(default), choices, recorded)
    return field(metadata={"option": row})


def _choice(choices: tuple[str, ...], meaning: str, recorded: bool = True) -> Any:
    """Return a field of the dataclass `Settings` for an option whose value is one of `choices`, by
    default the first. `meaning` and `recorded` as in `_option`.
    """
    return _option(choices[0], meaning, read_one_of(choices), choices, recorded)


_unrecorded = partial(_option, recorded=False)
"""Returns a field of `Settings`, as `_option` does, for an option that recordings do not store,
because it does not change how a reply is rewritten. Most such options hold a path or an address,
which must not get into a recording.
"""


def _read_history(written: Sequence[str]) -> HistoryOptions:
    """Return the value of the option `think_history`. `written` may have one form of earlier
    thoughts (`tags`: in tags in the text), and orders of tool results (`tools-first`: before the
    text of their user turn), of which the last counts. Raises ValueError for two forms, or for any
    other value.
    """
    chosen = [read_one_of(_HISTORY_VALUES)(name) for name in written]
    thoughts = [name for name in chosen if name not in _RESULT_ORDERS] or [AUTO]
    if len(thoughts) > 1:
        raise ValueError(f"expected one place for thoughts, got {', '.join(thoughts)}")
    orders = [name for name in chosen if name in _RESULT_ORDERS] or ["as-written"]
    field_name = None if thoughts[0] == AUTO else cast(HistoryForm, thoughts[0])
    return HistoryOptions(field_name, cast(Order, orders[-1]))


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of all options, a field for each option.

    mitmproxy itself refuses a value that is not among an option's `choices`. It does not do so for
    an option with a list of values, so the option's reader (`Option.read`) does.
    """

    tags: tuple[ThoughtRow, ...] = _option([AUTO], "marks around thinking", choose)
    """The rows of marks that enclose thinking in a reply's text."""
    start: InitialState = _option(
        AUTO, "whether a reply starts inside a thought", reader.read_start, reader.START_VALUES
    )
    """The initial state of every reply; `AUTO`: the addon finds out the state of each reply."""
    attributes: bool = _option(True, 'read attribute forms, <thinking thought="..."/>')
    """True if a tag with its thought in an attribute, `<thinking thought="..."/>`, is read as
    thinking.
    """
    fields: tuple[str, ...] = _option(
        [reader.THINKING_FIELDS[0]],
        "names that OpenAI clients get",
        reader.read_fields,
        (*reader.THINKING_FIELDS, FOLDED),
    )
    """The fields in which a client of chat completions gets thinking. `FOLDED` alone: the client
    gets it in the text, as a block that web clients fold.
    """
    signature: str = _option(DEFAULT_SIGNATURE, "signature of thinking blocks")
    """The signature that each thinking block has for a client of the Messages API."""
    map: Mapping[str, Mapped] = _option([], "fields of the server's own: FIELD=BLOCK:KEY", read_map)
    """Name of a server's own field in its replies -> the block, and the key in it, that gives a
    client of the Messages API the field's value.
    """
    models: ModelRows = _unrecorded(
        [], "names that clients have for models: PATTERN=NAME", read_rows
    )
    """The rows that translate a client's name for a model into the server's name."""
    variants: bool = _unrecorded(False, "list NAME-nothink, -low, -high and -max as well")
    """True if lists of models also have a name for each effort of a model, such as `NAME-low`."""
    markers: bool = _option(False, "read phrases as thinking (a heuristic)")
    """True if phrases such as "let me think" begin a thought, for models that write no marks."""
    prompt: str = _choice(("off", "tags"), "ask a model to think that does not by itself")
    """`tags`: if the client requests thinking, a model that does not think by itself is asked to
    think in tags; `off`: no model is asked to think.
    """
    tools: str = _choice(
        ("auto", "off", "told"),
        "read tool calls from text; told: also write the tools into the system turn",
    )
    """`auto`: tool calls in a reply's text are read as calls; `told`: so they are, and the system
    turn of the request also describes the tools; `off`: tool calls in the text stay text.
    """
    values: str = _choice(
        ("schema", "sent"), "the types of the values of calls: those of the tools' schemas"
    )
    """`schema`: the values in a call's arguments get the types of the tool's schema (`"7"` -> `7`);
    `sent`: they stay as they came.
    """
    budget: str = _choice(("server", "enforce"), "who keeps the client's budget of thinking")
    """`enforce`: the addon ends a thought at its budget; `server`: only the server may do so."""
    budget_tokens: int | None = _option(
        "", "the budget of a request that names none, enforced", reader.read_tokens
    )
    """The budget of a request that sets none, if `budget` is `enforce`; `None`: no budget."""
    loops: str = _choice(("tell", "end", "off"), "what is done about a thought that repeats itself")
    """What the addon does about a thought that repeats itself: `tell` logs it, `end` ends it, `off`
    does not look for it.
    """
    enough: str = _option(ENOUGH, "the words that close a thought which was ended")
    """The sentence that the addon writes at the end of a thought that it ends."""
    unanswered: str = _choice(
        ("tell", "ask", "show"), "what becomes of a reply that is a thought and no answer"
    )
    """What the addon does about a reply with a thought and no answer: `tell` logs it, `ask` also
    asks the server to go on with the answer, `show` also sends the thought as the answer.
    """
    stops: str = _choice(
        ("answer", "server"), "where stop strings act: on the answer alone, or as the server has it"
    )
    """`answer`: a stop string ends only the answer, not the thought before it; `server`: the server
    decides.
    """
    unasked: str = _choice(("show", "hide"), "what a client gets that did not ask for thinking")
    """`hide`: a client that does not request thinking gets none; `show`: it gets thinking too."""
    blanks: str = _choice(("keep", "trim"), "blanks around thoughts")
    """`trim`: no blank lines stand around thoughts; `keep`: they stay as they came."""
    events: str = _unrecorded("", "file that gets a JSON line for each thought", reader.read_path)
    """The path of the file or pipe that gets a JSON line for each thought; empty: none."""
    record: str = _unrecorded(
        "", "folder that keeps each rewritten exchange as a recording", reader.read_folder
    )
    """The path of the folder in which each rewritten exchange is kept as a recording; empty: none.
    """
    page: str = _unrecorded(
        "", "file that keeps exchanges for mitmweb's next start", reader.read_path
    )
    """The path of the file that keeps the exchanges of the page /think for mitmweb's next start;
    empty: none.
    """
    print: bool = _unrecorded(False, "print thinking and answers in the terminal, as they come")
    """True if thinking and answers are printed in the terminal while they come."""
    metrics: reader.MetricsTarget | None = _unrecorded(
        "", "port, address or file for Prometheus", reader.read_metrics
    )
    """The address at which Prometheus reads the counts of replies, or the file that gets the
    counts; `None`: neither.
    """
    traces: str = _unrecorded("", "URL of an OpenTelemetry collector", reader.read_collector)
    """The URL of the OpenTelemetry collector that gets a span for each reply; empty: none."""
    traces_words: bool = _unrecorded(False, "send the text of replies there too")
    """True if the spans that go to `traces` have the text of replies."""
    native: frozenset[str] = _option(
        [],
        "dialects that go to the server's own endpoint, with mended replies",
        lambda written: frozenset(map(read_one_of(_NATIVE_OPTIONS), written)),
        _NATIVE_OPTIONS,
    )
    """The dialects whose requests go to the server's own endpoint, not as chat completions."""
    limits: reader.MemoryLimits = _unrecorded(
        [],
        "limits of what is taken and kept: NAME=NUMBER",
        reader.read_limits,
        tuple(f"{name}={number}" for name, number in reader.LIMITS.items()),
    )
    """The limits of a request's size, and of kept exchanges and replies."""
    memory: str = _unrecorded(
        AUTO,
        "where replies are kept that clients refer to: memory:, sqlite:PATH, redis://...",
        reader.read_memory,
    )
    """The address of the store of kept replies, such as `sqlite:PATH`."""
    memory_days: int = _unrecorded(
        30, "days after which a kept reply goes that nobody uses", reader.read_days
    )
    """The days after which a kept reply that nobody has used is removed."""
    lessons: bool = _unrecorded(False, "keep lessons about servers for the next start")
    """True if lessons about servers are stored, so that the addon has them after its next start."""
    server: Server | None = _option(
        AUTO,
        "the kind of server; auto probes it once",
        reader.read_server,
        (AUTO, *sorted(row.name for row in SERVERS)),
    )
    """The profile of the server; `None`: probes recognise the server."""
    history: HistoryOptions = _option(
        [AUTO],
        "where earlier thoughts go in a translated request, and tool results in a user turn",
        _read_history,
        _HISTORY_VALUES,
    )
    """Where a request has earlier thoughts (in a field, in tags, or nowhere) if it is translated or
    if the addon puts thoughts back; and, in a translated request, whether tool results go before
    the text of their user turn.
    """
    restore: str = _choice(("auto", "off"), "put back earlier thoughts that a client has dropped")
    """`auto`: earlier thoughts that a client has dropped are put back; `off`: they are not."""
    pictures: str = _choice(
        ("text", "refuse"), "what a model gets of pictures that it cannot see", recorded=False
    )
    """`text`: a picture that the server has refused becomes a line of text; `refuse`: the client
    gets the server's error.
    """
    usage: str = _choice(
        ("ask", "off"), "whether a chat client's stream is requested with counts", recorded=False
    )
    """`ask`: if a client of chat completions does not request the counts of a stream's tokens, the
    addon does; `off`: it does not.
    """
    flows: str = _unrecorded("", "mitmproxy filter: which flows to act on")
    """mitmproxy's filter of the flows on which the addon acts; empty: no filter."""
    ping: reader.Ping = _unrecorded(
        "10",
        "seconds of silence before a streaming client is pinged; 0: never; SECONDS,early",
        reader.read_ping,
    )
    """When the client of a silent stream gets a ping."""
    alive: str = _choice(FORMS, "the sign of life in a chat client's silent stream", recorded=False)
    """The form of a ping for a client of chat completions: a `comment`, a `delta` without content,
    or `none`; `auto` chooses by the header `user-agent`.
    """
    hosts: tuple[str, ...] = _unrecorded(
        [],
        "names of web pages that may use the proxy; *: all",
        lambda hosts: tuple(name.lower() for name in hosts),
    )
    """The hosts whose web pages may use the proxy, beside local ones; `*`: all."""
    fast: bool = True
    """True if frames of a known shape are rewritten without being parsed. Tests set this to False
    by the environment variable `THINK_FAST=false`.
    """


OPTIONS: tuple[Option, ...] = tuple(
    replace(row.metadata["option"], name=row.name) for row in fields(Settings) if row.metadata
)
"""All options, in the order in which `Settings` has their fields."""
RECORDED = tuple(option.name for option in OPTIONS if option.recorded)
"""The names of the options that recordings store."""

REMOVED = {
    "memory_key": "keep the memory where only its user reads: a file, or Redis with a password",
    "budget=proxy": "think_budget=enforce ends the thought, think_unasked=hide hides it",
}
"""Removed option (`NAME`), or removed value of an option (`NAME=VALUE`) -> advice for the user."""


def is_addon_option(name: str) -> bool:
    """Return True if the name of an option on mitmproxy's command line is meant for the addon:
    `think_start`, or misspelt `think-start`.
    """
    return name.replace("-", "_").startswith(PREFIX)


def unknown_option_error(name: str) -> str:
    """Return the error message for a name, such as `think_strat`, that is no option of the addon.
    It suggests the option with the most similar name, or lists all options if none is similar. For
    a removed option it has the advice of `REMOVED`.
    """
    short, names = name[len(PREFIX) :].replace("-", "_"), [option.name for option in OPTIONS]
    close = get_close_matches(short, names, 1)
    all_of_them = ", ".join(PREFIX + each for each in names)
    hint = f"did you mean {PREFIX}{close[0]}?" if close else f"there are {all_of_them}"
    return f"no option {name}; {REMOVED.get(short, hint)}"


def read(written: Mapping[str, object] | None = None) -> Settings:
    """Return the settings. `written`: option's name without `think_` -> the value as a user writes
    it; an option that is missing has its default. Raises ValueError, whose message begins with the
    option's name.
    """
    values = dict[str, Any]()
    for option in OPTIONS:
        name, value = option.name, (written or {}).get(option.name, option.default)
        try:
            is_list = isinstance(option.default, list)
            values[name] = option.read(reader.as_list(value) if is_list else value)
        except (ValueError, RuntimeError) as error:
            # `Path.expanduser` raises RuntimeError if the `USER` in `~USER` does not exist.
            advice = REMOVED.get(f"{name}={value}")
            hint = f"; {advice}" if advice else ""
            raise ValueError(f"think_{name}: {error}{hint}") from None
    fast = os.environ.get("THINK_FAST") != "false"
    return Settings(**values, fast=fast)
