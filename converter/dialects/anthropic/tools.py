"""The tools of a Messages request, and the choice among them."""

from collections.abc import Iterable

from converter.model.conversation import Tool, ToolChoice
from converter.wire.checked import Fields

CHOICES: dict[str, ToolChoice] = {
    "auto": ToolChoice("auto"),
    "any": ToolChoice("required"),
    "tool": ToolChoice("named"),
    "none": ToolChoice("none"),
}


def tools_of(request: Fields, notes: list[str]) -> tuple[Tool, ...]:
    """Return the tools that the client itself runs; others are left out with a note."""
    tools: dict[str, Tool] = {}
    left_out: list[str] = []
    for tool in request.children("tools"):
        kind = tool.optional("type", str) or "custom"
        name = tool.optional("name", str)
        if kind != "custom":
            left_out.append(kind)
        elif name in tools:
            raise request.error("tools", "Tool names must be unique.")
        else:
            read = _tool(tool)
            tools[read.name] = read
    if left_out:
        notes.append(
            f"tools left out: {', '.join(left_out)}: only Anthropic's models and servers know them"
        )
    return tuple(tools.values())


def _tool(tool: Fields) -> Tool:
    name = tool.required("name", str)
    description = tool.optional("description", str) or ""
    return Tool(
        name,
        tool.required("input_schema", dict),
        description,
        tool.optional("strict", bool) or False,
    )


def choice_of(request: Fields, tools: Iterable[Tool], notes: list[str]) -> ToolChoice | None:
    """Return the choice among the tools, if the client makes one."""
    asked = request.child("tool_choice")
    if asked is None:
        return None
    choice = asked.row("type", CHOICES)
    if choice.mode != "named":
        return choice
    name = asked.required("name", str)
    if name in {tool.name for tool in tools}:
        return ToolChoice("named", name)
    if name not in {tool.values.get("name") for tool in request.children("tools")}:
        raise asked.error("name", f"Tool '{name}' not found in provided tools")
    notes.append(f"tool_choice {name!r} left out: the model chooses")
    return ToolChoice("auto")


def parallel(request: Fields) -> bool:
    """Tell whether a reply may call several tools at once."""
    asked = request.child("tool_choice")
    return asked is None or not asked.optional("disable_parallel_tool_use", bool)
