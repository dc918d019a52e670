"""`UpstreamClient` sends the probes of `converter.addon.servers.probes` (the addon's own questions)
to servers, and stores lasting results as lessons. `credentials` takes a client's key for the server
from the client's headers.

A server's kind, the end of its prompts and its list of models are stored, so that they are not
probed again for each request. If a client's request can be sent without the result, the request
does not wait for the probe.

A server that does not answer within `PATIENCE` seconds is remembered as silent. Its kind and its
counts of tokens are then probed only in the background, so that they delay requests only once.
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

from converter.addon.aside import BODY_THREAD, SHOWING, run_aside
from converter.addon.log_lines import LONGEST_LINE
from converter.addon.memory.shared_lessons import SharedLessons
from converter.addon.probes.upstream_http import NoReplyError, fetch
from converter.addon.servers.initial_state import initial_state, needs_prompt
from converter.addon.servers.known_servers import (
    MOST_LESSONS,
    BoundedDict,
    Key,
    KnownServers,
    Upstream,
    prompt_key,
)
from converter.addon.servers.model_names import model_entries
from converter.addon.servers.probes import (
    IDENTITY_PATHS,
    Probe,
    ProbeReply,
    ProbeRequest,
    ProbeResult,
    advance_probe,
    count_tokens,
    end_thought,
    is_certain,
    prompt_pieces,
    prompt_state,
    recognise_server,
    rendered_prompt,
)
from converter.addon.servers.profiles import GENERIC, Server
from converter.addon.servers.refused_fields import FIELD
from converter.core.dialects.model_facts import MORE_FACTS_AT, ModelFacts, read
from converter.core.dialects.server_fields import CONTROL
from converter.core.model.initial_state import InitialState
from converter.core.wire.printable import bounded

PATIENCE = 3.0
"""The most seconds to wait for a server's answer to one request of a probe."""
GRACE = 0.2
"""The most seconds to wait for a running probe of a request's prompt, because the end of the prompt
will show whether the reply begins in a thought or in text.
"""
TERM = 600.0
"""Seconds after which a server is recognised again, in the background, because another server may
have taken its address.
"""
REST = 60.0
"""Seconds between two probes of a server that has left a probe unanswered. A client's request
begins such a probe, but does not wait for it. The request after the unanswered probe begins one
without this pause, because the server may have been loading its model.

A list of models is kept for as many seconds, and the uncertain kind of a server is trusted for as
many.
"""
PATIENCE_OF_READERS = 20.0
"""The most seconds to wait for a prompt's tokens that a person wants to see: longer than
`PATIENCE`, because no request waits.
"""

_MODELS = "/v1/models"
"""The path at which a server lists its models."""
_log = logging.getLogger(__name__)


class UpstreamClient:
    """Sends probes to servers, and stores their results. In all methods `headers` has the client's
    credentials for the server, and `size` is how many bytes the body of the client's request has.

    Attributes:
        servers: Stores the results of probes as lessons.
        lessons: Shares the lessons with other processes.
    """

    def __init__(self, servers: KnownServers) -> None:
        self.servers = servers
        self.lessons = SharedLessons(servers)
        self._running: dict[Upstream | Key, asyncio.Task[Any]] = {}
        self._rests_until: BoundedDict[Upstream, float] = BoundedDict()
        self._probed_again: BoundedDict[Upstream, float] = BoundedDict()
        self._listed: BoundedDict[Upstream, tuple[list[dict[str, object]], float]] = BoundedDict()
        self._complained: BoundedDict[Upstream, None] = BoundedDict()
        self._registered: BoundedDict[Upstream, None] = BoundedDict()

    async def recognise(self, upstream: Upstream, headers: Mapping[str, str]) -> Server:
        """Return the server's profile. The first call waits for the probes, later calls return the
        stored profile. If the probes do not show the kind of the server, or if it left earlier
        probes unanswered, return the generic profile. Raises ConnectionError if no server can be
        reached.
        """
        ask = partial(self._shared_task, upstream, partial(self._recognise, upstream, headers))
        if server := self.servers.server(upstream):
            now = time.monotonic()
            probed = self._probed_again.get(upstream, -math.inf)
            if self.servers.needs_recognition(upstream, TERM, REST) and probed + REST <= now:
                self._probed_again[upstream] = now
                ask()
            return server
        return await self._unless_silent(upstream, ask) or GENERIC

    def start_prompt_probe(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        body: Mapping[str, object],
        server: Server | None,
        size: int = 0,
    ) -> None:
        """Start a task that asks the server for the prompt of the request `body`. The end of the
        prompt shows where replies to such requests begin; the task stores this. Do nothing if it is
        known already or the task is running. `server`: `None` if the server has not been
        recognised.
        """
        key = prompt_key(upstream, body)

        async def ask_prompt(server: Server | None) -> None:
            """Ask the server how the prompt ends, and store where replies then begin."""
            try:
                server = server or await self.recognise(upstream, headers)
                if server.repeats_opener:
                    self.servers.learn_repeated_opener(upstream)
                await self.lessons.read_store(upstream, anew=True)
                answered = self.servers.has_prompt(key)
                # A server that is not recognised is not asked for the prompt, because the result
                # would be stored, and the server may report more once it is recognised.
                if not answered and (server is not GENERIC or self.servers.server(upstream)):
                    ask = partial(self._fetch, upstream, headers)
                    state = await run_probe(prompt_state(server, body), ask, size)
                    self.servers.learn_prompt_state(upstream, body, state)
                    self.lessons.write_store(upstream)
            except Exception as error:  # the reply comes anyway; a later request probes again
                self._log_fault(upstream, f"the beginning of its replies stays unknown: {error}")

        if not self.servers.has_prompt(key):
            self._shared_task(key, partial(ask_prompt, server))

    async def initial_state(self, upstream: Upstream, body: Mapping[str, object]) -> InitialState:
        """Return where the reply to the request `body` begins, by the facts that are known now. If
        a probe of its prompt still runs and could decide, wait for it, at most `GRACE` seconds.
        """
        task = self._running and self._running.get(prompt_key(upstream, body))
        if task and needs_prompt(self.servers.facts(upstream, body)):
            await asyncio.wait({task}, timeout=GRACE)
        return initial_state(self.servers.facts(upstream, body))

    async def count_tokens(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        server: Server,
        body: Mapping[str, object],
        size: int = 0,
        client_probe: ProbeRequest | None = None,
    ) -> int | None:
        """Return how many tokens the server counts in the prompt of the chat-completions request
        `body`; `None` if it cannot count, cannot be reached, or left this or an earlier probe
        unanswered. `client_probe`: the client's own request for a count, which some servers take as
        it is.
        """

        async def count() -> int | None:
            """Return the server's count; `None` if it cannot count or cannot be reached."""
            tokens: int | None = None
            with suppress(ConnectionError):
                ask = partial(self._fetch, upstream, headers)
                tokens = await run_probe(count_tokens(server, body, client_probe), ask, size)
            if tokens is not None:
                self._forget_silence(upstream)
            return tokens

        return await self._unless_silent(upstream, lambda: _start_task(count()))

    async def end_thought(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        body: Mapping[str, object],
        reply_id: str,
    ) -> bool:
        """Have the server end the thought of the running reply `reply_id` to the request `body`.
        Return True if the server ends it, or if the reply has ended already; else False. If the
        server cannot end thoughts, remember that, so that later requests to this model lack the
        field `reasoning_control`.
        """
        ask, ended = partial(fetch, upstream, headers), None
        with suppress(TimeoutError, NoReplyError, ConnectionError):
            async with asyncio.timeout(PATIENCE):
                ended = await run_probe(end_thought(reply_id, body.get("model")), ask, 0)
                if ended is None:
                    self.servers.learn_refusal(upstream, body, frozenset((FIELD + CONTROL,)))
        return bool(ended)

    async def rendered_prompt(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        body: Mapping[str, object],
        size: int = 0,
    ) -> str | None:
        """Return the prompt that the server renders for the chat-completions request `body`; `None`
        if the server renders no prompts for clients, does not answer in time, or cannot be reached.
        """
        ask = partial(self._fetch, upstream, headers)
        with suppress(ConnectionError):
            return await run_probe(rendered_prompt(body), ask, size)
        return None

    def register_server(self, upstream: Upstream) -> None:
        """Register a server to which a client's request is sent. The methods `prompt_pieces` and
        `model_facts` send probes only to registered servers, of which the newest are kept.
        """
        if next(reversed(self._registered), None) != upstream:
            self._registered[upstream] = None

    async def prompt_pieces(
        self,
        upstream: Upstream,
        headers: Mapping[str, str],
        server: Server | None,
        write_request: Callable[[Server], Mapping[str, object] | None],
    ) -> list[bytes] | None:
        """Return the bytes of each token of a prompt, for a person who looks at the prompt; `None`
        if the server does not report them in time, is not registered (`register_server`), or is
        reached only by another proxy. If the server leaves the request for the tokens unanswered,
        it is not remembered as silent. `write_request`: returns the chat-completions request for a
        server; `None` if there is none.
        """
        if upstream not in self._registered or not upstream.direct:
            return None
        ask = partial(fetch, upstream, headers)
        try:
            async with asyncio.timeout(PATIENCE_OF_READERS):
                server = server or await self.recognise(upstream, headers)
                body = await run_aside(sys.maxsize, partial(write_request, server), SHOWING)
                probe = prompt_pieces(server, body or {})
                return await run_probe(probe, ask, sys.maxsize, SHOWING) if body else None
        except (TimeoutError, NoReplyError, ConnectionError):
            return None

    async def list_models(
        self, upstream: Upstream, headers: Mapping[str, str]
    ) -> list[dict[str, object]]:
        """Return the models that the server lists, at most `MOST_LESSONS`; none if its reply is no
        list. The result is kept for `REST` seconds. If no reply comes in time, or the server cannot
        be reached, return its last list, which is empty at first.
        """
        listed, until = self._listed.get(upstream, ([], 0.0))
        if until < time.monotonic():
            with suppress(ConnectionError):
                reply = await self._fetch(upstream, headers, ProbeRequest(_MODELS))
                listed = model_entries(reply.value())[:MOST_LESSONS] if reply else listed
                self._listed[upstream] = (listed, time.monotonic() + REST)
        return listed

    async def model_facts(
        self, upstream: Upstream, headers: Mapping[str, str], server: Server | None, model: str
    ) -> ModelFacts:
        """Return facts that the server reports about a model, such as its context length, for a
        person who looks at them. A server that is not registered, or that is reached only by
        another proxy, is not asked. Facts that do not come in time are missing, but the server is
        not remembered as silent if it leaves the request for them unanswered.
        """
        replies = dict[str, object]()
        if upstream not in self._registered or not upstream.direct:
            return ModelFacts()
        with suppress(TimeoutError, NoReplyError, ConnectionError):
            async with asyncio.timeout(PATIENCE):
                server = server or await self.recognise(upstream, headers)
                for path in filter(None, (_MODELS, MORE_FACTS_AT.get(server.name))):
                    reply = await fetch(upstream, headers, ProbeRequest(path))
                    replies[path] = reply.value()
        return read(replies, model)

    def _shared_task[Result](
        self, key: Upstream | Key, ask: Callable[[], Coroutine[object, object, Result]]
    ) -> asyncio.Task[Result]:
        """Return the task that runs for `key` (a server, or a kind of prompt on it). If none runs,
        start one with `ask`.
        """
        if running := self._running.get(key):
            return running
        task = _start_task(ask())
        if not task.done():  # mitmproxy's loop starts tasks eagerly: this one may have ended.
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key))
        return task

    async def _unless_silent[Result](
        self, upstream: Upstream, ask: Callable[[], asyncio.Task[Result | None]]
    ) -> Result | None:
        """Return the result of the task that `ask` starts. If the server was silent before, return
        `None` at once, and start the task in the background at most every `REST` seconds.
        """
        rests_until = self._rests_until.get(upstream)
        if rests_until is None:
            # Other requests may wait for this task too, so the end of one request must not end it.
            return await asyncio.shield(ask())
        if rests_until <= time.monotonic():
            self._rests_until[upstream] = time.monotonic() + REST
            ask()
        return None

    async def _recognise(self, upstream: Upstream, headers: Mapping[str, str]) -> Server | None:
        """Request all `IDENTITY_PATHS` of the server at the same time, and store the profile that
        the replies show. Return the profile; `None` if the replies do not show it. If another
        process has learned the server's kind lately, return that profile without any request.
        """
        # If a profile is stored, it is checked here, and another process may just have done so: its
        # lessons are read again. If no profile is stored, the client's request that waits for this
        # method has read them a moment ago.
        before = self.servers.server(upstream)
        await self.lessons.read_store(upstream, anew=before is not None)
        if not self.servers.needs_recognition(upstream, TERM, REST):
            return self.servers.server(upstream)
        probes = [self._fetch(upstream, headers, ProbeRequest(path)) for path in IDENTITY_PATHS]
        replies = await asyncio.gather(*probes)
        by_path = dict(zip(IDENTITY_PATHS, replies, strict=True))
        server = recognise_server(by_path)
        # `server` is None if no fingerprint fits and a path had no proper answer. A later request
        # then probes again.
        if server:
            self.servers.learn_server(upstream, server, is_certain(server, by_path))
            self._forget_silence(upstream)
            self.lessons.write_store(upstream)
        return server

    async def _fetch(
        self, upstream: Upstream, headers: Mapping[str, str], probe: ProbeRequest
    ) -> ProbeReply | None:
        """Return the server's answer to a probe's request; `None` if mitmproxy reaches the server
        by another proxy, which the request would bypass. If no answer comes within `PATIENCE`
        seconds, or if `fetch` raises NoReplyError, remember that the server was silent, log it, and
        return `None`. Raises ConnectionError as `fetch` does: if the connection is refused, if the
        host is unknown, or if the server wants TLS.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                return await fetch(upstream, headers, probe) if upstream.direct else None
        except TimeoutError:
            reason = f"nothing came within {PATIENCE} s"
        except NoReplyError as error:
            reason = str(error)
        self._rests_until.setdefault(upstream, time.monotonic())
        self._log_fault(upstream, f"no answer to {probe.path}: {reason}")
        return None

    def _forget_silence(self, upstream: Upstream) -> None:
        """Forget that a server was silent, because it has answered."""
        self._rests_until.pop(upstream, None)
        self._complained.pop(upstream, None)

    def _log_fault(self, upstream: Upstream, fault: str) -> None:
        """Log a server's fault. Later faults are not logged until the server has answered."""
        if upstream not in self._complained:
            self._complained[upstream] = None
            line = bounded(f"{upstream} could not be probed: {fault}", LONGEST_LINE)
            _log.warning("think: %s (reported once)", line)


async def run_probe[Result](
    probe: Probe[Result],
    ask: Callable[[ProbeRequest], Awaitable[ProbeReply | None]],
    size: int,
    worker: ThreadPoolExecutor = BODY_THREAD,
) -> Result:
    """Run a probe: have `ask` send each of its requests, and return the probe's result. `size`:
    about how many bytes its requests have; long requests are written in the thread `worker`.
    """
    reply: ProbeReply | None = None
    while True:
        next_step = await run_aside(size, partial(advance_probe, probe, reply), worker)
        if isinstance(next_step, ProbeResult):
            return next_step.result
        reply = await ask(next_step)


def _start_task[Result](probing: Coroutine[object, object, Result]) -> asyncio.Task[Result]:
    """Start a task, and return it. By default asyncio logs the error of a failed task that nothing
    awaits. The error of this task is not logged.
    """
    task = asyncio.ensure_future(probing)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the header `authorization` for a server, `{name: value}`, with the key or token from a
    client's `headers`; empty if they have none. A key in `x-api-key` becomes a bearer token,
    because chat-completions servers expect one.
    """
    if secret := headers.get("authorization"):
        return {"authorization": secret}
    key = headers.get("x-api-key")
    return {"authorization": f"Bearer {key}"} if key else {}
