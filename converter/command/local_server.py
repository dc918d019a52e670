"""The model server on this machine, where its user has not said which."""

import sys

from converter.command.addresses import USUAL_PORTS, CommandError
from converter.command.link import ServerLink, link_to
from converter.servers import addon_itself
from converter.servers.model_names import entries


def find_local_server() -> str:
    """Return the address of the first server that lists models at one of the usual ports, and say
    which it is; the addon itself is none. Raises CommandError.
    """
    for port in USUAL_PORTS:
        address = f"http://127.0.0.1:{port}"
        try:
            link = link_to(address)
            if server := in_front_of(link):
                print(f"passed over {address}: {itself(server)}", file=sys.stderr)
            elif listed_models(link):
                print(f"found {address}", file=sys.stderr)
                return address
        except CommandError:
            continue
    tried = ", ".join(f"{port} ({names})" for port, names in USUAL_PORTS.items())
    raise CommandError(
        f"no model server at the local ports {tried}: start one, or give its URL, "
        "such as http://gpu-box:8000"
    )


def in_front_of(link: ServerLink) -> str:
    """Return the server behind a link that leads to the addon itself, nothing for any other."""
    return addon_itself.server_behind(link.get(addon_itself.PATH))


def itself(server: str) -> str:
    """Return the words about an address at which the addon is."""
    return f"think-addon itself, in front of {server}"


def listed_models(link: ServerLink) -> list[str]:
    """Return the names of the models that a server lists."""
    return [str(model["id"]) for model in entries(link.get("/v1/models"))]
