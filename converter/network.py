"""The one place of `converter` that touches the network: it carries a question to a server and the answers back."""

import asyncio
import http.client
import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from converter.asking import Ask, Question, Reply

PATIENCE = 3.0
"""Seconds to wait for each answer: the client's request waits as long."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server's API: where it is, and what stands before its paths. `insecure`: any certificate will do."""

    scheme: str
    host: str
    port: int
    prefix: str = ""
    insecure: bool = False


async def answered[Result](question: Question[Result], upstream: Upstream, headers: Mapping[str, str]) -> Result:
    """Return a question's result; `headers`: the client's credentials. No answer within `PATIENCE` is None to the question."""
    reply: Reply | None = None
    while True:
        try:
            ask = question.send(reply)
        except StopIteration as settled:
            result: Result = settled.value
            return result
        reply = await asyncio.to_thread(_fetch, upstream, ask, headers)


def _fetch(upstream: Upstream, ask: Ask, headers: Mapping[str, str]) -> Reply | None:
    connection = _connection(upstream)
    path = upstream.prefix + ask.path
    try:
        said = {"content-type": "application/json", "accept": "application/json", **headers}
        connection.request("GET" if ask.body is None else "POST", path, ask.body, said)
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: what cannot be written into a request
        _log.info("think: %s: no answer: %s", path, error)
        return None
    finally:
        connection.close()


def _connection(upstream: Upstream) -> http.client.HTTPConnection:
    if upstream.scheme != "https":
        return http.client.HTTPConnection(upstream.host, upstream.port, timeout=PATIENCE)
    secure: dict[str, Any] = {"context": ssl._create_unverified_context()} if upstream.insecure else {}
    return http.client.HTTPSConnection(upstream.host, upstream.port, timeout=PATIENCE, **secure)
