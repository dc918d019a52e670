"""A tool server for agents (MCP, over standard input and output) with one tool: the weather."""

import json
import sys
from collections.abc import Iterator

TOOL = {
    "name": "get_weather",
    "description": "The weather in a city",
    "inputSchema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
SUNNY = {"content": [{"type": "text", "text": "sunny, 21 degrees"}]}


def answers(lines: Iterator[str]) -> Iterator[str]:
    """The answers to requests; notifications have no id and get none."""
    for line in lines:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        version = (asked.get("params") or {}).get("protocolVersion")
        hello: dict[str, object] = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "w", "version": "1"},
        }
        known = {"initialize": hello, "tools/list": {"tools": [TOOL]}, "tools/call": SUNNY}
        result = known.get(asked["method"], {})
        yield json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result})


if __name__ == "__main__":
    for answer in answers(sys.stdin):
        print(answer, flush=True)
