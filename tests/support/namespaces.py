"""Two networks of their own, joined by a cable: a client's, and the gateway's through which it reaches everything.

A namespace lives as long as something holds it, here an open file: nothing is left behind. A thread may stand in one; the
sockets and programs that it makes belong there, and can be used from anywhere.
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Self

import pytest

CLIENT, GATEWAY = "192.0.2.2", "192.0.2.1"
SERVER = "198.51.100.1"
"""Addresses for documentation, which no host has."""
HOME, CLOUD = "10.99.0.1", "9.9.9.9"
"""An address of a private network, and one that is anybody's: here both are the gateway's own."""
REDIRECTED, PROXY = 8000, 8080
ALSO_REDIRECTED = range(8100, 8200)
"""For tests that have a server each."""
RULES = f"""
table inet think {{
    chain redirected {{
        type nat hook prerouting priority dstnat;
        iifname "to-client" tcp dport {{ {REDIRECTED}, {ALSO_REDIRECTED[0]}-{ALSO_REDIRECTED[-1]} }} redirect to :{PROXY}
    }}
}}
"""


class NotPermittedError(Exception):
    """Raised with the reason on a machine that permits no namespaces."""


class Networks:
    """Both networks, until the `with` block is left."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._client = self._gateway = -1

    def __enter__(self) -> Self:
        missing = [name for name in ("ip", "nft") if not shutil.which(name)]
        if missing or not hasattr(os, "setns"):
            raise NotPermittedError(f"missing: {', '.join(missing) or 'Linux'}")
        try:
            self._client, self._gateway = self._namespace(), self._namespace()
            self._join()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def at_client[Result](self, do: Callable[[], Result]) -> Result:
        """Do it where the client is."""
        return _within(self._client, do)

    def at_gateway[Result](self, do: Callable[[], Result]) -> Result:
        """Do it where the proxy and the server are."""
        return _within(self._gateway, do)

    def _namespace(self) -> int:
        file = _in_a_thread(_new)
        self._open.callback(os.close, file)
        return file

    def _join(self) -> None:
        client = f"/proc/{os.getpid()}/fd/{self._client}"
        for command in (
            "ip link set lo up",
            *(f"ip address add {address}/32 dev lo" for address in (SERVER, HOME, CLOUD)),
            f"ip link add to-client type veth peer name to-gateway netns {client}",
            f"ip address add {GATEWAY}/24 dev to-client",
            "ip link set to-client up",
            "nft -f -",
        ):
            self.at_gateway(lambda arguments=command: _run(arguments, RULES))  # type: ignore[misc]
        for command in (
            f"ip address add {CLIENT}/24 dev to-gateway",
            "ip link set to-gateway up",
            f"ip route add default via {GATEWAY}",
        ):
            self.at_client(lambda arguments=command: _run(arguments))  # type: ignore[misc]


@contextmanager
def networks_or_skip(not_tried: str) -> Iterator[Networks]:
    """Both networks; on a machine that permits none, the test is left out, and says what for."""
    with ExitStack() as stack:
        try:
            networks = stack.enter_context(Networks())
        except NotPermittedError as error:
            pytest.skip(f"{not_tried}, this machine does not permit it: {error}")
        yield networks


def _new() -> int:
    try:
        os.unshare(os.CLONE_NEWNET)
    except OSError as error:
        raise NotPermittedError(f"no network namespace can be made: {error.strerror}") from None
    return os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)


def _within[Result](namespace: int, do: Callable[[], Result]) -> Result:
    def stand_there_and_do_it() -> Result:
        os.setns(namespace, os.CLONE_NEWNET)
        return do()

    return _in_a_thread(stand_there_and_do_it)


def _in_a_thread[Result](do: Callable[[], Result]) -> Result:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(do).result()


def _run(command: str, standard_input: str = "") -> None:
    ended = subprocess.run(
        command.split(), input=standard_input, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise NotPermittedError(f"{command}: {' '.join(ended.stderr.split())}")
