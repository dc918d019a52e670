"""List the contenders of the benchmark (`ROWS`). Each row is a proxy, its options, and the client's
dialect; `proxies.py` starts the proxies. Also: mitmdump's arguments with the addon and without.
"""

from dataclasses import dataclass
from pathlib import Path

from converter.addon.exchange.settings import OPTIONS
from tools.bench.replies import CALLED

BARE = "bare mitmdump"
"""The name of mitmdump without the addon, the contender with which all others are compared."""
BARE_ARGUMENTS = ("-s", str(Path(__file__).with_name("identity.py")))
"""The arguments of the bare mitmdump: an addon that only streams each reply."""
WORKERS_PREFIX = "workers:"
"""If a contender's first argument is `workers:N`, N worker processes are started in place of one
mitmdump, as by `think-addon --workers N`. Workers use uvloop if it is installed.
"""
BURSTS = ("burst, 1 ", "burst, 32")
"""Names of loads whose replies come at once, or the beginnings of such names."""
STREAMS = (*BURSTS, "paced")
"""Names of loads with streams, or the beginnings of such names. Contenders whose replies are of
another kind than `tags` are measured under such loads only.
"""
FOLDER, SOURCE = "{folder}", "{source}"
"""Placeholders in a row's arguments: for the folder of the proxy's own files (recordings, stores),
and for the folder of the addon's sources.
"""
ADDON_ARGUMENTS = ("-s", f"{SOURCE}/think_addon.py")
"""The arguments of mitmdump with the addon."""


@dataclass(frozen=True)
class Contender:
    """A proxy with its options, or no proxy, between the server and a client of one dialect."""

    name: str
    """The name in the tables."""
    dialect: str = "openai"
    """The dialect of the client."""
    kind: str = "tags"
    """The kind of the replies: a key of `KINDS` in replies.py. A load may name another kind."""
    arguments: tuple[str, ...] | None = ADDON_ARGUMENTS
    """The arguments of mitmdump, or of the addon's workers if the first one is `workers:N`; or only
    the name of another project's proxy. `None` for no proxy.
    """
    apart: bool = True
    """True if thinking must come in fields or blocks of its own; False: it may stand in the text,
    between tags.
    """
    needs: str = ""
    """An option of the addon, without `think_`. A version that lacks it is not measured in this
    row. Empty if the row needs none.
    """
    loads: tuple[str, ...] = ()
    """The loads under which it is measured: their names or the beginnings of them. Empty: all."""
    model: str = "%s"
    """The model that requests name; `%s` stands for the name of the requested reply."""
    tools: bool = False
    """True if requests offer a tool, so that the addon looks for calls in the text."""

    def takes(self, load: str) -> bool:
        """Return True if the contender is measured under the load of this name."""
        return not self.loads or load.startswith(self.loads)


def _with_option(
    name: str,
    option: str,
    value: str,
    *,
    kind: str = "tags",
    dialect: str = "openai",
    needs: str = "",
) -> Contender:
    """Return the contender that is mitmdump with the addon, one option of which is set.

    `needs`: an option. Versions of the addon that lack it are not measured in this row. By default
    it is `option`.
    """
    needs = needs or option.removeprefix("think_")
    return Contender(
        name,
        dialect,
        kind,
        (*ADDON_ARGUMENTS, "--set", f"{option}={value}"),
        needs=needs,
        loads=(*STREAMS, "memory"),
    )


ROWS = (
    Contender(BARE, arguments=BARE_ARGUMENTS, apart=False),
    Contender("no proxy", arguments=None, apart=False),
    Contender("addon, OpenAI client, tags"),
    Contender("addon, Anthropic client, tags", "anthropic"),
    Contender("addon, Responses client, tags", "responses"),
    Contender("addon, Ollama client, tags", "ollama"),
    Contender("addon, OpenAI client, native field", kind="native", loads=STREAMS),
    Contender("addon, Anthropic client, native field", "anthropic", "native", loads=STREAMS),
    Contender("addon, OpenAI client, no thinking", kind="plain", loads=STREAMS),
    Contender("addon, OpenAI client, tools offered", tools=True),
    Contender("addon, Anthropic client, tools offered", "anthropic", tools=True),
    Contender("addon, OpenAI client, calls in text", kind="call", tools=True, loads=BURSTS),
    Contender(
        "addon, Anthropic client, calls in text", "anthropic", "call", tools=True, loads=BURSTS
    ),
    Contender("addon, OpenAI client, a server's calls", kind=CALLED, tools=True, loads=BURSTS),
    Contender(
        "addon, Anthropic client, a server's calls", "anthropic", CALLED, tools=True, loads=BURSTS
    ),
    Contender(
        "addon, OpenAI client, one worker",
        arguments=(f"{WORKERS_PREFIX}1", *ADDON_ARGUMENTS),
        loads=(*STREAMS, "whole", "memory"),
    ),
    _with_option("addon, OpenAI client, recordings on", "think_record", f"{FOLDER}/recordings"),
)
"""All contenders, also those whose options this version of the addon lacks."""


def rows() -> list[Contender]:
    """Return the contenders whose options this version of the addon has."""
    names = {option.name for option in OPTIONS}
    return [row for row in ROWS if not row.needs or row.needs in names]
