"""The request half of an exchange: `STEPS` is the table of steps from the client's request to the
addon's own answer, or to the request that the server gets.

A step changes the `PendingRequest`. If it returns a response, the client gets that, and no later
step runs. A step's row names the kinds of exchange (`Kind`) that take it. The kind is decided when
the exchange begins, and again when it is known whether the server speaks the client's dialect.
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
from converter.addon.aside import AT_ONCE, BODY_THREAD, Worker, is_quick, run_aside
from converter.addon.exchange import read_request
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import JSON, Kind, RequestTooLargeError
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.exchange.settings import Settings
from converter.addon.hooks.connection_faults import fault_message
from converter.addon.hooks.refused_request import unparsed_request
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.log_lines import report
from converter.addon.memory.known_turns import SHORT, KnownTurns
from converter.addon.memory.store_waits import run_with_memory, wait_for_writes
from converter.addon.memory.stores import open_lessons, open_store
from converter.addon.probes.upstream_client import UpstreamClient, credentials
from converter.addon.servers import unread_replies
from converter.addon.servers.earlier_calls import MODELS_WITH_IDS, with_ids_of_model
from converter.addon.servers.model_names import find_row, may_be_variant, only_model, variant_row
from converter.addon.servers.probes import ProbeRequest, estimate_tokens
from converter.addon.servers.profiles import Server
from converter.addon.servers.unread_replies import RENDERED
from converter.core.dialects.dialect import OwnRequest
from converter.core.dialects.request_facts import COUNTED, COUNTING, STOP_FIELDS, call_ids
from converter.core.dialects.server_fields import CONTROL, LAST_WORDS
from converter.core.model.conversation import RequestError
from converter.core.model.memory import AwayError, Memory
from converter.core.reading.thought_ender import JOINT
from converter.core.wire import json_text, long_json
from converter.core.wire.checked import Fields
from converter.core.wire.json_text import UnreadableError

_CLIENT_ERRORS = (RequestError, RequestTooLargeError, UnreadableError, AwayError, ConnectionError)
"""Errors that the client gets as a response, whatever the kind of exchange."""
_COUNTING_FIELD = json_text.write({COUNTING: COUNTED})[:-1] + b","
"""`{"stream_options": ...,`: put in place of a body's first `{`, it requests counts of tokens."""


@dataclass(slots=True)
class PendingRequest:
    """A request that goes through the steps. Each step reads it and may change it."""

    record: FlowRecord
    upstream_client: UpstreamClient  # sends the addon's probes to servers
    memory: Memory  # the replies that were kept for this client
    keys: Mapping[str, str]  # header name -> value: the client's key for the server, if it sent one
    turns: KnownTurns  # parsed turns of earlier requests, used if this request repeats them
    worker: Worker  # where work on a long body is done: in the loop, or in a thread
    body: bytes = b""  # the client's body, uncompressed
    notes: list[str] = field(default_factory=list)  # lines for the log and the flow's comment
    has_thinking_field: bool = False  # True: the server sends this model's thinking in a field
    sent_fields: Mapping[str, object] = field(default_factory=dict)  # the body that the server gets


class RequestSteps:
    """Runs the steps for each request. It holds what all requests share: the stores of kept replies
    and of lessons, and the turns of earlier requests.
    """

    def __init__(self, upstream_client: UpstreamClient, settings: Settings) -> None:
        self._upstream_client = upstream_client
        self._turns = KnownTurns()
        self._loop_lock = asyncio.Lock()
        self._open_stores(settings)

    def reopen_stores(self, settings: Settings) -> None:
        """Close the stores of replies and lessons, and open those that `settings` name."""
        for store in {self._store, self._lessons or self._store}:
            store.close()
        self._open_stores(settings)

    def _open_stores(self, settings: Settings) -> None:
        """Open the stores of replies and of lessons that `settings` name."""
        self._store = open_store(settings)
        self._lessons = open_lessons(settings, self._store)
        self._upstream_client.lessons.use_store(self._lessons)

    async def run(self, record: FlowRecord) -> None:
        """Run the steps. Then the flow has a response, or the request that the server gets."""
        flow, keys = record.flow, credentials(record.flow.request.headers)
        record.upstream = http_messages.upstream_of(flow, record.exchange)
        record.memory = memory = Memory(store=self._store, owner=record.exchange.owner)
        pending = PendingRequest(
            record, self._upstream_client, memory, keys, self._turns, self._loop_lock
        )
        record.sides.client_request = request = http_messages.copy_message(flow.request)
        # the client's own headers, as they were before `AccessRules.clean_headers`
        request.headers = record.sides.headers
        if self._lessons:
            await self._upstream_client.lessons.read_store(record.upstream)
        try:
            for step, kinds in STEPS:
                if record.exchange.kind in kinds and (response := await step(pending)):
                    flow.response = response
                    break
        except Exception as error:
            # an error outside `_CLIENT_ERRORS` is the addon's fault: it is raised, and the server
            # gets the request as it came, unless the request must become a chat completion
            if not (record.exchange.kind in WRITTEN_KINDS or isinstance(error, _CLIENT_ERRORS)):
                raise
            away = isinstance(error, ConnectionError)
            shown = ConnectionError(fault_message(flow, str(error))) if away else error
            message, answer = record.exchange.refusal_answer(shown)
            pending.notes.append(message)
            flow.response = http_messages.response_of(answer)
        if notes := [*pending.notes, *record.request.notes]:
            record.hints += report(record.client_request, notes, logging.INFO)
        if flow.response:
            http_messages.set_request_id(flow, record.exchange)
            if flow.request.method == "HEAD":  # the client would read a body as its next response
                flow.response.raw_content = b""


async def decompress_body(pending: PendingRequest) -> None:
    """Decompress the body, and choose its `worker`. Raises RequestTooLargeError above the limit."""
    record = pending.record
    limit = record.exchange.settings.limits.request_bytes
    if record.too_large:
        raise RequestTooLargeError(limit)
    pending.body = http_messages.read_body(record.flow.request, pending.notes, limit or sys.maxsize)
    if limit and len(pending.body) > limit:
        raise RequestTooLargeError(limit)
    record.body_size = len(pending.body)
    if record.body_size > AT_ONCE and not is_quick(pending.body):
        pending.worker = BODY_THREAD


async def recognise_native_server(pending: PendingRequest) -> None:
    """Find out whether the server is Ollama, if the client speaks Ollama's dialect, and set
    `Exchange.has_native_server`. Raises ConnectionError if the server cannot be reached.
    """
    record = pending.record
    if native_of := record.exchange.client_dialect.requests.native_of:
        record.server = await _find_server(pending)
        is_native = record.server.name == native_of
        record.exchange = replace(record.exchange, has_native_server=is_native)
        record.request = ReadRequest(record.exchange)


async def own_answer(pending: PendingRequest) -> Response | None:
    """Return the addon's own answer if the request needs no model; `None`: the server answers."""
    record, memory, sent = pending.record, pending.memory, pending.record.flow.request
    page = "text/html" in sent.headers.get("accept", "")
    request = OwnRequest(sent.method, sent.path, pending.body, wants_page=page)
    if record.exchange.answers_with_models(sent.path):
        served = await pending.upstream_client.list_models(record.upstream, pending.keys)
        request = replace(request, model_entries=served)
    work = partial(record.exchange.own_answer, request, memory)
    answer = await run_with_memory(memory, record.body_size, work)
    if failed := await wait_for_writes(memory):
        raise failed
    return http_messages.response_of(answer) if answer else None


async def translate_to_counterpart(pending: PendingRequest) -> None:
    """Translate the request for the server's endpoint that does the same: Ollama's `/api/embed`
    becomes `/v1/embeddings`. Raises RequestError and UnreadableError for a body that breaks the
    format.
    """
    record, there = pending.record, pending.record.exchange.endpoint.counterpart
    assert there  # `STEPS` has this step only for endpoints with a counterpart

    def translate() -> tuple[Mapping[str, object], Fields]:
        """Return the fields for the server, and the client's fields, of which some were read."""
        fields = Fields(json_text.read(pending.body))
        return there.request(fields), fields

    pending.sent_fields, fields = await run_aside(record.body_size, translate, pending.worker)
    if dropped := ", ".join(name for name, value in fields.unread() if value):
        pending.notes.append(f"left out, because no server takes it with a request: {dropped}")
    record.flow.request.path = record.exchange.base_path + there.path


async def read_translated(pending: PendingRequest) -> None:
    """Read a request that later steps translate, and the kept replies to which it refers. Raises
    RequestError and UnreadableError, and AwayError if the memory cannot be reached.
    """
    record, body, length = pending.record, pending.body, pending.record.body_size
    exchange = record.exchange
    repeats = partial(pending.turns.read, exchange.owner) if length >= SHORT else None
    work = partial(read_request.read, exchange, body, pending.memory, repeats)
    if exchange.may_refer_to_kept(body):
        record.request = await run_with_memory(pending.memory, length, work, pending.worker)
    else:
        record.request = await run_aside(length, work, pending.worker)


async def read_untranslated(pending: PendingRequest) -> None:
    """Read a request that stays in its dialect, without translating it. Raises RequestError for a
    request that the server's own endpoint would answer wrongly.
    """
    record, body, length = pending.record, pending.body, pending.record.body_size
    repeats = partial(pending.turns.read, record.exchange.owner) if length >= SHORT else None
    noting = partial(read_request.read_in_dialect, record.exchange, body, repeats)
    record.request = await run_aside(length, noting, pending.worker)


async def replace_model_name(pending: PendingRequest) -> None:
    """Replace the model's name in the request by the server's name for the model, if a row of
    `think_models` fits the name, or the name is a variant (`Qwen3-8B-low`). If the row or the
    variant has an effort or a budget of thinking, set these too, but not in a native request.
    """
    record, request = pending.record, pending.record.request
    rows, name = record.exchange.settings.models, request.requested_model
    row, varies = find_row(rows, name) if rows else None, may_be_variant(rows, name)
    if varies or (row and not row.name):
        listed = await pending.upstream_client.list_models(record.upstream, pending.keys)
        row = (varies and variant_row(listed, rows, name)) or row
        row = row and replace(row, name=row.name or only_model(listed))
    if row is None:
        return
    if row.sets_thinking and not record.exchange.is_native:
        await _recognise_if_reachable(pending)
        servers = pending.upstream_client.servers
        in_field = servers.sends_thinking_field(record.upstream, row.name or name)
        request = request.with_effort_of(row, record.server, in_field)
    record.request = request.with_served_model(row.name) if row.name not in ("", name) else request


async def recognise_server(pending: PendingRequest) -> None:
    """Find out the server's profile. Raises ConnectionError if the server cannot be reached."""
    record, servers = pending.record, pending.upstream_client.servers
    record.server = await _find_server(pending)
    pending.has_thinking_field = servers.sends_thinking_field(record.upstream, record.request.model)


async def recognise_for_ended_thoughts(pending: PendingRequest) -> None:
    """Find the server's profile, which says how a reply goes on, if the addon may end a thought."""
    if AwaitedReply(pending.record.request).limits.ends:
        await _recognise_if_reachable(pending)


async def write_chat_completion(pending: PendingRequest) -> None:
    """Write a request as a chat completion, with the earlier thoughts that the memory returns."""
    record = pending.record
    writing = partial(record.request.translate, record.server, pending.has_thinking_field)
    record.request = await _run_with_memory(pending, partial(writing, pending.memory), writing)


async def restore_thoughts(pending: PendingRequest) -> None:
    """Put earlier thoughts back into a chat completion, as far as the memory returns them."""
    record, request = pending.record, pending.record.request
    if request.describes_tools:
        return
    servers = pending.upstream_client.servers
    server = record.exchange.settings.server or servers.server(record.upstream)
    if request.wants_earlier_thoughts(server):
        restoring = partial(request.with_restored_thoughts, pending.memory, server)
        record.request = await _run_with_memory(pending, restoring, lambda: request)


async def rewrite_call_ids(pending: PendingRequest) -> None:
    """Replace the ids of earlier calls, if the model's chat template accepts only ids of a certain
    form. The steps that put thoughts back must run before: they need the client's ids.
    """
    request = pending.record.request
    if not MODELS_WITH_IDS.search(str(request.body.get("model"))):
        return
    body = with_ids_of_model(request.body)
    if body is not request.body:
        calls = replace(request.calls, ids=request.calls.ids.union(call_ids(body)))
        pending.record.request = replace(request, body=body, calls=calls, body_changed=True)


async def count_tokens(pending: PendingRequest) -> Response:
    """Return the answer to a request to count a prompt's tokens. Its header
    `x-think-tokens-counted-by` names the profile of the server that counted, else `estimate`.
    """
    record, body = pending.record, pending.record.request.body
    path = record.flow.request.path.partition("?")[0].removeprefix(record.exchange.base_path)
    sent = body, record.body_size, ProbeRequest(path, pending.body)
    count = pending.upstream_client.count_tokens
    tokens = await count(record.upstream, pending.keys, record.server, *sent)
    counter = record.server.name
    if tokens is None:  # the server cannot count, or did not answer
        counter = "estimate"
        tokens = await run_aside(record.body_size, partial(estimate_tokens, body))
    response = http_messages.response_of(record.exchange.count_answer(tokens))
    response.headers["x-think-tokens-counted-by"] = counter
    return response


async def register_server(pending: PendingRequest) -> None:
    """Register the server as one that a client uses. The probes for a person who looks at a request
    (for the tokens of its prompt, for facts about its model) go to no other server.
    """
    pending.upstream_client.register_server(pending.record.upstream)


async def await_models(pending: PendingRequest) -> None:
    """Set `record.awaited`, by which the list of models is rewritten. If the addon has to answer
    with one model of it, request the whole list: some servers have no path for one model.
    """
    record = pending.record
    record.awaited = AwaitedReply(record.request, record.server)
    if record.exchange.model_id:
        record.flow.request.path = f"{record.exchange.base_path}/v1/models"


async def leave_out_refused_traits(pending: PendingRequest) -> None:
    """Remove the traits of the request that this server has refused before (such as a field)."""
    record, request = pending.record, pending.record.request
    servers = pending.upstream_client.servers
    body = servers.without_refused_traits(record.upstream, request.body, request.removable_traits)
    if body is not request.body:
        record.request = replace(request, body=body, body_changed=True)


async def ask_to_think(pending: PendingRequest) -> None:
    """Set `record.awaited`, which has all facts that decide how the reply is rewritten. If the
    client wants thinking, add an instruction for a model that needs one (option `think_prompt`).
    """
    record, servers = pending.record, pending.upstream_client.servers
    request, upstream = record.request, record.upstream
    start, has_stops = record.exchange.settings.start, not STOP_FIELDS.isdisjoint(request.body)
    prompted = request.with_prompt(servers, upstream) if record.exchange.guesses_start else None
    pending.sent_fields = prompted or request.body
    first = has_stops and servers.thinks_first(upstream, request.body, start)
    facts = partial(AwaitedReply, request, record.server, sent_fields=pending.sent_fields)
    asks, in_field = prompted is not None, pending.has_thinking_field
    record.awaited = facts(has_think_prompt=asks, has_thinking_field=in_field, thinks_first=first)


async def enforce_limits(pending: PendingRequest) -> None:
    """Leave out the budgets and stop strings that the addon enforces itself. Request a stream if
    the addon may have to end a reply that the client wants whole: only a stream can be ended
    midway. Have llama.cpp accept a later request to end the thought, if the addon may send one.
    """
    awaited, upstream, body = pending.record.awaited, pending.record.upstream, pending.sent_fields
    assert awaited  # the step `ask_to_think` has set it
    takes = partial(pending.upstream_client.servers.takes_field, upstream, body)
    controls = awaited.may_ask_server_to_end and upstream.direct and takes(CONTROL)
    if not (awaited.is_buffered or awaited.kept_fields or controls):
        return
    sent = {name: body[name] for name in body if name not in awaited.kept_fields}
    if awaited.is_buffered:
        sent["stream"] = True
        if takes(COUNTING) and COUNTING not in awaited.server.leaves_out:
            sent[COUNTING] = COUNTED
    if controls:
        sent |= {CONTROL: True, LAST_WORDS: JOINT + awaited.limits.sentence}
        pending.record.awaited = replace(awaited, has_reasoning_control=True)
    pending.sent_fields = sent


async def request_usage(pending: PendingRequest) -> None:
    """Request the counts of a stream's tokens if the client does not, and the option `think_usage`
    and the server allow it. If no step has changed the body, only insert the field into its bytes.
    """
    sent, record = pending.sent_fields, pending.record
    if sent.get("stream") is not True or COUNTING in sent:
        return
    settings, servers = record.exchange.settings, pending.upstream_client.servers
    server = settings.server or servers.server(record.upstream)
    if settings.usage == "off" or (server and (server.counts or COUNTING in server.leaves_out)):
        return
    if not servers.takes_field(record.upstream, sent, COUNTING):
        return
    assert record.awaited  # the step `ask_to_think` has set it
    counted = {**sent, COUNTING: COUNTED}
    record.awaited = replace(record.awaited, sent_fields=counted)
    if record.request.body_changed or sent is not record.request.body:
        pending.sent_fields = counted
    else:
        body = pending.body.replace(b"{", _COUNTING_FIELD, 1)
        record.body_size = len(body)
        http_messages.set_body(record.flow.request, body)


async def write_body(pending: PendingRequest) -> None:
    """Write the body for the server, and for a translated request path and headers. If no step has
    changed the body, the client's own bytes stay. Keep the request's turns for the next request.
    """
    record, sent = pending.record, pending.sent_fields
    translated = record.exchange.is_translated
    if record.exchange.kind is Kind.TRANSLATED:
        record.flow.request.path = record.exchange.path
    came, repeated = record.body_size, record.request.repeated_turns
    if translated or record.request.body_changed or sent is not record.request.body:
        write = long_json.write if pending.worker is BODY_THREAD else json_text.write
        writing = partial(repeated.body, sent, write) if repeated else partial(write, sent)
        body = await run_aside(came, writing, pending.worker)
        record.body_size = len(body)
        head: dict[bytes, bytes | None] = {b"x-api-key": None} if translated else {}
        for name, value in {"content-type": JSON, **pending.keys}.items() if translated else ():
            head[name.encode()] = value.encode("utf-8", "surrogateescape")
        http_messages.set_body(record.flow.request, body, head)
    if repeated:
        pending.turns.keep(record.exchange.owner, repeated, came)


async def avoid_server_parser(pending: PendingRequest) -> None:
    """Replace the request by one whose reply the server does not parse (`unparsed_request`), if the
    server's own parser of calls has failed on an earlier reply of this model.
    """
    record, body, upstream_client = pending.record, pending.sent_fields, pending.upstream_client
    reads = RENDERED in record.request.removable_traits
    unread = reads and RENDERED in upstream_client.servers.refused_traits(record.upstream, body)
    if not unread or record.awaited is None or not unread_replies.fits_text_completion(body):
        return
    render = upstream_client.rendered_prompt
    prompt = await render(record.upstream, pending.keys, body, record.body_size)
    text, path = unparsed_request(record, body, prompt)
    if text is not body:
        record.flow.request.path = path or record.flow.request.path
        written = await run_aside(record.body_size, partial(json_text.write, text), pending.worker)
        http_messages.set_body(record.flow.request, written)


async def probe_prompt_end(pending: PendingRequest) -> None:
    """Start the probe for the prompt's end, if the beginning of the reply has to be guessed."""
    record, exchange = pending.record, pending.record.exchange
    if exchange.guesses_start and record.upstream.direct:
        server = record.server if exchange.is_translated else exchange.settings.server
        question = pending.keys, record.request.body, server, record.body_size
        pending.upstream_client.start_prompt_probe(record.upstream, *question)


type Step = Callable[[PendingRequest], Awaitable[Response | None]]
ALL_KINDS = frozenset(Kind)
WRITTEN_KINDS = frozenset((Kind.TRANSLATED, Kind.COUNTED))
"""The kinds whose request the addon translates into a chat completion."""
UNTRANSLATED_KINDS = frozenset((Kind.CHAT, Kind.NATIVE))
"""The kinds whose request is for a reply and stays in the client's dialect."""
REPLY_KINDS = UNTRANSLATED_KINDS | {Kind.TRANSLATED}
"""The kinds whose request is for a reply from the server."""
SENT_KINDS = REPLY_KINDS | {Kind.COUNTERPART}
"""The kinds whose request goes to the server with a body that the addon may have changed."""
STEPS: tuple[tuple[Step, frozenset[Kind]], ...] = (
    (decompress_body, ALL_KINDS),
    (recognise_native_server, ALL_KINDS),
    (own_answer, frozenset((Kind.OWN,))),
    (translate_to_counterpart, frozenset((Kind.COUNTERPART,))),
    (read_translated, WRITTEN_KINDS),
    (read_untranslated, UNTRANSLATED_KINDS),
    (replace_model_name, WRITTEN_KINDS | UNTRANSLATED_KINDS),
    (recognise_server, WRITTEN_KINDS),
    (recognise_for_ended_thoughts, UNTRANSLATED_KINDS),
    (write_chat_completion, WRITTEN_KINDS),
    (restore_thoughts, frozenset((Kind.CHAT,))),
    (rewrite_call_ids, WRITTEN_KINDS | {Kind.CHAT}),
    (count_tokens, frozenset((Kind.COUNTED,))),
    (register_server, REPLY_KINDS | {Kind.MODELS}),
    (await_models, frozenset((Kind.MODELS,))),
    (leave_out_refused_traits, REPLY_KINDS),
    (ask_to_think, REPLY_KINDS),
    (enforce_limits, REPLY_KINDS),
    (request_usage, frozenset((Kind.CHAT,))),
    (write_body, SENT_KINDS),
    (avoid_server_parser, REPLY_KINDS - {Kind.NATIVE}),
    (probe_prompt_end, REPLY_KINDS - {Kind.NATIVE}),
)
"""The steps in their order, each with the kinds of exchange that take the step."""


async def _find_server(pending: PendingRequest) -> Server:
    """Return the profile that the option `think_server` names, else the one found by probes, which
    may raise ConnectionError. No probes go through an upstream proxy: then the profile stays.
    """
    record, chosen = pending.record, pending.record.exchange.settings.server
    if chosen or not record.upstream.direct:
        return chosen or record.server
    return await pending.upstream_client.recognise(record.upstream, pending.keys)


async def _recognise_if_reachable(pending: PendingRequest) -> None:
    """Set the server's profile. Ignore an unreachable server: the request itself will fail."""
    with suppress(ConnectionError):
        pending.record.server = await _find_server(pending)


async def _run_with_memory(
    pending: PendingRequest, work: Callable[[], ReadRequest], without: Callable[[], ReadRequest]
) -> ReadRequest:
    """Return the request that `work` writes; `work` may read earlier thoughts from the memory. If
    the memory cannot be reached, return the request that `without` writes without the memory.
    """
    request, size = pending.record.request, pending.record.body_size
    if pending.memory.elsewhere and request.wants_earlier_thoughts():
        with suppress(AwayError):
            return await run_with_memory(pending.memory, size, work)
        work = without
    return await run_aside(size, work, pending.worker)
