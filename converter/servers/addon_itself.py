"""The addon's own word that it is the addon, because who looks for a model server must not take it
for one, and who starts a client finds the proxy that runs.
"""

from converter.wire import json_text

PATH = "/.well-known/think-addon"
_NAME = "think-addon"
ANY = "any server"
"""The server of a forward proxy."""


def told(server: str) -> bytes:
    """Return the addon's words about itself. `server`: the one behind it, empty for any."""
    return json_text.write({"name": _NAME, "server": server or ANY})


def server_behind(value: object) -> str:
    """Return the server that the addon is in front of, nothing where another has answered."""
    if not isinstance(value, dict) or value.get("name") != _NAME:
        return ""
    return str(value.get("server") or ANY)
