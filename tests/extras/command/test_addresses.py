"""Addresses and ports, as people write them."""

import socket

import pytest

from converter.extras.command.addresses import (
    LOCAL,
    CommandError,
    free_port,
    server_address,
    usable_port,
)
from tests.support.rows import rows_of

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)


@pytest.mark.parametrize(("typed", "meant"), ROWS["near misses of an address are understood"])
def test_near_misses_of_an_address_are_understood(typed: str, meant: str) -> None:
    assert server_address(typed) == meant


@pytest.mark.parametrize("typed", ROWS["what is no address is refused"])
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(
        CommandError, match="expected an address such as http://localhost:8000, got"
    ):
        server_address(typed)


def test_a_chosen_port_that_is_taken_is_named_with_what_to_set() -> None:
    with socket.create_server((LOCAL, 0)) as taken:
        port = taken.getsockname()[1]
        reason = (
            rf"port {port} cannot be used \(Address already in use\): choose another with --port"
        )
        with pytest.raises(CommandError, match=reason):
            usable_port("--port", str(port), 8080, LOCAL)
    assert usable_port("--port", str(port), 8080, LOCAL) == port


def test_the_usual_port_makes_room_for_who_has_it() -> None:
    with socket.create_server((LOCAL, 0)) as taken:
        port = taken.getsockname()[1]
        assert port < free_port("--port", port, LOCAL) < port + 20
    assert free_port("--port", port, LOCAL) == port
    assert free_port("--port", port, LOCAL, taken=port) > port
