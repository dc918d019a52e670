"""`order_of_finds` lists the deferred tools (`defer_loading: true`) that searches have found, in
the order of the finds. If the client itself runs these searches, the request reader offers such a
tool to the model only once it was found.

Claude Code 2.1.332 sends a dozen deferred tools, and a search tool of its own whose results name
the tools that were found. Claude Code sorts all tools by name. In that order each found tool would
change the prompt near its beginning, and the server would have to read the whole prompt again. So
found tools are put behind all others, in the order in which they were found: the prompt's beginning
stays the same, and the server's prompt cache stays valid.
"""

from collections.abc import Iterable

from converter.core.wire.checked import Fields
from converter.core.wire.json_text import objects

_SERVER_SEARCH = "tool_search_tool_"
"""Prefix of the types of search tools that Anthropic's servers run themselves. A local server runs
no such search: with such a search tool, a request's deferred tools would never be found.
"""


def order_of_finds(request: Fields, tools: Iterable[Fields]) -> list[str] | None:
    """Return the names of the tools that searches have found so far in the conversation, in the
    order in which they were found. A tool that `tool_choice` names counts as found, too: as the
    last one, unless a search has found it.

    Return None if the request relies on a search that only Anthropic's servers run. The caller then
    offers every deferred tool from the beginning. `tools` are the tools of the request.
    """
    kinds = (tool.optional("type", str) or "" for tool in tools)
    if any(kind.startswith(_SERVER_SEARCH) for kind in kinds):
        return None
    names = dict.fromkeys(
        name
        for turn in objects(request.values.get("messages"))
        for result in objects(turn.get("content"))
        for block in objects(result.get("content"))
        if block.get("type") == "tool_reference" and isinstance(name := block.get("tool_name"), str)
    )
    choice = request.values.get("tool_choice")
    if isinstance(choice, dict) and isinstance(choice.get("name"), str):
        names.setdefault(choice["name"])
    return list(names)
