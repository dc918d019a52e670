"""Offered tools that a model gets only once a search has found them (`defer_loading: true`).

Claude Code 2.1.332 sends a dozen such tools, beside a search of its own, whose result names the
tools it found. Claude Code sorts these tools among the others by name: in that order each of them
would change the prompt near its head, and a server would read the whole prompt again. So such a
tool stands behind all others, in the order of the results, and the prompt's head stays.
"""

from collections.abc import Iterable, Iterator

from converter.core.wire.checked import Fields
from converter.core.wire.json_text import objects

_SERVER_SEARCH = "tool_search_tool_"
"""The beginning of the type of a search that Anthropic's servers run. No local server runs one, so
that a deferred tool beside it could never be found.
"""


def order_of_finds(request: Fields, tools: Iterable[Fields]) -> dict[str, int] | None:
    """Return the names of the tools that results name, each with its position in their order;
    `None`: no tool is deferred, because no search can run.
    """
    kinds = (tool.optional("type", str) or "" for tool in tools)
    if any(kind.startswith(_SERVER_SEARCH) for kind in kinds):
        return None
    names = dict.fromkeys(_references(request.values.get("messages")))
    choice = request.values.get("tool_choice")
    if isinstance(choice, dict) and isinstance(choice.get("name"), str):
        names.setdefault(choice["name"])
    return {name: position for position, name in enumerate(names)}


def _references(value: object) -> Iterator[str]:
    """Yield the names that results refer to: a reference stands in a result of a turn."""
    for turn in objects(value):
        for block in objects(turn.get("content")):
            for inner in objects(block.get("content")):
                name = inner.get("tool_name")
                if inner.get("type") == "tool_reference" and isinstance(name, str):
                    yield name
