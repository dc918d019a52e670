"""The one place of `converter` that touches the network: it carries a question to a server and the
answers back.
"""

import asyncio
import http.client
import logging
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from converter.servers.initial_state import of_model, of_prefill, of_switches, switch_of
from converter.servers.probes import Probe, ProbeRequest, Reply, begins, count_tokens, recognise
from converter.servers.profiles import GENERIC, Server
from converter.settings import Start

PATIENCE = 3.0
"""Seconds to wait for each answer: the client's request waits as long."""

GRACE = 0.2
"""Seconds that the first reply of its kind waits for the server's word on where it begins, asked
for with the request.
"""
READ_LIMIT = 16 * 1024 * 1024
"""Bytes of an answer; the tokens of the longest prompt are some megabytes."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server's API: where it is, and what stands before its paths. `insecure`: any certificate
    will do.

    `direct`: not behind another proxy, which questions of our own would go around.
    """

    scheme: str
    host: str
    port: int
    prefix: str = ""
    insecure: bool = False
    direct: bool = True


type Body = Mapping[str, object]
type _Key = tuple[Upstream, str, str]


def _key(upstream: Upstream, body: Body) -> _Key:
    return upstream, str(body.get("model")), switch_of(body)


class KnownServers:
    """What the servers asked so far are. Each is asked once, with the first request that depends on
    it.
    """

    def __init__(self) -> None:
        self._asked: dict[Upstream, asyncio.Task[Server | None]] = {}
        self._parsing: set[Upstream] = set()
        self._starts: dict[_Key, asyncio.Task[Start | None]] = {}
        self._lessons: dict[_Key, Start] = {}
        self._thinkers: set[tuple[Upstream, str]] = set()
        self._in_text: set[Upstream] = set()

    async def recognise(self, upstream: Upstream, headers: Mapping[str, str]) -> Server:
        """Return the server's row. Raises ConnectionError when nobody is there."""
        if upstream not in self._asked:
            self._asked[upstream] = asyncio.ensure_future(answered(recognise(), upstream, headers))
        server = None
        try:
            server = await self._asked[upstream]
        finally:
            if server is None:
                self._asked.pop(upstream, None)  # nobody there yet, or it would not say: ask again
        return server or GENERIC

    def known(self, upstream: Upstream) -> Server | None:
        """Return the server's row, if it has been recognised by now."""
        task = self._asked.get(upstream)
        return (
            task.result()
            if task and task.done() and not task.cancelled() and not task.exception()
            else None
        )

    def ask_start(
        self, upstream: Upstream, headers: Mapping[str, str], body: Body, server: Server | None
    ) -> None:
        """Begin to find out where replies to such a request begin, unless it is known or under way;
        nothing waits for it.
        """
        key = _key(upstream, body)
        if key not in self._starts:
            self._starts[key] = asyncio.ensure_future(self._begins(key, headers, body, server))

    async def start(self, upstream: Upstream, body: Body) -> Start:
        """Return where the reply to this request begins, by the best of what is known now."""
        if known := of_prefill(body):
            return known
        key = _key(upstream, body)
        told, lesson = await self._told(key), self._lessons.get(key)
        if self._begins_in_text(upstream):
            return lesson or Start.TEXT  # whatever its template opens
        guesses = (told, lesson, of_switches(body), of_model(body))
        return next((guess for guess in guesses if guess), Start.TEXT)

    def saw_thought(self, upstream: Upstream, body: Body) -> None:
        """Remember that the model thinks unasked."""
        self._thinkers.add((upstream, str(body.get("model"))))

    def thinks(self, upstream: Upstream, body: Body) -> bool:
        """Tell whether the model is known to think by itself."""
        return (upstream, str(body.get("model"))) in self._thinkers or of_model(
            body
        ) is Start.THINKING

    def learn(self, upstream: Upstream, body: Body, begun: Start) -> None:
        """Remember where a reply did begin, after a wrong guess."""
        self._lessons[_key(upstream, body)] = begun

    async def _told(self, key: _Key) -> Start | None:
        task = self._starts.get(key)
        if task is None:
            return None
        await asyncio.wait({task}, timeout=GRACE)
        return task.result() if task.done() and not task.cancelled() else None

    async def _begins(
        self, key: _Key, headers: Mapping[str, str], body: Body, server: Server | None
    ) -> Start | None:
        """Ask; whatever goes wrong changes nothing but the guess. A server that is not there yet is
        asked again.
        """
        upstream = key[0]
        try:
            server = server or await self.recognise(upstream, headers)
            if server.repeats_opener:
                self._in_text.add(upstream)
            if server is GENERIC:
                self._starts.pop(key, None)  # it has nothing to tell, or has not said what it is
            return await answered(begins(server, body), upstream, headers)
        except Exception as error:
            self._starts.pop(key, None)
            _log.info("think: where replies begin was not told: %s", error)
            return None

    def _begins_in_text(self, upstream: Upstream) -> bool:
        """Tell whether the server's text has no hidden beginning: it repeats the opener, or takes
        thinking out itself.
        """
        return upstream in self._in_text or upstream in self._parsing

    async def count(
        self, upstream: Upstream, headers: Mapping[str, str], server: Server, body: Body
    ) -> int | None:
        """Return the tokens of a chat completion's prompt, counted by the server; None when it
        cannot, or is gone.
        """
        try:
            return await answered(count_tokens(server, body), upstream, headers)
        except ConnectionError:
            return None

    def saw_thinking(self, upstream: Upstream) -> None:
        """Remember that the server takes thinking out of the text itself."""
        self._parsing.add(upstream)

    def parses(self, upstream: Upstream) -> bool:
        """Tell whether the server has been seen to take thinking out of the text itself."""
        return upstream in self._parsing


async def answered[Result](
    question: Probe[Result], upstream: Upstream, headers: Mapping[str, str]
) -> Result:
    """Return a question's result; `headers`: the client's credentials. No answer within `PATIENCE`
    is None to the question.

    Raises ConnectionError when nobody listens there.
    """
    reply: Reply | None = None
    while True:
        try:
            ask = question.send(reply)
        except StopIteration as settled:
            result: Result = settled.value
            return result
        try:
            reply = await asyncio.wait_for(
                asyncio.to_thread(_fetch, upstream, ask, headers), PATIENCE
            )
        except TimeoutError:
            reply = None  # the thread ends with the server, or at the limit of what it reads


def _fetch(upstream: Upstream, ask: ProbeRequest, headers: Mapping[str, str]) -> Reply | None:
    """Return the answer, None for none. Raises ConnectionError when nobody is there."""
    connection = _connection(upstream)
    path = upstream.prefix + ask.path
    try:
        connection.connect()
    except (ConnectionRefusedError, socket.gaierror) as error:
        raise ConnectionError(error.strerror or str(error)) from None
    except (OSError, ValueError) as error:
        _log.info("think: %s: no answer: %s", path, error)
        return None
    try:
        said = {"content-type": "application/json", "accept": "application/json", **headers}
        connection.request("GET" if ask.body is None else "POST", path, ask.body, said)
        answer = connection.getresponse()
        content = answer.read(READ_LIMIT)
        if answer.length:
            raise http.client.IncompleteRead(content, answer.length)
        return Reply(
            answer.status, {name.lower(): value for name, value in answer.getheaders()}, content
        )
    except (
        OSError,
        ValueError,
        http.client.HTTPException,
    ) as error:  # ValueError: what cannot be written into a request
        _log.info("think: %s: no answer: %s", path, error)
        return None
    finally:
        connection.close()


def _connection(upstream: Upstream) -> http.client.HTTPConnection:
    if upstream.scheme != "https":
        return http.client.HTTPConnection(upstream.host, upstream.port, timeout=PATIENCE)
    secure: dict[str, Any] = (
        {"context": ssl._create_unverified_context()} if upstream.insecure else {}
    )
    return http.client.HTTPSConnection(upstream.host, upstream.port, timeout=PATIENCE, **secure)


def credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the header that lets the client in: its key becomes a bearer token, as
    chat-completions servers want it.
    """
    if secret := headers.get("authorization"):
        return {"authorization": secret}
    key = headers.get("x-api-key")
    return {"authorization": f"Bearer {key}"} if key else {}
