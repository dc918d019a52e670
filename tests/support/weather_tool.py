"""A tool server for agents (MCP, over standard input and output) with one tool: the weather.

`weather_tool.py pictured`: its schema is one that llama.cpp's grammar refuses, and a picture
follows its text. `weather_tool.py pictured hours`: its text is long as well.
"""

import json
import sys
from collections.abc import Iterator

TOOL = {"name": "get_weather", "description": "The weather in a city"}
DATES = {
    "type": "array",
    "items": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
    "maxItems": 1999,
}
"""Two thousand dates and more it refuses anyhow; as many as here only for their pattern."""
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
"""A picture, PNG, of one dot, whose checksums are right: Codex looks."""
HOURS = "".join(f"\nat {hour} o'clock: sunny, 21 degrees" for hour in range(100))
"""So many that a few calls fill a window of 8,192 tokens."""


def tool_and_result(*kinds: str) -> tuple[dict[str, object], dict[str, object]]:
    """The tool, and what a call of it gives."""
    pictured = "pictured" in kinds
    properties = {"city": {"type": "string"}, **({"dates": DATES} if pictured else {})}
    picture = {"type": "image", "data": DOT, "mimeType": "image/png"}
    text = {"type": "text", "text": "sunny, 21 degrees" + (HOURS if "hours" in kinds else "")}
    content = [text, *([picture] if pictured else [])]
    schema = {"type": "object", "properties": properties, "required": ["city"]}
    return {**TOOL, "inputSchema": schema}, {"content": content}


def answers(lines: Iterator[str], *kinds: str) -> Iterator[str]:
    """The answers to requests; notifications have no id and get none."""
    tool, sunny = tool_and_result(*kinds)
    for line in lines:
        request = json.loads(line)
        if "id" not in request:
            continue
        version = (request.get("params") or {}).get("protocolVersion")
        hello: dict[str, object] = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "w", "version": "1"},
        }
        results = {"initialize": hello, "tools/list": {"tools": [tool]}, "tools/call": sunny}
        result = results.get(request["method"], {})
        yield json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})


if __name__ == "__main__":
    for answer in answers(sys.stdin, *sys.argv[1:]):
        print(answer, flush=True)
