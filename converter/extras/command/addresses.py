"""`CommandError` and `UsageError`: the errors that `think-addon` shows to its user as one line.
Functions such as `server_address` read and check addresses, ports and folders as a user writes
them.
"""

import re
import socket
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

LOCAL = "127.0.0.1"
"""The address at which proxy and page listen, unless the user sets another."""
USUAL_PORTS = {
    8000: "vLLM, NIM, transformers serve",
    8080: "llama.cpp",
    11434: "Ollama",
    1234: "LM Studio",
    30000: "SGLang",
}
"""Default port -> the model servers that use it."""
CONFDIR = "~/.mitmproxy"
"""The default of mitmproxy's option `confdir` (12.2)."""
PORTS_TRIED = 20
"""How many ports are tried, from the usual port upwards, when the user has not chosen a port."""
_EXAMPLE = "an address such as http://localhost:8000"
"""A part of error messages: `expected an address such as http://localhost:8000, got 'a b'`."""


class CommandError(Exception):
    """The reason why a command cannot be carried out, in one line for its user."""


class UsageError(CommandError):
    """The reason why a command line is wrong, in one line for its user."""


def server_address(text: str) -> str:
    """Return `text` as SCHEME://HOST[:PORT]: `gpu-box:8000/v1` -> `http://gpu-box:8000`, and `8000`
    -> `http://localhost:8000`. Raises UsageError if `text` is no address, or has a path other than
    `/` and `/v1`.
    """
    text = re.sub(r"^:?(\d+)$", r"localhost:\1", text, flags=re.ASCII)
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s@?#]", text):
        raise UsageError(f"expected {_EXAMPLE}, got {text!r}")
    if parts.path.rstrip("/") not in ("", "/v1"):
        reason = "the path of each request is passed on"
        raise UsageError(f"expected {_EXAMPLE}, without the path {parts.path!r}: {reason}")
    return f"{parts.scheme}://{parts.netloc}"


def usable_port(
    option: str, written: str | None, usual: int, host: str, taken: int | None = None
) -> int:
    """Return the port in `written`, the value of the user's `option`; if that is None, the first
    free port from `usual` upwards. `taken`: the port at which the same proxy will listen for
    clients, never returned.

    Raises CommandError if the user's port is `taken`, is no port, or cannot be opened at `host`, or
    if no free port is found.
    """
    if written is None:
        return free_port(option, usual, host, taken)
    if not (written.isascii() and written.isdecimal() and 1 <= int(written) <= 65535):
        raise UsageError(f"expected a number from 1 to 65535 for {option}, got {written!r}")
    port = int(written)
    if reason := port_problem(port, host):
        raise UsageError(f"port {port} cannot be used ({reason}): choose another with {option}")
    if port == taken:
        raise CommandError(f"port {port} is for clients already: choose another with {option}")
    return port


def free_port(option: str, usual: int, host: str, taken: int | None = None) -> int:
    """Return the first port from `usual` upwards, except `taken`, at which a proxy at `host` can
    listen. Raises CommandError if none of `PORTS_TRIED` ports can be used; the error asks the user
    to choose a port with `option`.
    """
    reason = ""
    for port in range(usual, usual + PORTS_TRIED):
        if port != taken and not (reason := port_problem(port, host)):
            return port
    last = usual + PORTS_TRIED - 1
    fault = f"no port from {usual} to {last} can be used ({reason})"
    raise CommandError(f"{fault}: choose one with {option}")


def port_problem(port: int, host: str) -> str:
    """Return why a proxy at `host` cannot listen at `port`; empty if it can. Raises CommandError if
    this machine cannot resolve `host`.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise CommandError(f"{host!r} is no address to listen at: {error.strerror}") from None
    with socket.socket(family) as probe:
        # With SO_REUSEADDR, which mitmproxy sets too, a port whose last connections have just ended
        # counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            return error.strerror or str(error)
    return ""


def certificates_folder(arguments: Iterable[str]) -> Path:
    """Return the folder of mitmproxy's certificates: DIR of the last `confdir=DIR` among
    mitmproxy's command line `arguments`, else mitmproxy's default.
    """
    folders = [word.removeprefix("confdir=") for word in arguments if word.startswith("confdir=")]
    return Path(folders[-1] if folders else CONFDIR).expanduser()
