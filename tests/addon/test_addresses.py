"""Addresses of this machine and of private networks."""

import asyncio
import socket
import threading

import pytest

from converter.addon import addresses
from converter.addon.addresses import is_loopback, is_private, resolves_to_private
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


@pytest.mark.parametrize("address", ROWS["addresses that are private"])
def test_addresses_that_are_private(address: str) -> None:
    assert is_private(address)


@pytest.mark.parametrize("address", ROWS["addresses that are not"])
def test_addresses_that_are_not(address: str) -> None:
    assert not is_private(address)


def test_addresses_of_this_machine() -> None:
    assert [is_loopback(one) for one in ("127.0.0.1", "::1", "::ffff:127.0.0.1")] == [True] * 3
    assert [is_loopback(one) for one in ("10.0.0.1", "::", "localhost")] == [False] * 3


def test_a_name_is_private_if_all_its_addresses_are(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = {"both.example": ["10.0.0.1", "8.8.8.8"], "inside.example": ["10.0.0.1", "::1"]}

    def resolve(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        if host not in resolved:
            raise socket.gaierror
        return [(0, 0, 0, "", (address, 0)) for address in resolved[host]]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    hosts = ["inside.example", "both.example", "none.example", "10.1.1.1", "8.8.8.8"]
    assert [asyncio.run(resolves_to_private(host)) for host in hosts] == [
        True,
        False,
        False,
        True,
        False,
    ]


def test_localhost_is_private() -> None:
    assert asyncio.run(resolves_to_private("localhost"))


def test_a_name_that_takes_too_long_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(60))
    monkeypatch.setattr(addresses, "SECONDS_TO_RESOLVE", 0.01)

    async def slow() -> bool:
        is_private = await resolves_to_private("slow.example")
        over.set()
        return is_private

    assert not asyncio.run(slow())
