"""The message for a client whose server did not answer, or broke off."""

import asyncio
import socket

import pytest

from converter.addon.hooks.connection_faults import LONGEST, fault_message
from tests.support.addon_flows import CHAT, request
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

FLOW = request(CHAT)
HERE = "http://localhost:8000"


@pytest.mark.parametrize(("reason", "message"), ROWS["a server that is not there"])
def test_a_server_that_is_not_there(reason: str, message: str) -> None:
    assert fault_message(FLOW, reason).startswith(f"no model server at {HERE}: {message}")


@pytest.mark.parametrize(("reason", "message"), ROWS["a server that breaks its reply off"])
def test_a_server_that_breaks_its_reply_off(reason: str, message: str) -> None:
    assert fault_message(FLOW, reason).startswith(f"the model server at {HERE} {message}")


def test_other_reasons_are_quoted_in_one_line_of_bounded_length() -> None:
    message = fault_message(FLOW, "a\x1b[2Jb\n" + "c" * 999)
    assert message.startswith(f"no reply from the model server at {HERE}: a")
    assert message.isprintable()
    assert len(message) < LONGEST + 100


def test_reasons_of_the_system_have_their_message() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        _, port = closed.getsockname()
        for host, message in [("127.0.0.1", "connection refused"), ("no.invalid", "no such host")]:
            with pytest.raises(OSError) as refused:  # noqa: PT011 (its words are what is tested)
                asyncio.run(_connect(host, port))
            assert fault_message(FLOW, str(refused.value)).endswith(message)


async def _connect(host: str, port: int) -> None:
    await asyncio.open_connection(host, port)


def test_a_fault_names_the_server() -> None:
    message = fault_message(request(CHAT), "server closed connection")
    assert message == (
        "the model server at http://localhost:8000 closed the connection without an answer"
    )
