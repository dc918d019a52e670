"""The request half of an exchange: a client's request is answered here, or made ready for the
server.
"""

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from mitmproxy.http import Response

from converter.addon import messages
from converter.addon.aside import AT_ONCE, aside
from converter.addon.exchange import read_request
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import JSON, RequestTooLargeError
from converter.addon.exchange.read_request import Body, ReadRequest
from converter.addon.exchange.settings import Settings
from converter.addon.hooks.exchange_listener import fault_of
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.memory.remembering import remembering, written
from converter.addon.memory.stores import open_store
from converter.addon.probes.upstream_client import UpstreamClient, credentials
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.model_names import ends_as_variant, only_one, row_of, variant_of
from converter.addon.servers.probes import estimate_tokens
from converter.addon.servers.profiles import Server
from converter.core.dialects.dialect import Counterpart, OwnRequest, Purpose
from converter.core.model.conversation import RequestError
from converter.core.model.memory import AwayError, Memory, Store
from converter.core.wire import json_text
from converter.core.wire.checked import Fields
from converter.extras.prompt_cache.prefix import Prompt, Prompts, broken
from converter.extras.watch.thought_hook import report

_REFUSED = (
    RequestError,
    RequestTooLargeError,
    json_text.UnreadableError,
    AwayError,
    ConnectionError,
)
"""Faults for which no request goes further."""


class RequestSteps:
    """Answers requests, translates them, and begins to find out where their replies will begin."""

    def __init__(self, client: UpstreamClient, settings: Settings) -> None:
        self._client, self._known = client, client.known
        self._store = self._opened(settings)
        self._prompts = Prompts()

    def forget(self, settings: Settings) -> None:
        """Begin the memory of replies anew, as the settings say."""
        self._store.close()
        self._store = self._opened(settings)

    def _opened(self, settings: Settings) -> Store:
        store = open_store(settings)
        self._client.lessons.share(store if store.elsewhere and store.bounds.keeps else None)
        return store

    async def take(self, record: FlowRecord) -> None:
        """Take a request to its end: the flow holds an answer, or what the server is to get."""
        flow, notes = record.flow, list[str]()
        record.sides.asks(flow.request)
        await self._client.lessons.look(record.upstream)
        try:
            flow.response = await self._answered(record, notes)
            if not (flow.response or record.exchange.endpoint.is_own):
                await self._prepare(record)
        except Exception as error:
            flow.response = _refused(record, error, notes)
        record.hints += report(flow, notes, logging.INFO)
        if flow.response:
            messages.name_request(flow, record.exchange)
            if flow.request.method == "HEAD":  # mitmproxy would send it, and break what follows
                flow.response.raw_content = b""

    async def _answered(self, record: FlowRecord, notes: list[str]) -> Response | None:
        """Return the answer to a request that goes no further; None for one that does."""
        if record.too_large:
            raise RequestTooLargeError(record.exchange.settings.limits.request)
        await self._look_for_home(record)
        exchange = record.exchange
        if exchange.endpoint.is_own and not exchange.at_home:
            if not exchange.endpoint.counterpart:
                return await self._own_answer(record, notes)
            await _ask_counterpart(record, exchange.endpoint.counterpart, notes)
        elif exchange.translated and exchange.endpoint.is_request:
            return await self._translate(record, notes)
        elif exchange.endpoint.is_chat:
            await self._note(record, notes)
        return None

    async def _own_answer(self, record: FlowRecord, notes: list[str]) -> Response | None:
        body, sent, exchange = _body(record, notes), record.flow.request, record.exchange
        memory = Memory(store=self._store)
        page = "text/html" in sent.headers.get("accept", "")
        request = OwnRequest(sent.method, sent.path, body, page=page)
        if exchange.tells_models(sent.path):
            client = credentials(sent.headers)
            served = await self._client.models(record.upstream, client)
            request = replace(request, served=served)
        answer = await remembering(memory, len(body), partial(exchange.own, request, memory))
        if failed := await written(memory):
            raise failed
        return messages.made(answer) if answer else None

    async def _translate(self, record: FlowRecord, notes: list[str]) -> Response | None:
        """Make the request a chat completion, or answer with the count of its tokens."""
        flow, exchange = record.flow, record.exchange
        body, memory = _body(record, notes), Memory(store=self._store)
        reading = partial(read_request.read, exchange, body, memory)
        if len(body) > AT_ONCE or exchange.may_refer(body):
            read = await remembering(memory, len(body), reading)
        else:
            read = reading()
        read = await self._named(record, read)
        upstream, client = record.upstream, credentials(flow.request.headers)
        record.server = await self._server(record)
        record.server_parses = self._known.takes_thinking_out(upstream)
        write = partial(read.written, record.server, record.server_parses)
        recalled = self._recalled(record, memory, read, partial(write, memory), write)
        record.request = request = await recalled
        if request.earlier.spot or (request.conversation and request.conversation.own is not None):
            record.memory = memory
        notes += request.notes
        if exchange.endpoint.purpose is Purpose.COUNT:
            sent = request.body, record.length
            counted = await self._client.count(upstream, client, record.server, *sent)
            return await _counted(record, request, counted)
        flow.request.path = exchange.path
        return None

    async def _note(self, record: FlowRecord, notes: list[str]) -> None:
        """Take note of a request that goes on as it came, but for its model's name and what its
        server refuses. Raises RequestError for one that must not.
        """
        body = _body(record, notes)
        request = await aside(len(body), partial(read_request.note, record.exchange, body))
        request = await self._named(record, request)
        if AwaitedReply(request).limits.ends:
            await self._recognise(record)
        record.request = await self._restored(record, request)
        notes += record.request.notes

    async def _look_for_home(self, record: FlowRecord) -> None:
        """Find out whether the server speaks the client's dialect itself, if there is one that
        does. Raises ConnectionError when nobody is there.
        """
        if home := record.exchange.client.requests.native_of:
            record.server = await self._server(record)
            record.exchange = replace(record.exchange, at_home=record.server.name == home)

    async def _recognise(self, record: FlowRecord) -> None:
        """Find out what the server is, unless nobody is there: then who asks it hears of that."""
        with suppress(ConnectionError):
            record.server = await self._server(record)

    async def _server(self, record: FlowRecord) -> Server:
        """Return what the server is. Raises ConnectionError when nobody is there."""
        upstream, chosen = record.upstream, record.exchange.settings.server
        if chosen or not upstream.direct:
            return chosen or record.server
        return await self._client.recognise(upstream, credentials(record.flow.request.headers))

    async def _restored(self, record: FlowRecord, request: ReadRequest) -> ReadRequest:
        """Return a chat completion with the thoughts that its client has dropped."""
        if record.exchange.native or request.tells_tools:
            return request
        server = record.exchange.settings.server or self._known.server(record.upstream)
        memory = record.memory = Memory(store=self._store)
        work = partial(request.restored, memory, server)
        return await self._recalled(record, memory, request, work, lambda: request)

    async def _recalled(
        self,
        record: FlowRecord,
        memory: Memory,
        request: ReadRequest,
        work: Callable[[], ReadRequest],
        without: Callable[[], ReadRequest],
    ) -> ReadRequest:
        """Return what `work` makes of a request whose thoughts may be put back; where the memory
        is away, what `without` does.
        """
        model = request.served_model or request.asked_model
        if not (self._store.elsewhere and request.wants_thoughts(model)):
            return await aside(record.length, work)
        try:
            return await remembering(memory, record.length, work)
        except AwayError:
            return await aside(record.length, without)

    async def _named(self, record: FlowRecord, request: ReadRequest) -> ReadRequest:
        """Return the request, for the server's name of a model that clients call otherwise."""
        rows, name = record.exchange.settings.models, request.asked_model
        row, varies = row_of(rows, name), ends_as_variant(rows, name)
        if varies or (row and not row.name):
            client = credentials(record.flow.request.headers)
            listed = await self._client.models(record.upstream, client)
            row = (varies and variant_of(listed, rows, name)) or row
            row = row and replace(row, name=row.name or only_one(listed))
        if row is None:
            return request
        if row.wishes and not record.exchange.native:
            await self._recognise(record)
            parses = self._known.takes_thinking_out(record.upstream)
            request = request.wished(row, record.server, parses)
        return request.served_as(row.name) if row.name not in ("", name) else request

    async def _prepare(self, record: FlowRecord) -> None:
        """Make a request what its server is to get; begin to find out where the reply will begin,
        and whether the server has to read again what it has read for the request before.
        """
        flow, exchange, upstream = record.flow, record.exchange, record.upstream
        self._client.meets(upstream)
        if exchange.model_id:
            flow.request.path = f"{exchange.prefix}/v1/models"  # not every server has one at a time
        if record.request is None:
            record.awaited = AwaitedReply(ReadRequest(exchange), record.server)
            return
        request = record.request = self._spared(record.request, upstream)
        prompted = request.prompted(self._known, upstream) if exchange.guesses else None
        awaited = AwaitedReply(request, record.server, prompted=prompted is not None)
        record.awaited, read = awaited, prompted or request.body
        sent = _left_to_us(awaited, read)
        if exchange.translated or request.mended or sent is not request.body:
            await _send(record, sent)
        if exchange.guesses and upstream.direct and not exchange.native:
            # no server renders a native prompt for us
            given = record.server if exchange.translated else exchange.settings.server
            question = flow.request.headers, request.body, given, record.length
            self._client.ask_initial_state(upstream, *question)
        if read and exchange.endpoint.is_chat:
            record.prompt = Prompt(f"{exchange.owner} {upstream}", flow.id, read, record.length)
            if before := self._prompts.follow(record.prompt):
                record.before = before
                record.broken = await aside(record.length, partial(broken, before.body, read))

    def _spared(self, request: ReadRequest, upstream: Upstream) -> ReadRequest:
        """Return a request without what its server has refused before."""
        if request.exchange.native:
            return request
        body = self._known.spared(upstream, request.body, request.may_lack)
        return request if body is request.body else replace(request, body=body, mended=True)


async def _ask_counterpart(record: FlowRecord, counterpart: Counterpart, notes: list[str]) -> None:
    """Have the server be asked at its own endpoint. Raises RequestError and UnreadableError."""
    body, flow = _body(record, notes), record.flow
    fields = Fields(json_text.read(body))
    asked = await aside(len(body), partial(counterpart.request, fields))
    if dropped := ", ".join(name for name, value in fields.unread() if value):
        notes.append(f"no server takes it with a request: {dropped}")
    flow.request.path = record.exchange.prefix + counterpart.path
    await _send(record, asked)
    record.counterpart = counterpart


def _body(record: FlowRecord, notes: list[str]) -> bytes:
    """Return a request's body, uncompressed. Raises RequestTooLargeError."""
    limit = record.exchange.settings.limits.request
    body = messages.body(record.flow.request, notes, limit or sys.maxsize)
    if limit and len(body) > limit:
        raise RequestTooLargeError(limit)
    record.length = len(body)
    return body


def _left_to_us(awaited: AwaitedReply, body: Body) -> Body:
    """Return a request whose server ends no thought by a budget of its own, and sends a stream,
    because only there a thought can be ended.
    """
    if not (awaited.watched or awaited.kept_budgets):
        return body
    asked = {name: value for name, value in body.items() if name not in awaited.kept_budgets}
    if awaited.watched:
        asked["stream"] = True
        if "stream_options" not in awaited.server.leaves_out:
            asked["stream_options"] = {"include_usage": True}
    return asked


async def _send(record: FlowRecord, body: Body) -> None:
    """Have the server be asked this, as a chat completion where the client asked otherwise."""
    request = record.flow.request
    sent = await aside(record.length, partial(json_text.write, body))
    record.length = len(sent)
    head: dict[bytes, bytes | None] = {}
    if record.exchange.translated:
        fields = {"content-type": JSON, **credentials(request.headers)}.items()
        given = {name.encode(): value.encode("utf-8", "surrogateescape") for name, value in fields}
        head = {b"x-api-key": None, **given}
    messages.fill(request, sent, head)


def _refused(record: FlowRecord, error: Exception, notes: list[str]) -> Response:
    """Return the answer to a request that goes no further, and note why. Raises a fault of ours,
    with which only a request that is not translated can go on.
    """
    translates = record.exchange.translated and record.exchange.endpoint.is_request
    if not (translates or isinstance(error, _REFUSED)):
        raise error
    if isinstance(error, ConnectionError):
        error = ConnectionError(fault_of(record.flow, str(error)))
    words, answer = record.exchange.refusal(error)
    notes.append(words)
    return messages.made(answer)


async def _counted(record: FlowRecord, request: ReadRequest, counted: int | None) -> Response:
    """Return the count of a prompt's tokens, and who counted; None: the server did not."""
    estimate = partial(estimate_tokens, request.body)
    tokens = await aside(record.length, estimate) if counted is None else counted
    response = messages.made(record.exchange.counted(tokens))
    counter = "estimate" if counted is None else record.server.name
    response.headers["x-think-tokens-counted-by"] = counter
    return response
