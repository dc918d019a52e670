"""The contenders between client and server: a row each."""

from dataclasses import dataclass
from pathlib import Path

from converter.addon.exchange.settings import OPTIONS
from tools.bench.replies import CALLED

BARE = "bare mitmdump"
IDENTITY = ("-s", str(Path(__file__).with_name("identity.py")))
WORKERS = "workers:"
"""Prefix of the first argument of a row of several workers, with uvloop if it is installed."""
BURSTS = ("burst, 1 ", "burst, 32")
STREAMS = (*BURSTS, "paced")
"""Loads in which the kind of reply makes a difference."""
FOLDER, SOURCE = "{folder}", "{source}"
"""Placeholders in arguments: the folder of the proxy's own files, and the folder of the addon."""
ADDON = ("-s", f"{SOURCE}/think_addon.py")


@dataclass(frozen=True)
class Contender:
    """One row of the table: a proxy, or no proxy, between a client of one dialect and the server."""

    name: str
    dialect: str = "openai"
    kind: str = "tags"  # of the replies, where the load does not choose
    arguments: tuple[str, ...] | None = ADDON  # of mitmdump or of a peer; None: no proxy
    apart: bool = True  # thinking must come apart from text
    needs: str = ""  # an option; a version of the addon without it has no such row
    loads: tuple[str, ...] = ()  # beginnings of the names of its loads; empty: all loads
    model: str = "%s"  # how the client must write the reply's name as its model
    tools: bool = False  # requests offer a tool, so that the addon reads calls in the text

    def takes(self, load: str) -> bool:
        """Return True if the contender takes part in a load."""
        return not self.loads or load.startswith(self.loads)


def _addon(
    name: str,
    option: str,
    value: str,
    *,
    kind: str = "tags",
    dialect: str = "openai",
    needs: str = "",
) -> Contender:
    needs = needs or option.removeprefix("think_")
    return Contender(
        name,
        dialect,
        kind,
        (*ADDON, "--set", f"{option}={value}"),
        needs=needs,
        loads=(*STREAMS, "memory"),
    )


ROWS = (
    Contender(BARE, arguments=IDENTITY, apart=False),
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
        arguments=(f"{WORKERS}1", *ADDON),
        loads=(*STREAMS, "whole", "memory"),
    ),
    _addon("addon, OpenAI client, recordings on", "think_record", f"{FOLDER}/recordings"),
)


def rows() -> list[Contender]:
    """Return the rows that this version of the addon can have."""
    names = {option.name for option in OPTIONS}
    return [row for row in ROWS if not row.needs or row.needs in names]
