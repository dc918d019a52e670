"""Probes sent to the servers, and their answers. Each server is asked once, beside the client's
request wherever the request can go on without the answer.

A server that does not answer makes requests wait no longer than `PATIENCE` in all: its silence is
remembered, and it is asked again in the background.
"""

import asyncio
import logging
import math
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from converter.addon.aside import BODIES, SHOWING, aside
from converter.addon.log_lines import LONGEST_LINE
from converter.addon.memory.shared_lessons import SharedLessons
from converter.addon.probes.upstream_http import NoReplyError, fetch
from converter.addon.servers.initial_state import initial_state, needs_prompt
from converter.addon.servers.known_servers import (
    MOST_LESSONS,
    Bounded,
    Key,
    KnownServers,
    Upstream,
    prompt_key,
)
from converter.addon.servers.model_names import entries
from converter.addon.servers.probes import (
    IDENTITY_PATHS,
    Probe,
    ProbeReply,
    ProbeRequest,
    Settled,
    count_tokens,
    end_thought,
    is_certain,
    prompt_pieces,
    prompt_state,
    recognise,
    rendered_prompt,
    step,
)
from converter.addon.servers.profiles import GENERIC, Server
from converter.addon.servers.refused_fields import FIELD
from converter.core.dialects.model_facts import MORE_FACTS_AT, ModelFacts, read
from converter.core.dialects.server_fields import CONTROL
from converter.core.model.initial_state import InitialState
from converter.core.wire.printable import bounded

PATIENCE = 3.0
"""Seconds to wait for each answer; a client's request may wait as long, once."""
GRACE = 0.2
"""Seconds that the first reply of its kind waits for the server's answer on where it begins."""
TERM = 600.0
"""Seconds until a server is identified anew, in the background, because another server may be there
by then.
"""
REST = 60.0
"""Seconds between the probes of a server that does not answer, in the background. The first of them
goes beside the next request, because the server may have been loading its model.
"""
PATIENCE_OF_READERS = 20.0
"""Seconds that a person waits for the tokens of a long prompt."""

_MODELS = "/v1/models"
_log = logging.getLogger(__name__)


class UpstreamClient:
    """Probes servers. `headers`, in all methods: the client's credentials.

    Attributes:
        servers: has the answers.
        lessons: shares them with other processes.
    """

    def __init__(self, servers: KnownServers) -> None:
        self.servers = servers
        self.lessons = SharedLessons(servers)
        self._running: dict[Upstream | Key, asyncio.Task[Any]] = {}
        self._rests_until: Bounded[Upstream, float] = Bounded()
        self._probed_again: Bounded[Upstream, float] = Bounded()
        self._listed: Bounded[Upstream, tuple[list[dict[str, object]], float]] = Bounded()
        self._complained: Bounded[Upstream, None] = Bounded()
        self._met: Bounded[Upstream, None] = Bounded()

    async def recognise(self, upstream: Upstream, headers: Mapping[str, str]) -> Server:
        """Return the server's profile; the generic one until the server is identified. Raises
        ConnectionError when nobody is there.
        """
        ask = partial(self._once, upstream, partial(self._recognise, upstream, headers))
        if server := self.servers.server(upstream):
            now = time.monotonic()
            probed = self._probed_again.get(upstream, -math.inf)
            if self.servers.is_due(upstream, TERM, REST) and probed + REST <= now:
                self._probed_again[upstream] = now
                ask()
            return server
        return await self._unless_silent(upstream, ask) or GENERIC

    def ask_initial_state(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        body: Mapping[str, object],
        server: Server | None,
        size: int = 0,
    ) -> None:
        """Begin to find out where replies to such a request begin, unless that is known or under
        way; nothing waits for it. `server`: `None` if it is still to be identified. `size`: the
        body's bytes.
        """
        key = prompt_key(upstream, body)

        async def ask_prompt(server: Server | None) -> None:
            try:
                server = server or await self.recognise(upstream, headers)
                if server.repeats_opener:
                    self.servers.saw_repeated_opener(upstream)
                await self.lessons.look(upstream, anew=True)
                answered = self.servers.has_prompt(key)
                # an unidentified server may report more later
                if not answered and (server is not GENERIC or self.servers.server(upstream)):
                    ask = partial(self._fetch, upstream, headers)
                    state = await carried(prompt_state(server, body), ask, size)
                    self.servers.saw_prompt(upstream, body, state)
                    self.lessons.tell(upstream)
            except Exception as error:  # only the guess suffers; the next request probes again
                self._complain(upstream, f"the beginning of its replies stays unknown: {error}")

        if not self.servers.has_prompt(key):
            self._once(key, partial(ask_prompt, server))

    async def initial_state(self, upstream: Upstream, body: Mapping[str, object]) -> InitialState:
        """Return where the reply to this request begins, by the best facts there are now."""
        task = self._running and self._running.get(prompt_key(upstream, body))
        if task and needs_prompt(self.servers.facts(upstream, body)):
            await asyncio.wait({task}, timeout=GRACE)
        return initial_state(self.servers.facts(upstream, body))

    async def count(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        server: Server,
        body: Mapping[str, object],
        size: int = 0,
        own_probe: ProbeRequest | None = None,
    ) -> int | None:
        """Return the tokens of a chat completion's prompt, counted by the server; `None` when it
        cannot count or is gone. `size`: the body's bytes. `own_probe`: the client's own request to
        count.
        """

        async def count() -> int | None:
            tokens: int | None = None
            with suppress(ConnectionError):
                ask = partial(self._fetch, upstream, headers)
                tokens = await carried(count_tokens(server, body, own_probe), ask, size)
            if tokens is not None:
                self._answered(upstream)
            return tokens

        return await self._unless_silent(upstream, lambda: _begin(count()))

    async def end_thought(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        body: Mapping[str, object],
        reply_id: str,
    ) -> bool:
        """Return True if the server ends the thought of a running reply, to a request of this body.
        Where it cannot, later requests do not ask for it.
        """
        ask, ended = partial(fetch, upstream, headers), None
        with suppress(TimeoutError, NoReplyError, ConnectionError):
            async with asyncio.timeout(PATIENCE):
                ended = await carried(end_thought(reply_id, body.get("model")), ask, 0)
                if ended is None:
                    self.servers.saw_refusal(upstream, body, frozenset((FIELD + CONTROL,)))
        return bool(ended)

    async def prompt(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        body: Mapping[str, object],
        size: int = 0,
    ) -> str | None:
        """Return the prompt of a chat completion as its server writes it; `None` where it
        cannot.
        """
        ask = partial(self._fetch, upstream, headers)
        with suppress(ConnectionError):
            return await carried(rendered_prompt(body), ask, size)
        return None

    def meets(self, upstream: Upstream) -> None:
        """Note a server that clients are sent to. No other server is asked for the tokens of a
        prompt.
        """
        if next(reversed(self._met), None) != upstream:
            self._met[upstream] = None

    async def pieces(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        server: Server | None,
        written: Callable[[Server], Mapping[str, object] | None],
    ) -> list[bytes] | None:
        """Return the bytes of each token of a prompt, for a person who looks at it; `None` when the
        server cannot tell or takes too long. Its silence has no effect on others. `written`:
        returns the chat completion for a server.
        """
        if upstream not in self._met or not upstream.direct:
            return None
        ask = partial(fetch, upstream, headers)
        try:
            async with asyncio.timeout(PATIENCE_OF_READERS):
                server = server or await self.recognise(upstream, headers)
                body = await aside(sys.maxsize, partial(written, server), SHOWING)
                probe = prompt_pieces(server, body or {})
                return await carried(probe, ask, sys.maxsize, SHOWING) if body else None
        except (TimeoutError, NoReplyError, ConnectionError):
            return None

    async def models(
        self, upstream: Upstream, headers: Mapping[str, str]
    ) -> list[dict[str, object]]:
        """Return the models that the server lists, none where it cannot be asked."""
        listed, until = self._listed.get(upstream, ([], 0.0))
        if until < time.monotonic():
            with suppress(ConnectionError):
                reply = await self._fetch(upstream, headers, ProbeRequest(_MODELS))
                listed = entries(reply.value() if reply else None)[:MOST_LESSONS]
                self._listed[upstream] = (listed, time.monotonic() + REST)
        return listed

    async def facts(
        self, upstream: Upstream, headers: Mapping[str, str], server: Server | None, model: str
    ) -> ModelFacts:
        """Return the server's facts about a model, for a person who looks at them. The silence of a
        server has no effect on others.
        """
        replies = dict[str, object]()
        if upstream not in self._met or not upstream.direct:
            return ModelFacts()
        with suppress(TimeoutError, NoReplyError, ConnectionError):
            async with asyncio.timeout(PATIENCE):
                server = server or await self.recognise(upstream, headers)
                for path in filter(None, (_MODELS, MORE_FACTS_AT.get(server.name))):
                    reply = await fetch(upstream, headers, ProbeRequest(path))
                    replies[path] = reply.value()
        return read(replies, model)

    def _once[Result](
        self, key: Upstream | Key, ask: Callable[[], Coroutine[object, object, Result]]
    ) -> asyncio.Task[Result]:
        """Return the task of this key: the running one, or a new one."""
        if running := self._running.get(key):
            return running
        task = _begin(ask())
        if not task.done():  # mitmproxy's tasks start eagerly
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key))
        return task

    async def _unless_silent[Result](
        self, upstream: Upstream, ask: Callable[[], asyncio.Task[Result | None]]
    ) -> Result | None:
        """Return the answer. Of a server that was silent return `None` at once, and ask again
        beside the next request, then only after a rest.
        """
        rests_until = self._rests_until.get(upstream)
        if rests_until is None:
            return await asyncio.shield(ask())  # others wait for the same answer
        if rests_until <= time.monotonic():
            self._rests_until[upstream] = time.monotonic() + REST
            ask()
        return None

    async def _recognise(self, upstream: Upstream, headers: Mapping[str, str]) -> Server | None:
        before = self.servers.server(upstream)  # `None`: a request waits, and has looked already
        await self.lessons.look(upstream, anew=before is not None)
        if not self.servers.is_due(upstream, TERM, REST):
            return self.servers.server(upstream)
        probes = [self._fetch(upstream, headers, ProbeRequest(path)) for path in IDENTITY_PATHS]
        replies = await asyncio.gather(*probes)
        by_path = dict(zip(IDENTITY_PATHS, replies, strict=True))
        server = recognise(by_path)
        if server:  # `None` for a NIM that loads: it lists vLLM's models
            self.servers.recognised(upstream, server, is_certain(server, by_path))
            self._answered(upstream)
            self.lessons.tell(upstream)
        return server

    async def _fetch(
        self, upstream: Upstream, headers: Mapping[str, str], probe: ProbeRequest
    ) -> ProbeReply | None:
        """Return the answer; `None`, and remember the server's silence, if none comes within
        `PATIENCE`. Raises ConnectionError when nobody is there.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                return await fetch(upstream, headers, probe)
        except TimeoutError:
            reason = f"nothing came within {PATIENCE} s"
        except NoReplyError as error:
            reason = str(error)
        self._rests_until.setdefault(upstream, time.monotonic())
        self._complain(upstream, f"no answer to {probe.path}: {reason}")
        return None

    def _answered(self, upstream: Upstream) -> None:
        self._rests_until.pop(upstream, None)
        self._complained.pop(upstream, None)

    def _complain(self, upstream: Upstream, fault: str) -> None:
        """Log a fault once for each server, until it answers again."""
        if upstream not in self._complained:
            self._complained[upstream] = None
            line = bounded(f"{upstream} could not be probed: {fault}", LONGEST_LINE)
            _log.warning("think: %s (reported once)", line)


async def carried[Result](
    probe: Probe[Result],
    ask: Callable[[ProbeRequest], Awaitable[ProbeReply | None]],
    size: int,
    worker: ThreadPoolExecutor = BODIES,
) -> Result:
    """Return a probe's result. `size`: bytes of the request that it carries."""
    reply: ProbeReply | None = None
    while True:
        next_step = await aside(size, partial(step, probe, reply), worker)
        if isinstance(next_step, Settled):
            return next_step.result
        reply = await ask(next_step)


def _begin[Result](probing: Coroutine[object, object, Result]) -> asyncio.Task[Result]:
    """Return the task. Drop its error if nobody waits for it."""
    task = asyncio.ensure_future(probing)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the header that lets the client in. A key becomes a bearer token, which
    chat-completions servers expect.
    """
    if secret := headers.get("authorization"):
        return {"authorization": secret}
    key = headers.get("x-api-key")
    return {"authorization": f"Bearer {key}"} if key else {}
