"""The request half of an exchange: a client's request is answered here, or made ready for the
server.
"""

import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from mitmproxy.http import Response

from converter.dialects.dialect import Counterpart, OwnRequest, Purpose
from converter.exchange import read_request
from converter.exchange.exchange import JSON, RequestTooLargeError
from converter.exchange.read_request import Body, ReadRequest
from converter.exchange.settings import Settings
from converter.model.conversation import RequestError
from converter.model.memory import AwayError, Memory, Store
from converter.observe.prefix import Prompt, Prompts, broken
from converter.reply.awaited_reply import AwaitedReply
from converter.servers.model_names import ends_as_variant, only_one, row_of, variant_of
from converter.servers.probes import estimate_tokens
from converter.servers.profiles import Server
from converter.shell import messages
from converter.shell.aside import AT_ONCE, aside
from converter.shell.hooks.exchange_listener import fault_of
from converter.shell.keep.flow_record import FlowRecord
from converter.shell.memory.remembering import remembering, written
from converter.shell.memory.stores import open_store
from converter.shell.probes.upstream_client import UpstreamClient, credentials
from converter.shell.watch.thought_hook import report
from converter.wire import json_text
from converter.wire.checked import Fields

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
        self._client.lessons.share(store if store.elsewhere and store.keeps else None)
        return store

    async def take(self, record: FlowRecord) -> None:
        """Take a request to its end: the flow holds an answer, or what the server is to get."""
        flow, notes = record.flow, list[str]()
        record.sides.asks(flow.request)
        await self._client.lessons.look(record.upstream)
        try:
            flow.response = await self._answered(record, notes)
        except Exception as error:
            flow.response = _refused(record, error, notes)
        if not flow.response and record.exchange.endpoint.is_own:
            report(flow, notes, logging.INFO)
            return  # the server's answer goes on as it comes
        if not flow.response:
            await self._spare(record)
        request = record.request or ReadRequest(record.exchange)
        record.awaited = AwaitedReply(request, record.server)
        if not flow.response:
            self._client.meets(record.upstream)
            await self._compare(record, await self._prepare(record))
            if record.awaited.watched or record.awaited.kept_budgets:
                await _leave_the_end_to_us(record, record.awaited)
        record.hints += report(flow, notes, logging.INFO)
        if flow.response:
            messages.name_request(flow, record.exchange)
            if flow.request.method == "HEAD":  # mitmproxy would send it, and break what follows
                flow.response.raw_content = b""

    async def _spare(self, record: FlowRecord) -> None:
        """Leave out of a request what its server has refused before."""
        request, exchange = record.request, record.exchange
        if request is None or exchange.native:
            return
        pictures = exchange.settings.pictures == "text"
        body = self._known.spared(record.upstream, request.body, pictures)
        if body is not request.body:
            record.request = replace(request, body=body)
            await _send(record, body)

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
        body = _body(record, notes)
        size, memory = len(body), Memory(store=self._store)
        reading = partial(read_request.read, exchange, body, memory)
        if size > AT_ONCE or exchange.may_refer(body):
            read = await remembering(memory, size, reading)
        else:
            read = await aside(size, reading)
        read = await self._named(record, read)
        upstream, client = record.upstream, credentials(flow.request.headers)
        record.server = await self._server(record)
        record.server_parses = self._known.takes_thinking_out(upstream)
        write = partial(read.written, record.server, record.server_parses)
        record.request = request = await self._recalled(
            memory, size, read, partial(write, memory), write
        )
        if request.earlier.spot or (request.conversation and request.conversation.own is not None):
            record.memory = memory
        notes += request.notes
        if exchange.endpoint.purpose is Purpose.COUNT:
            counted = await self._client.count(upstream, client, record.server, request.body, size)
            return await _counted(record, request, counted, size)
        flow.request.path = exchange.path
        await _send(record, request.body, _fields(client), size)
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
        record.request = await self._restored(record, request, len(body))
        notes += record.request.notes
        if record.request.served_model or record.request.mended:
            await _send(record, record.request.body)

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

    async def _restored(self, record: FlowRecord, request: ReadRequest, size: int) -> ReadRequest:
        """Return a chat completion with the thoughts that its client has dropped."""
        if record.exchange.native or request.tells_tools:
            return request
        server = record.exchange.settings.server or self._known.server(record.upstream)
        memory = record.memory = Memory(store=self._store)
        work = partial(request.restored, memory, server)
        return await self._recalled(memory, size, request, work, lambda: request)

    async def _recalled(
        self,
        memory: Memory,
        size: int,
        request: ReadRequest,
        work: Callable[[], ReadRequest],
        without: Callable[[], ReadRequest],
    ) -> ReadRequest:
        """Return what `work` makes of a request whose thoughts may be put back; where the memory
        is away, what `without` does.
        """
        model = request.served_model or request.asked_model
        if not (self._store.elsewhere and request.wants_thoughts(model)):
            return await aside(size, work)
        try:
            return await remembering(memory, size, work)
        except AwayError:
            return await aside(size, without)

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

    async def _prepare(self, record: FlowRecord) -> Body | None:
        """Begin to find out where the reply will begin; ask the model to think, if it is to be.
        Return what the server gets, where that was read.
        """
        flow, exchange, request = record.flow, record.exchange, record.request
        if exchange.model_id:
            flow.request.path = f"{exchange.prefix}/v1/models"  # not every server has one at a time
        if request is None or record.awaited is None:
            return None
        if request.tells_tools:
            await _send(record, request.body)
        if not exchange.guesses:
            return request.body
        upstream = record.upstream
        if upstream.direct and not exchange.native:  # no server renders a native prompt for us
            given = record.server if exchange.translated else exchange.settings.server
            question = flow.request.headers, request.body, given, record.length
            self._client.ask_initial_state(upstream, *question)
        if prompted := request.prompted(self._known, upstream):
            record.awaited = replace(record.awaited, prompted=True)
            await _send(record, prompted)
        return prompted or request.body

    async def _compare(self, record: FlowRecord, body: Body | None) -> None:
        """Find out whether the server has to read again what it has read for the request before."""
        if body and record.exchange.endpoint.is_chat:
            whose, size = f"{record.exchange.owner} {record.upstream}", record.length
            record.prompt = Prompt(whose, record.flow.id, body, size)
            if before := self._prompts.follow(record.prompt):
                record.before = before
                record.broken = await aside(size, partial(broken, before.body, body))


async def _ask_counterpart(record: FlowRecord, counterpart: Counterpart, notes: list[str]) -> None:
    """Have the server be asked at its own endpoint. Raises RequestError and UnreadableError."""
    body, flow = _body(record, notes), record.flow
    fields = Fields(json_text.read(body))
    asked = await aside(len(body), partial(counterpart.request, fields))
    if dropped := ", ".join(name for name, value in fields.unread() if value):
        notes.append(f"no server takes it with a request: {dropped}")
    flow.request.path = record.exchange.prefix + counterpart.path
    await _send(record, asked, _fields(credentials(flow.request.headers)))
    record.counterpart = counterpart


def _body(record: FlowRecord, notes: list[str]) -> bytes:
    """Return a request's body, uncompressed. Raises RequestTooLargeError."""
    limit = record.exchange.settings.limits.request
    body = messages.body(record.flow.request, notes, limit or sys.maxsize)
    if limit and len(body) > limit:
        raise RequestTooLargeError(limit)
    return body


def _fields(client: Mapping[str, str]) -> dict[bytes, bytes | None]:
    """Return the fields of a chat completion's head. `client`: its credentials there."""
    fields = {"content-type": JSON, **client}.items()
    given = {name.encode(): value.encode("utf-8", "surrogateescape") for name, value in fields}
    return {b"x-api-key": None, **given}


async def _leave_the_end_to_us(record: FlowRecord, awaited: AwaitedReply) -> None:
    """Have the server end no thought by a budget of its own, and send a stream, because only
    there a thought can be ended.
    """
    body = json_text.read_or_none(messages.content_of(record.flow.request))
    if not isinstance(body, dict):
        return
    asked = {name: value for name, value in body.items() if name not in awaited.kept_budgets}
    if awaited.watched:
        asked["stream"] = True
        if "stream_options" not in awaited.server.leaves_out:
            asked["stream_options"] = {"include_usage": True}
    await _send(record, asked)


async def _send(
    record: FlowRecord,
    body: Body,
    fields: Mapping[bytes, bytes | None] = messages.NO_FIELDS,
    size: int = 0,
) -> None:
    """Have the server be asked this, with these fields in its head. A request is about as long as
    it came, or of that `size`.
    """
    sent = await aside(size or record.length, partial(json_text.write, body))
    messages.fill(record.flow.request, sent, fields)


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


async def _counted(
    record: FlowRecord, request: ReadRequest, counted: int | None, size: int
) -> Response:
    """Return the count of a prompt's tokens, and who counted; None: the server did not."""
    estimate = partial(estimate_tokens, request.body)
    tokens = await aside(size, estimate) if counted is None else counted
    response = messages.made(record.exchange.counted(tokens))
    counter = "estimate" if counted is None else record.server.name
    response.headers["x-think-tokens-counted-by"] = counter
    return response
