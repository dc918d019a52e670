"""An MCP server of one tool, which says what it is told; JSON-RPC by lines, as Codex starts it."""

import json
import sys
from typing import Any

TOOL = {
    "name": "echo",
    "description": "Say it again.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one request."""
    match asked["method"]:
        case "initialize":
            version = asked["params"]["protocolVersion"]
            known = {"name": "echo", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": known}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = f"echo: {asked['params']['arguments']['text']}"
            return {"content": [{"type": "text", "text": text}]}
    return {}


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            said = {"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
