"""What a person is told when the server fails: what is wrong, where, in plain words."""

import asyncio
import socket

import pytest

from converter.shell.hooks.server_faults import LONGEST, server_fault

HERE = "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("[Errno 111] Connect call failed ('127.0.0.1', 8000)", "connection refused"),
        (
            "Multiple exceptions: [Errno 111] Connect call failed ('::1', 8000, 0, 0), [Errno 111] "
            "Connect call failed ('127.0.0.1', 8000)",
            "connection refused",
        ),
        ("[Errno -2] Name or service not known", "no such host"),
        ("[Errno -3] Temporary failure in name resolution", "no such host"),
        ("[Errno 113] Connect call failed", "connection refused"),
        ("[Errno 101] Network is unreachable", "the network is unreachable"),
        ("The remote server does not speak TLS.", "it does not speak TLS; try http:// in"),
        (
            "Certificate verify failed: self-signed certificate",
            "no TLS connection (Certificate verify failed: self-signed certificate)",
        ),
    ],
)
def test_a_server_that_is_not_there(reason: str, words: str) -> None:
    assert server_fault(reason, HERE).words.startswith(f"no model server at {HERE}: {words}")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("server closed connection", "closed the connection without an answer"),
        ("peer closed connection", "broke off its answer"),
        ("stream reset by client (INTERNAL_ERROR)", "reset its answer (INTERNAL_ERROR)"),
        ("unexpected server response: b'HTTP/1.1 2'", "broke off within the head of its answer"),
        ("Cannot parse HTTP response: it begins with b'SSH'", "did not answer in HTTP: it begins"),
        (
            "HTTP/1 protocol error: peer closed connection without sending complete message body "
            "(incomplete chunked read)",
            "broke off its answer",
        ),
        (
            "HTTP/1 protocol error: peer closed connection without sending complete message body "
            "(received 3 bytes, expected 9)",
            "broke off its answer (3 bytes, expected 9)",
        ),
        (
            "HTTP/1 protocol error: illegal chunk header: bytearray(b'zz')",
            "broke the rules of HTTP: illegal chunk header: bytearray(b'zz')",
        ),
    ],
)
def test_a_server_that_breaks_its_reply_off(reason: str, words: str) -> None:
    assert server_fault(reason, HERE).words.startswith(f"the model server at {HERE} {words}")


def test_only_a_connection_that_closed_at_once_is_worth_another_try() -> None:
    assert server_fault("server closed connection", HERE).may_pass
    assert not server_fault("[Errno 111] Connect call failed", HERE).may_pass


def test_other_words_are_told_as_they_are_in_one_line_of_bounded_length() -> None:
    words = server_fault("a\x1b[2Jb\n" + "c" * 999, HERE).words
    assert words.startswith(f"no reply from the model server at {HERE}: a")
    assert words.isprintable()
    assert len(words) < LONGEST + 100


def test_what_the_system_says_is_known() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        _, port = closed.getsockname()
        for host, words in [("127.0.0.1", "connection refused"), ("no.invalid", "no such host")]:
            with pytest.raises(OSError) as refused:  # noqa: PT011 (its words are what is tested)
                asyncio.run(_connect(host, port))
            assert server_fault(str(refused.value), HERE).words.endswith(words)


async def _connect(host: str, port: int) -> None:
    await asyncio.open_connection(host, port)
