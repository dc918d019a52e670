"""A network that brings a server's bytes in small pieces, cut anywhere: in a line, in a character."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

BREATH = 0.001
"""Seconds between two pieces, so that each is read by itself."""


@contextmanager
def in_small_pieces(address: str, length: int) -> Iterator[str]:
    """The address of such a network in front of the server; the server's own address when there is
    no length.
    """
    if not length:
        yield address
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(
            target=_carry, args=(listener, urlsplit(address).netloc, length), daemon=True
        ).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def _carry(listener: socket.socket, netloc: str, length: int) -> None:
    """Carry connection after connection, until the listener is closed; each asks once."""
    host, _, port = netloc.partition(":")
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(
            target=_exchange, args=(client, (host, int(port)), length), daemon=True
        ).start()


def _exchange(client: socket.socket, address: tuple[str, int], length: int) -> None:
    with client, socket.create_connection(address) as server:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_upwards, args=(client, server), daemon=True).start()
        while piece := server.recv(length):
            client.sendall(piece)
            time.sleep(BREATH)


def _upwards(client: socket.socket, server: socket.socket) -> None:
    try:
        while chunk := client.recv(65536):
            server.sendall(chunk)
    except OSError:
        return  # one of the two has gone, which ends the other direction as well
