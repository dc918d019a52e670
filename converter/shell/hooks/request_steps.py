"""The request half of an exchange: a client's request is answered here, or made ready for the
server.
"""

import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from mitmproxy.http import HTTPFlow, Response

from converter.dialects.dialect import OwnRequest
from converter.dialects.endpoints import Counterpart
from converter.exchange import read_request
from converter.exchange.exchange import JSON, Exchange, RequestTooLargeError
from converter.exchange.read_request import Body, ReadRequest
from converter.exchange.settings import Settings
from converter.model.conversation import RequestError
from converter.model.memory import AwayError, Memory
from converter.observe.prefix import Prompt, Prompts, broken
from converter.reply.awaited_reply import AwaitedReply
from converter.servers.known_servers import KnownServers
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


class RequestSteps:
    """Answers requests, translates them, and begins to find out where their replies will begin."""

    def __init__(self, known: KnownServers, client: UpstreamClient, settings: Settings) -> None:
        self._known = known
        self._client = client
        self._store = open_store(settings)
        self._prompts = Prompts()

    def forget(self, settings: Settings) -> None:
        """Begin the memory of replies anew, as the settings say."""
        self._store.close()
        self._store = open_store(settings)

    async def take(self, flow: HTTPFlow, record: FlowRecord) -> None:
        """Take a request to its end: the flow holds an answer, or what the server is to get."""
        record.sides.asks(flow.request)
        notes: list[str] = []
        try:
            flow.response = await self._answered(flow, record, notes)
        except (RequestTooLargeError, AwayError) as error:
            flow.response = _refused(record.exchange, error, notes)
        if not flow.response and record.exchange.endpoint.is_own:
            report(flow, notes, logging.INFO)
            return  # the server's answer goes on as it comes
        if not flow.response:
            await self._spare(flow, record)
        request = record.request or ReadRequest(record.exchange)
        record.awaited = AwaitedReply(request, record.server)
        if not flow.response:
            self._client.meets(messages.upstream(flow, record.exchange))
            await self._compare(flow, record, await self._prepare(flow, record))
            if record.awaited.watched or record.awaited.kept_budgets:
                await _leave_the_end_to_us(flow, record.awaited)
        record.hints += report(flow, notes, logging.INFO)
        if flow.response:
            messages.name_request(flow, record.exchange)
            if flow.request.method == "HEAD":  # mitmproxy would send it, and break what follows
                flow.response.raw_content = b""

    async def _spare(self, flow: HTTPFlow, record: FlowRecord) -> None:
        """Leave out of a request what its server has refused before."""
        request, exchange = record.request, record.exchange
        if request is None or exchange.native:
            return
        pictures = exchange.settings.pictures == "text"
        body = self._known.spared(messages.upstream(flow, exchange), request.body, pictures)
        if body is not request.body:
            record.request = replace(request, body=body)
            await _send(flow, body)

    async def _answered(
        self, flow: HTTPFlow, record: FlowRecord, notes: list[str]
    ) -> Response | None:
        """Return the answer to a request that goes no further; None for one that does."""
        if record.too_large:
            raise RequestTooLargeError(record.exchange.settings.limits.request)
        try:
            await self._look_for_home(flow, record)
        except ConnectionError as error:
            return _not_there(flow, record, error, notes)
        exchange = record.exchange
        if exchange.endpoint.is_own:
            if exchange.at_home:
                return None
            if exchange.endpoint.counterpart:
                return await _ask_counterpart(flow, record, exchange.endpoint.counterpart, notes)
            return await self._own_answer(flow, exchange, notes)
        if exchange.translated and exchange.endpoint.is_request:
            return await self._answer_or_translate(flow, record, notes)
        return await self._note(flow, record, notes) if exchange.endpoint.is_chat else None

    async def _own_answer(
        self, flow: HTTPFlow, exchange: Exchange, notes: list[str]
    ) -> Response | None:
        body, sent = _body(flow, exchange, notes), flow.request
        memory = Memory(store=self._store)
        page = "text/html" in sent.headers.get("accept", "")
        request = OwnRequest(sent.method, sent.path, body, page=page)
        if exchange.tells_models(sent.path):
            client = credentials(sent.headers)
            served = await self._client.models(messages.upstream(flow, exchange), client)
            request = replace(request, served=served)
        answer = await remembering(self._store, len(body), partial(exchange.own, request, memory))
        if failed := await written(memory):
            raise failed
        return messages.made(answer) if answer else None

    async def _answer_or_translate(
        self, flow: HTTPFlow, record: FlowRecord, notes: list[str]
    ) -> Response | None:
        """Return the answer to a request that goes no further; never raise, or it would go on as it
        came.
        """
        try:
            return await self._translate(flow, record, notes)
        except ConnectionError as error:
            return _not_there(flow, record, error, notes)
        except Exception as error:
            return _refused(record.exchange, error, notes)

    async def _translate(
        self, flow: HTTPFlow, record: FlowRecord, notes: list[str]
    ) -> Response | None:
        """Make the request a chat completion, or answer with the count of its tokens."""
        exchange = record.exchange
        body = _body(flow, exchange, notes)
        size, memory = len(body), Memory(store=self._store)
        reading = partial(read_request.read, exchange, body, memory)
        if size > AT_ONCE or exchange.may_refer(body):
            read = await remembering(self._store, size, reading)
        else:
            read = await aside(size, reading)
        read = await self._named(flow, record, read)
        upstream, client = messages.upstream(flow, exchange), credentials(flow.request.headers)
        record.server = await self._server(flow, record)
        record.server_parses = self._known.takes_thinking_out(upstream)
        write = partial(read.written, record.server, record.server_parses)
        record.request = request = await self._recalled(size, read, partial(write, memory), write)
        if request.earlier.spot or (request.conversation and request.conversation.own is not None):
            record.memory = memory
        notes += request.notes
        if exchange.endpoint.is_count:
            counted = await self._client.count(upstream, client, record.server, request.body, size)
            return await _counted(record, request, counted, size)
        flow.request.path = exchange.path
        await _send(flow, request.body, {b"x-api-key": None, **_fields(client)}, size)
        return None

    async def _note(self, flow: HTTPFlow, record: FlowRecord, notes: list[str]) -> Response | None:
        """Take note of a request that goes on as it came, but for its model's name and what its
        server refuses; return the answer to one that must not.
        """
        body = _body(flow, record.exchange, notes)
        try:
            request = await aside(len(body), partial(read_request.note, record.exchange, body))
        except RequestError as error:
            return _refused(record.exchange, error, notes)
        request = await self._named(flow, record, request)
        if AwaitedReply(request).limits.ends:
            await self._recognise(flow, record)
        record.request = await self._restored(flow, record, request, len(body))
        notes += record.request.notes
        if record.request.served_model or record.request.mended:
            await _send(flow, record.request.body)
        return None

    async def _look_for_home(self, flow: HTTPFlow, record: FlowRecord) -> None:
        """Find out whether the server speaks the client's dialect itself, if there is one that
        does. Raises ConnectionError when nobody is there.
        """
        if home := record.exchange.client.requests.native_of:
            record.server = await self._server(flow, record)
            record.exchange = replace(record.exchange, at_home=record.server.name == home)

    async def _recognise(self, flow: HTTPFlow, record: FlowRecord) -> None:
        """Find out what the server is, unless nobody is there: then who asks it hears of that."""
        with suppress(ConnectionError):
            record.server = await self._server(flow, record)

    async def _server(self, flow: HTTPFlow, record: FlowRecord) -> Server:
        """Return what the server is. Raises ConnectionError when nobody is there."""
        upstream, chosen = messages.upstream(flow, record.exchange), record.exchange.settings.server
        if chosen or not upstream.direct:
            return chosen or record.server
        return await self._client.recognise(upstream, credentials(flow.request.headers))

    async def _restored(
        self, flow: HTTPFlow, record: FlowRecord, request: ReadRequest, size: int
    ) -> ReadRequest:
        """Return a chat completion with the thoughts that its client has dropped."""
        if record.exchange.native or request.tells_tools:
            return request
        known = self._known.server(messages.upstream(flow, record.exchange))
        server = record.exchange.settings.server or known
        memory = record.memory = Memory(store=self._store)
        work = partial(request.restored, memory, server)
        return await self._recalled(size, request, work, lambda: request)

    async def _recalled(
        self,
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
            return await remembering(self._store, size, work)
        except AwayError:
            return await aside(size, without)

    async def _named(self, flow: HTTPFlow, record: FlowRecord, request: ReadRequest) -> ReadRequest:
        """Return the request, for the server's name of a model that clients call otherwise."""
        rows, name = record.exchange.settings.models, request.asked_model
        row, varies = row_of(rows, name), ends_as_variant(rows, name)
        upstream = messages.upstream(flow, record.exchange)
        if varies or (row and not row.name):
            listed = await self._client.models(upstream, credentials(flow.request.headers))
            row = (varies and variant_of(listed, rows, name)) or row
            row = row and replace(row, name=row.name or only_one(listed))
        if row is None:
            return request
        if row.wishes and not record.exchange.native:
            await self._recognise(flow, record)
            parses = self._known.takes_thinking_out(upstream)
            request = request.wished(row, record.server, parses)
        return request.served_as(row.name) if row.name not in ("", name) else request

    async def _prepare(self, flow: HTTPFlow, record: FlowRecord) -> Body | None:
        """Begin to find out where the reply will begin; ask the model to think, if it is to be.
        Return what the server gets, where that was read.
        """
        exchange, request = record.exchange, record.request
        if exchange.model_id:
            flow.request.path = f"{exchange.prefix}/v1/models"  # not every server has one at a time
        if request is None or record.awaited is None:
            return None
        if request.tells_tools:
            await _send(flow, request.body)
        if not exchange.guesses:
            return request.body
        upstream = messages.upstream(flow, exchange)
        if upstream.direct and not exchange.native:  # no server renders a native prompt for us
            given = record.server if exchange.translated else exchange.settings.server
            question = (
                flow.request.headers,
                request.body,
                given,
                len(flow.request.raw_content or b""),
            )
            self._client.ask_initial_state(upstream, *question)
        if prompted := request.prompted(self._known, upstream):
            record.awaited = replace(record.awaited, prompted=True)
            await _send(flow, prompted)
        return prompted or request.body

    async def _compare(self, flow: HTTPFlow, record: FlowRecord, body: Body | None) -> None:
        """Find out whether the server has to read again what it has read for the request before."""
        if body and record.exchange.endpoint.is_chat:
            size = len(flow.request.raw_content or b"")
            whose = f"{record.exchange.owner} {messages.upstream(flow, record.exchange)}"
            record.prompt = Prompt(whose, flow.id, body, size)
            if before := self._prompts.follow(record.prompt):
                record.before = before
                record.broken = await aside(size, partial(broken, before.body, body))


async def _ask_counterpart(
    flow: HTTPFlow, record: FlowRecord, counterpart: Counterpart, notes: list[str]
) -> Response | None:
    """Have the server be asked at its own endpoint; return the answer to a request that goes no
    further.
    """
    body = _body(flow, record.exchange, notes)
    try:
        fields = Fields(json_text.read(body))
        asked = await aside(len(body), partial(counterpart.request, fields))
    except (RequestError, json_text.UnreadableError) as error:
        return _refused(record.exchange, error, notes)
    if dropped := ", ".join(name for name, value in fields.unread() if value):
        notes.append(f"no server takes it with a request: {dropped}")
    flow.request.path = record.exchange.prefix + counterpart.path
    client = credentials(flow.request.headers)
    await _send(flow, asked, {b"x-api-key": None, **_fields(client)})
    record.counterpart = counterpart
    return None


def _body(flow: HTTPFlow, exchange: Exchange, notes: list[str]) -> bytes:
    """Return a request's body, uncompressed. Raises RequestTooLargeError."""
    limit = exchange.settings.limits.request
    body = messages.body(flow.request, notes, limit or sys.maxsize)
    if limit and len(body) > limit:
        raise RequestTooLargeError(limit)
    return body


def _fields(client: Mapping[str, str]) -> dict[bytes, bytes | None]:
    """Return the fields of a chat completion's head. `client`: its credentials there."""
    fields = {"content-type": JSON, **client}
    return {
        name.encode(): value.encode("utf-8", "surrogateescape") for name, value in fields.items()
    }


async def _leave_the_end_to_us(flow: HTTPFlow, awaited: AwaitedReply) -> None:
    """Have the server end no thought by a budget of its own, and send a stream, because only
    there a thought can be ended.
    """
    body = json_text.read_or_none(messages.content_of(flow.request))
    if not isinstance(body, dict):
        return
    asked = {name: value for name, value in body.items() if name not in awaited.kept_budgets}
    if awaited.watched:
        asked["stream"] = True
        if "stream_options" not in awaited.server.leaves_out:
            asked["stream_options"] = {"include_usage": True}
    await _send(flow, asked)


async def _send(
    flow: HTTPFlow,
    body: Body,
    fields: Mapping[bytes, bytes | None] = messages.NO_FIELDS,
    size: int = 0,
) -> None:
    """Have the server be asked this, with these fields in its head. A request is about as long as
    it came, or of that `size`.
    """
    size = size or len(flow.request.raw_content or b"")
    messages.fill(flow.request, await aside(size, partial(json_text.write, body)), fields)


def _not_there(
    flow: HTTPFlow, record: FlowRecord, error: ConnectionError, notes: list[str]
) -> Response:
    fault = ConnectionError(fault_of(flow, str(error)).words)
    return _refused(record.exchange, fault, notes)


def _refused(exchange: Exchange, error: Exception, notes: list[str]) -> Response:
    """Return the answer to a request that goes no further, and note why."""
    words, answer = exchange.refusal(error)
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
