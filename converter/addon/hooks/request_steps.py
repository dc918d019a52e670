"""The request half of an exchange: `STEPS` is the way of a client's request, which ends with an
answer of the addon's own or with what the server is to get.

A step takes a request one bit further (`Asked`), and returns the response where it goes no further.
Its row in the table names the kinds of exchange (`Kind`) that take it; what an exchange is, is
decided when it begins, and once more in `home`.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from mitmproxy.http import Response

from converter.addon import http_messages
from converter.addon.aside import AT_ONCE, BODIES, Worker, aside, is_quick
from converter.addon.exchange import read_request
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import JSON, Kind, RequestTooLargeError
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.exchange.settings import Settings
from converter.addon.hooks.exchange_listener import fault_of
from converter.addon.hooks.refused import for_our_reader
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.log_lines import report
from converter.addon.memory.known_turns import SHORT, KnownTurns
from converter.addon.memory.remembering import remembering, written
from converter.addon.memory.stores import open_lessons, open_store
from converter.addon.probes.upstream_client import UpstreamClient, credentials
from converter.addon.servers import unread_replies
from converter.addon.servers.earlier_calls import MODELS_WITH_IDS, with_ids_of_model
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.model_names import may_be_variant, only_one, row_of, variant_of
from converter.addon.servers.probes import ProbeRequest, estimate_tokens
from converter.addon.servers.profiles import Server
from converter.addon.servers.unread_replies import RENDERED
from converter.core.dialects.dialect import OwnRequest
from converter.core.dialects.request_facts import COUNTED, COUNTING, STOP_FIELDS
from converter.core.model.conversation import RequestError
from converter.core.model.memory import AwayError, Memory
from converter.core.wire import json_text, long_json
from converter.core.wire.checked import Fields
from converter.core.wire.json_text import UnreadableError

_REFUSED = (RequestError, RequestTooLargeError, UnreadableError, AwayError, ConnectionError)
"""Faults for which no request goes further."""
_COUNTING = json_text.write({COUNTING: COUNTED})[:-1] + b","


@dataclass(slots=True)
class Asked:
    """A request on its way. `client`: asks servers. `memory`: the client's kept replies.
    `upstream`: the server, and `keys` the header that lets the client in there. `turns`: those
    of earlier requests. `worker`: does what takes long.

    `body`: the client's bytes. `notes`: what a person should know. `request`: the request as it was
    read so far. `parses`: the server is known to take thinking out of the text. `sent`:
    the fields that the server is to get.
    """

    record: FlowRecord
    client: UpstreamClient
    memory: Memory
    upstream: Upstream
    keys: Mapping[str, str]
    turns: KnownTurns
    request: ReadRequest
    worker: Worker
    body: bytes = b""
    notes: list[str] = field(default_factory=list)
    parses: bool = False
    sent: Mapping[str, object] = field(default_factory=dict)


class RequestSteps:
    """Takes requests the way of the table; has the memory of replies."""

    def __init__(self, client: UpstreamClient, settings: Settings) -> None:
        self._client = client
        self._turns = KnownTurns()
        self._in_turn = asyncio.Lock()
        self._open_stores(settings)

    def forget(self, settings: Settings) -> None:
        """Begin the memory of replies anew, as the settings say."""
        for store in {self._store, self._lessons or self._store}:
            store.close()
        self._open_stores(settings)

    def _open_stores(self, settings: Settings) -> None:
        self._store = open_store(settings)
        self._lessons = open_lessons(settings, self._store)
        self._client.lessons.share(self._lessons)

    async def take(self, record: FlowRecord) -> None:
        """Take a request to its end: the flow holds an answer, or what the server is to get."""
        flow = record.flow
        upstream = http_messages.upstream(flow, record.exchange)
        asked = Asked(
            record,
            self._client,
            Memory(store=self._store, owner=record.exchange.owner),
            upstream,
            credentials(flow.request.headers),
            self._turns,
            ReadRequest(record.exchange),
            self._in_turn,
        )
        record.sides.asks(flow.request)
        if self._lessons:
            await self._client.lessons.look(upstream)
        try:
            for step, kinds in STEPS:
                if record.exchange.kind in kinds and (response := await step(asked)):
                    flow.response = response
                    break
        except Exception as error:
            flow.response = _refused(record, error, asked.notes)
        if asked.notes:
            record.hints += report(record.client_request, asked.notes, logging.INFO)
        if flow.response:
            http_messages.name_request(flow, record.exchange)
            if flow.request.method == "HEAD":  # mitmproxy would send it, and break what follows
                flow.response.raw_content = b""


async def size(asked: Asked) -> None:
    """Take the body, uncompressed. Raises RequestTooLargeError."""
    record = asked.record
    limit = record.exchange.settings.limits.request
    if record.too_large:
        raise RequestTooLargeError(limit)
    asked.body = http_messages.body(record.flow.request, asked.notes, limit or sys.maxsize)
    if limit and len(asked.body) > limit:
        raise RequestTooLargeError(limit)
    record.length = len(asked.body)
    if record.length > AT_ONCE and not is_quick(asked.body):
        asked.worker = BODIES


async def home(asked: Asked) -> None:
    """Find out whether the server speaks the client's dialect itself, if there is one that does.
    Raises ConnectionError when nobody is there.
    """
    record = asked.record
    if native_of := record.exchange.client.requests.native_of:
        record.server = await _server(asked)
        at_home = record.server.name == native_of
        record.exchange = replace(record.exchange, at_home=at_home)
        asked.request = ReadRequest(record.exchange)


async def own_answer(asked: Asked) -> Response | None:
    """Answer what needs no model; what even the addon has no answer to, the server gets."""
    record, memory, sent = asked.record, asked.memory, asked.record.flow.request
    exchange = record.exchange
    page = "text/html" in sent.headers.get("accept", "")
    request = OwnRequest(sent.method, sent.path, asked.body, page=page)
    if exchange.tells_models(sent.path):
        served = await asked.client.models(asked.upstream, asked.keys)
        request = replace(request, served=served)
    answer = await remembering(memory, record.length, partial(exchange.own, request, memory))
    if failed := await written(memory):
        raise failed
    return http_messages.response_of(answer) if answer else None


async def counterpart(asked: Asked) -> None:
    """Have the server be asked at its own endpoint. Raises RequestError and UnreadableError."""
    record, there = asked.record, asked.record.exchange.endpoint.counterpart
    assert there  # by its kind

    def asking() -> tuple[Mapping[str, object], Fields]:
        fields = Fields(json_text.read(asked.body))
        return there.request(fields), fields

    asked.sent, fields = await aside(record.length, asking, asked.worker)
    if dropped := ", ".join(name for name, value in fields.unread() if value):
        asked.notes.append(f"no server takes it with a request: {dropped}")
    record.flow.request.path = record.exchange.prefix + there.path


async def read(asked: Asked) -> None:
    """Read a request of another dialect, with the replies that it refers to. Raises RequestError,
    UnreadableError and AwayError.
    """
    exchange, body, length = asked.record.exchange, asked.body, asked.record.length
    repeats = partial(asked.turns.read, exchange.owner) if length >= SHORT else None
    work = partial(read_request.read, exchange, body, asked.memory, repeats)
    if exchange.may_refer(body):
        asked.request = await remembering(asked.memory, length, work, asked.worker)
    else:
        asked.request = work() if length <= AT_ONCE else await aside(length, work, asked.worker)


async def note(asked: Asked) -> None:
    """Take note of a request that goes on as it came, but for its model's name and what its server
    refuses. Raises RequestError for one that must not.
    """
    exchange, body = asked.record.exchange, asked.body
    repeats = partial(asked.turns.read, exchange.owner) if len(body) >= SHORT else None
    noting = partial(read_request.note, exchange, body, repeats)
    asked.request = await aside(len(asked.body), noting, asked.worker)


async def model_name(asked: Asked) -> None:
    """Have the model be asked for by the server's name, where clients call it otherwise, and wish
    for the thinking that its name stands for.
    """
    request, record = asked.request, asked.record
    rows, name = record.exchange.settings.models, request.asked_model
    row, varies = row_of(rows, name) if rows else None, may_be_variant(rows, name)
    if varies or (row and not row.name):
        listed = await asked.client.models(asked.upstream, asked.keys)
        row = (varies and variant_of(listed, rows, name)) or row
        row = row and replace(row, name=row.name or only_one(listed))
    if row is None:
        return
    if row.wishes and not record.exchange.native:
        await _recognise(asked)
        parses = asked.client.servers.takes_thinking_out(asked.upstream, row.name or name)
        request = request.wished(row, record.server, parses)
    asked.request = request.served_as(row.name) if row.name not in ("", name) else request


async def recognise(asked: Asked) -> None:
    """Find out what the server is, for which the request is to be written. Raises ConnectionError
    when nobody is there.
    """
    record = asked.record
    record.server = await _server(asked)
    model = asked.request.served_model or asked.request.asked_model
    asked.parses = asked.client.servers.takes_thinking_out(asked.upstream, model)


async def recognise_ended(asked: Asked) -> None:
    """Find out what the server is, where a thought may be ended: it has to go on behind that."""
    if AwaitedReply(asked.request).limits.ends:
        await _recognise(asked)


async def write(asked: Asked) -> None:
    """Make the request a chat completion, with the thoughts that its client has dropped."""
    record, memory = asked.record, asked.memory
    writing = partial(asked.request.written, record.server, asked.parses)
    request = await _recalled(asked, partial(writing, memory), writing)
    record.request = asked.request = request
    if request.earlier.spot or (request.conversation and request.conversation.own is not None):
        record.memory = memory
    asked.notes += request.notes


async def restore(asked: Asked) -> None:
    """Put the thoughts that its client has dropped into a chat completion."""
    record, request = asked.record, asked.request
    if request.tells_tools:
        return
    server = record.exchange.settings.server or asked.client.servers.server(asked.upstream)
    record.memory = asked.memory
    if request.wants_thoughts(str(request.body.get("model") or ""), server):
        restoring = partial(request.restored, asked.memory, server)
        asked.request = await _recalled(asked, restoring, lambda: request)


async def write_ids(asked: Asked) -> None:
    """Give earlier calls the ids that the model's template needs; behind what finds kept thoughts
    by the client's own ids.
    """
    request = asked.request
    if MODELS_WITH_IDS.search(str(request.body.get("model"))):
        asked.record.request = asked.request = request.with_ids(with_ids_of_model(request.body))


async def take_note(asked: Asked) -> None:
    """Keep what was read of a request that is not translated."""
    asked.record.request = asked.request
    asked.notes += asked.request.notes


async def count(asked: Asked) -> Response:
    """Answer with the count of a prompt's tokens, and who counted."""
    record, body = asked.record, asked.request.body
    path = record.flow.request.path.partition("?")[0].removeprefix(record.exchange.prefix)
    sent = body, record.length, ProbeRequest(path, asked.body)
    tokens = await asked.client.count(asked.upstream, asked.keys, record.server, *sent)
    counter = record.server.name
    if tokens is None:  # the server cannot
        counter, tokens = "estimate", await aside(record.length, partial(estimate_tokens, body))
    response = http_messages.response_of(record.exchange.counted(tokens))
    response.headers["x-think-tokens-counted-by"] = counter
    return response


async def meet(asked: Asked) -> None:
    """Take note that clients are sent to this server."""
    asked.client.meets(asked.upstream)


async def models(asked: Asked) -> None:
    """Ask for all models where a client asks for one: not every server has them one at a time."""
    record = asked.record
    record.awaited = AwaitedReply(asked.request, record.server)
    if record.exchange.model_id:
        record.flow.request.path = f"{record.exchange.prefix}/v1/models"


async def spare(asked: Asked) -> None:
    """Leave out what the server has refused before."""
    record, request = asked.record, asked.request
    body = asked.client.servers.spared(asked.upstream, request.body, request.may_lack)
    if body is not request.body:
        record.request = asked.request = replace(request, body=body, mended=True)


async def ask_to_think(asked: Asked) -> None:
    """Ask a model to think that does not do so by itself; know now what reply is awaited."""
    record, request, servers = asked.record, asked.request, asked.client.servers
    start, prompted = record.exchange.settings.start, None
    if record.exchange.guesses:
        prompted = request.prompted(servers, asked.upstream)
    asked.sent = prompted or request.body
    has_stops = not STOP_FIELDS.isdisjoint(request.body)
    first = has_stops and servers.thinks_first(asked.upstream, request.body, start)
    facts = partial(AwaitedReply, request, record.server, parses=asked.parses, sent=asked.sent)
    record.awaited = facts(prompted=prompted is not None, thinks_first=first)


async def left_to_us(asked: Asked) -> None:
    """Have the server end no thought by a budget or a stop string, and send a stream, because only
    there a thought or an answer can be ended.
    """
    awaited = asked.record.awaited
    if awaited is None or not (awaited.watched or awaited.kept_fields):
        return
    kept = awaited.kept_fields
    sent = {name: value for name, value in asked.sent.items() if name not in kept}
    if awaited.watched:
        sent["stream"] = True
        takes = asked.client.servers.takes(asked.upstream, sent, COUNTING)
        if takes and COUNTING not in awaited.server.leaves_out:
            sent[COUNTING] = COUNTED
    asked.sent = sent


async def ask_usage(asked: Asked) -> None:
    """Have a stream tell its counts where its client has not asked for them, which keeps them from
    the client. A request that goes on as it came gets the field into its own bytes.
    """
    sent, record = asked.sent, asked.record
    if sent.get("stream") is not True or COUNTING in sent:
        return
    settings, servers, awaited = record.exchange.settings, asked.client.servers, record.awaited
    server = settings.server or servers.server(asked.upstream)
    counts = server is not None and (server.counts or COUNTING in server.leaves_out)
    off = settings.usage == "off" or counts or not servers.takes(asked.upstream, sent, COUNTING)
    if off:
        return
    assert awaited  # since the step before
    counted = {**sent, COUNTING: COUNTED}
    record.awaited = replace(awaited, sent=counted)
    if asked.request.mended or sent is not asked.request.body:
        asked.sent = counted
    else:
        body = asked.body.replace(b"{", _COUNTING, 1)
        record.length = len(body)
        http_messages.fill(record.flow.request, body)


async def send(asked: Asked) -> None:
    """Give the server the request, unless it is to get the client's own bytes; as a chat completion
    where the client asked otherwise.
    """
    record, sent = asked.record, asked.sent
    translated = record.exchange.translated
    if record.exchange.kind is Kind.TRANSLATED:
        record.flow.request.path = record.exchange.path
    came, repeated = record.length, asked.request.repeated
    if not (translated or asked.request.mended or sent is not asked.request.body):
        if repeated:
            asked.turns.keep(record.exchange.owner, repeated, came)
        return
    write = long_json.write if asked.worker is BODIES else json_text.write
    writing = partial(repeated.body, sent, write) if repeated else partial(write, sent)
    body = await aside(came, writing, asked.worker)
    if repeated:
        asked.turns.keep(record.exchange.owner, repeated, came)
    record.length = len(body)
    head: dict[bytes, bytes | None] = {}
    if translated:
        fields = {"content-type": JSON, **asked.keys}.items()
        given = {name.encode(): value.encode("utf-8", "surrogateescape") for name, value in fields}
        head = {b"x-api-key": None, **given}
    http_messages.fill(record.flow.request, body, head)


async def ask_for_text(asked: Asked) -> None:
    """Have a server whose own reader throws this model's replies away write the prompt, and send
    that; where it writes none, tell it of the tools in words.
    """
    record, body, servers = asked.record, asked.sent, asked.client.servers
    unread = RENDERED in asked.request.may_lack and servers.is_unread(asked.upstream, body)
    if not unread or record.awaited is None or not unread_replies.is_plain(body):
        return
    prompt = await asked.client.prompt(asked.upstream, asked.keys, body, record.length)
    text, path = for_our_reader(record, body, prompt)
    if text is not body:
        record.flow.request.path = path or record.flow.request.path
        writing = partial(json_text.write, text)
        http_messages.fill(record.flow.request, await aside(record.length, writing, asked.worker))


async def ask_start(asked: Asked) -> None:
    """Begin to find out where the reply will begin; no server renders a native prompt for us."""
    record, exchange = asked.record, asked.record.exchange
    if exchange.guesses and asked.upstream.direct:
        server = record.server if exchange.translated else exchange.settings.server
        question = record.flow.request.headers, asked.request.body, server, record.length
        asked.client.ask_initial_state(asked.upstream, *question)


type Step = Callable[[Asked], Awaitable[Response | None]]
EVERY = frozenset(Kind)
WRITTEN = frozenset((Kind.TRANSLATED, Kind.COUNTED))
AS_IT_CAME = frozenset((Kind.CHAT, Kind.NATIVE))
REPLIED = AS_IT_CAME | {Kind.TRANSLATED}
SENT = REPLIED | {Kind.COUNTERPART}
STEPS: tuple[tuple[Step, frozenset[Kind]], ...] = (
    (size, EVERY),
    (home, EVERY),
    (own_answer, frozenset((Kind.OWN,))),
    (counterpart, frozenset((Kind.COUNTERPART,))),
    (read, WRITTEN),
    (note, AS_IT_CAME),
    (model_name, WRITTEN | AS_IT_CAME),
    (recognise, WRITTEN),
    (recognise_ended, AS_IT_CAME),
    (write, WRITTEN),
    (restore, frozenset((Kind.CHAT,))),
    (write_ids, WRITTEN | {Kind.CHAT}),
    (take_note, AS_IT_CAME),
    (count, frozenset((Kind.COUNTED,))),
    (meet, REPLIED | {Kind.MODELS}),
    (models, frozenset((Kind.MODELS,))),
    (spare, REPLIED),
    (ask_to_think, REPLIED),
    (left_to_us, REPLIED),
    (ask_usage, frozenset((Kind.CHAT,))),
    (send, SENT),
    (ask_for_text, REPLIED - {Kind.NATIVE}),
    (ask_start, REPLIED - {Kind.NATIVE}),
)
"""The steps in their order, each with the kinds of exchange that take it."""


async def _server(asked: Asked) -> Server:
    """Return what the server is. Raises ConnectionError when nobody is there."""
    chosen = asked.record.exchange.settings.server
    if chosen or not asked.upstream.direct:
        return chosen or asked.record.server
    return await asked.client.recognise(asked.upstream, asked.keys)


async def _recognise(asked: Asked) -> None:
    """Find out what the server is, unless nobody is there: then who asks it hears of that."""
    with suppress(ConnectionError):
        asked.record.server = await _server(asked)


async def _recalled(
    asked: Asked, work: Callable[[], ReadRequest], without: Callable[[], ReadRequest]
) -> ReadRequest:
    """Return what `work` makes of a request whose thoughts may be put back; where the memory is
    away, what `without` does.
    """
    request, size = asked.request, asked.record.length
    if asked.memory.elsewhere and request.wants_thoughts(
        request.served_model or request.asked_model
    ):
        with suppress(AwayError):
            return await remembering(asked.memory, size, work)
        work = without
    return await aside(size, work, asked.worker)


def _refused(record: FlowRecord, error: Exception, notes: list[str]) -> Response:
    """Return the answer to a request that goes no further, and note why. Raises a fault of ours,
    with which only a request that is not translated can go on.
    """
    if not (record.exchange.kind in WRITTEN or isinstance(error, _REFUSED)):
        raise error
    if isinstance(error, ConnectionError):
        error = ConnectionError(fault_of(record.flow, str(error)))
    words, answer = record.exchange.refusal(error)
    notes.append(words)
    return http_messages.response_of(answer)
