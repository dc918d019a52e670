"""An MCP server of one tool, which repeats its input; JSON-RPC by lines, as Codex starts it."""

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


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one request."""
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            name = {"name": "echo", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": name}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = f"echo: {request['params']['arguments']['text']}"
            return {"content": [{"type": "text", "text": text}]}
    return {}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            response = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
            print(json.dumps(response), flush=True)


if __name__ == "__main__":
    main()
