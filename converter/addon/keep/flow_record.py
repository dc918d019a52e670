"""`FlowRecord`: the record of a running exchange, kept in `RUNNING_RECORDS`. At the end it writes
the outcome onto the flow: a comment, a marker and notes. Functions such as `notes_of` and
`outcome_of` read the outcome from the flow.

The notes are one JSON text in the flow's metadata, whose form is in `notes`. mitmproxy copies a
flow's metadata often, and a text needs no time to copy.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mitmproxy.http import HTTPFlow, Request, Response

from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.http_messages import read_body, upstream_of
from converter.addon.keep.both_sides import BothSides
from converter.addon.keep.notes import METADATA, NotedFacts, without_chunks, write_notes
from converter.addon.layer_contract import HeldStream, Refusal
from converter.addon.log_lines import shorten_note
from converter.addon.mitmproxy_internals import remove_flow_backup
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.profiles import GENERIC, Server
from converter.core.dialects.error_words import server_message
from converter.core.model.memory import Memory
from converter.core.reply.rewriter import Rewriter
from converter.core.reply.summary import Summary, describe_thinking
from converter.core.wire import json_text
from converter.core.wire.printable import bounded

MOVED, NOTHING, TROUBLE = ":black_small_square:", ":white_small_square:", ":warning:"
"""The markers of flows in mitmweb's list: the addon moved thinking out of the text; it did not; a
person should look at the flow. Fonts without emoji have all three characters.
"""
BEFORE = "think_before"
"""A key of the flow's metadata. It is set if the server had cached the prompt of an earlier flow,
but could not use the cache, because this flow's prompt begins otherwise. The value is the id of the
earlier flow.
"""
_CLIENT_LEFT = "Client disconnected"
"""The beginning of mitmproxy's error for a client that has disconnected."""
LONGEST_REFUSAL = 200
"""The most characters of a server's error message in a comment."""


@dataclass
class FlowRecord:
    """A running exchange: all that the addon knows of it, and the flow that shows it."""

    flow: HTTPFlow
    """mitmproxy's flow."""
    exchange: Exchange
    """The facts from the request's path and headers."""
    sides: BothSides
    """The requests and replies of the client and of the server."""
    options: Mapping[str, object]
    """Name of an option, without `think_` -> its value when the request came. Only the options that
    a recording stores are here.
    """
    hints: list[str] = field(default_factory=list)
    """Lines of the flow's comment that only inform, such as that a thought's budget was spent.
    Unlike `notes`, they do not set the marker `TROUBLE`.
    """
    notes: list[str] = field(default_factory=list)
    """Lines of the flow's comment that a person should read; they set the marker `TROUBLE`."""
    request: ReadRequest = field(init=False)
    """The client's request. Its body is empty until a step reads it."""
    upstream: Upstream = field(init=False)
    """The address of the server to which the request is sent. The results of probes, and lessons,
    are stored under it.
    """
    body_size: int = 0
    """The length in bytes of the request's body: of the client's, or, once the addon has written a
    new body, of the new one.
    """
    awaited: AwaitedReply | None = None
    """All facts that decide how the reply is rewritten; `None` if no reply is to be rewritten."""
    rewriter: Rewriter | None = None
    """The rewriter of the reply; `None` before the reply begins, and if nothing rewrites it."""
    server: Server = GENERIC
    """The profile of the server: `GENERIC` until the server is recognised."""
    too_large: bool = False
    """True if the addon refuses the client's request because its body is longer than the user's
    limit.
    """
    began_early: bool = False
    """True if the client's stream began before the server sent its response head."""
    stream_head: Response | None = None
    """The response with whose head the streamed reply began; `None` before that. If a second
    response continues the reply, the flow gets this head back.
    """
    memory: Memory | None = None
    """Keeps the reply for later requests; `None` before the request's steps run."""
    tap: HeldStream | None = None
    """The function through which the bytes of a streamed reply go; `None` for any other response,
    and once the exchange has ended.
    """
    refusal: Refusal | None = None
    """Reads a response whose place another one may take, such as a server's refusal. The addon may
    then send the server another request. `None` if there was no such response.
    """

    def __post_init__(self) -> None:
        self.request = ReadRequest(self.exchange)
        self.upstream = upstream_of(self.flow, self.exchange)

    @property
    def client_request(self) -> Request:
        """The request as the client sent it."""
        return self.sides.client_request or self.flow.request

    def finish(self) -> None:
        """Write the outcome of the finished exchange onto the flow: comment, marker and the
        client's request; if bodies are kept, also the notes and both sides' bodies.
        """
        flow = self.flow
        self.sides.show(flow)
        self._mark(flow)
        if self.sides.keeps_bodies:
            awaited = self.awaited or AwaitedReply(self.request)
            facts = NotedFacts(
                self.server.name,
                awaited.has_thinking_field,
                awaited.initial.value,
                awaited.counted_tokens,
                awaited.has_think_prompt,
            )
            noted = self.sides.cuts, flow.error.msg if flow.error else "", self.options, facts
            notes = write_notes(noted, self.summary(), comment=flow.comment, marker=flow.marked)
            flow.metadata[METADATA] = without_chunks(notes) if self.sides.is_truncated else notes
        self.sides.back_up(flow)
        if flow.response and callable(flow.response.stream):
            # With its stream function the flow would keep this record in memory, because the
            # function refers to the record.
            flow.response.stream = True

    def summary(self) -> dict[str, object]:
        """Return the summary for the flow's notes: for a rewritten reply its counts and times; for
        a chat request that got an HTTP error, the error and the requested model; else nothing.
        """
        if self.rewriter:
            ends = Counter(self.rewriter.findings.ends.reasons)
            ended = {"thoughts_ended": dict(ends)} if ends else {}
            cache = {"prefix_broken": 1} if BEFORE in self.flow.metadata else {}
            return {**self.reply_summary, **ended, **cache, **self.request.earlier_thoughts.facts}
        failure = refusal_of(self.flow.response)
        if not (failure and self.exchange.endpoint.is_chat):
            return {}
        model = self.request.requested_model
        return {"failure": failure, **({"model": model} if model else {})}

    @property
    def reply_summary(self) -> dict[str, object]:
        """The rewriter's summary of the reply so far; empty if the reply is not rewritten."""
        return self.rewriter.summary.values() if self.rewriter else {}

    def _mark(self, flow: HTTPFlow) -> None:
        """Write comment and marker onto the flow, unless a person has written their own."""
        rewriter, refused = self.rewriter, refusal_of(flow.response)
        summary = rewriter.summary if rewriter else Summary()
        moved = summary.thoughts and rewriter and rewriter.changed
        failed = refused or summary.failure or (flow.error and not client_left(flow))
        passed = summary.failure if rewriter and not rewriter.failure else ""
        # `passed` is the server's own error message, which the client got in the reply.
        troubles = [*self.notes, *([shorten_note(passed)] if passed else [])]
        if refused:
            status = refused.partition(":")[0]
            troubles = [trouble for trouble in troubles if trouble.rstrip("…") not in refused]
            troubles = [refused, *(trouble for trouble in troubles if status not in trouble)]
        thought = describe_thinking(summary.values()) if summary.thoughts else ""
        marks = filter(None, [*troubles, thought, *self.hints])
        flow.comment = flow.comment or " · ".join(marks)
        marker = TROUBLE if self.notes or failed else MOVED if moved else NOTHING
        flow.marked = flow.marked or marker


def client_left(flow: HTTPFlow) -> bool:
    """Return True if the client closed its connection before the response ended. That is no fault
    if the reply has a finish: SDKs close the connection at the last event.
    """
    return bool(flow.error and flow.error.msg.startswith(_CLIENT_LEFT))


def outcome_of(flow: HTTPFlow, summary: Mapping[str, object]) -> str:
    """Return how an exchange ended: `ok`, `failed` (an error in the reply, or no finish), `refused`
    (an HTTP error), `client left` or `broke off` (the connection to the server). `summary`: the
    reply's summary; empty if it has none.
    """
    if flow.error and not summary.get("finish"):
        return "client left" if client_left(flow) else "broke off"
    if flow.response and flow.response.status_code >= 400:
        return "refused"
    return "ok" if summary.get("finish") and not summary.get("failure") else "failed"


def refusal_of(response: Response | None) -> str:
    """Return an HTTP error as text for the flow's comment: `status 429: MESSAGE`. Empty for None,
    and for a response that is no error.
    """
    if response is None or response.status_code < 400:
        return ""
    message = server_message(read_body(response, []))
    shown = bounded(message, LONGEST_REFUSAL)
    return f"status {response.status_code}" + (f": {shown}" if shown else "")


RUNNING_RECORDS: dict[str, FlowRecord] = {}
"""Id of a flow -> the record of its running exchange. After a reload of the script, exchanges that
the old script began are here, too; the new script's hooks finish them.
"""


def notes_of(flow: HTTPFlow) -> dict[str, object]:
    """Return the addon's notes on a flow; empty if there are none or they cannot be read."""
    return json_text.object_in(str(flow.metadata.get(METADATA)))


def summary_of(noted: Mapping[str, object]) -> dict[str, object]:
    """Return the reply's summary in `noted`, the notes of its flow; empty if there is none."""
    summary = noted.get("summary")
    return summary if isinstance(summary, dict) else {}


def forget(flow: HTTPFlow) -> None:
    """Remove the addon's comment, marker, notes and backup from a flow whose request mitmproxy
    sends again (*Replay*), because the new exchange writes its own. A person's comment and marker
    stay.

    Do nothing if the flow has no notes, or if mitmproxy only replays the flow's reply, because this
    reply is rewritten already.
    """
    if flow.is_replay != "request" or METADATA not in flow.metadata:
        return
    notes = notes_of(flow)
    flow.comment = "" if flow.comment == notes.get("comment") else flow.comment
    flow.marked = "" if flow.marked == notes.get("marker") else flow.marked
    del flow.metadata[METADATA]
    flow.metadata.pop(BEFORE, None)
    remove_flow_backup(flow)
