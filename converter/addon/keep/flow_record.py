"""The record of an exchange under way, and its outcome on the flow: a comment, a marker and notes.

The cuts of the server's body, and the facts that decided its reading, are one JSON text in the
flow's metadata, because mitmproxy copies all metadata each time it looks at a flow, and a text
costs nothing to copy.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mitmproxy.http import HTTPFlow, Request, Response

from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.http_messages import body, upstream
from converter.addon.keep.both_sides import BothSides
from converter.addon.keep.notes import METADATA, NotedFacts, without_chunks, write_notes
from converter.addon.layer_contract import HeldStream, Refusal
from converter.addon.log_lines import in_short
from converter.addon.mitmproxy_internals import forget_state_before
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.profiles import GENERIC, Server
from converter.core.dialects.error_words import server_message
from converter.core.model.memory import Memory
from converter.core.reply.rewriter import Rewriter
from converter.core.reply.summary import Summary
from converter.core.wire import json_text
from converter.core.wire.printable import bounded

MOVED, NOTHING, TROUBLE = ":black_small_square:", ":white_small_square:", ":warning:"
"""Markers: thinking was moved, nothing was to do, look at it; all in fonts that have no emoji."""
BEFORE = "think_before"
"""In a flow's metadata: the id of the flow whose prompt this one has not gone on from."""
_CLIENT_LEFT = "Client disconnected"
NO_SUMMARY = Summary()
"""Of an exchange whose reply was not rewritten."""
LONGEST_REFUSAL = 200
"""Characters of a server's reason, which is all that there is to say of an error."""


@dataclass
class FlowRecord:
    """A running exchange, and the flow that shows it.

    `sides`: what the client and the server have sent. `options`: those in force. `hints` and
    `notes`: what a person may and should know. `length`: of the request's body, as it was read or
    is written anew. `request`, `awaited` and `rewriter`: the steps of the exchange. `server`: what
    the server is. `too_large`: the request was not taken. `early`: the client's stream was begun
    before the server's head had come. `head`: that of a stream; `tap`: what its bytes pass through.
    `memory`: keeps the reply. `refused`: reads a body behind which another request may go out.
    """

    flow: HTTPFlow
    exchange: Exchange
    sides: BothSides
    options: Mapping[str, object]
    hints: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    length: int = 0
    request: ReadRequest | None = None
    awaited: AwaitedReply | None = None
    rewriter: Rewriter | None = None
    server: Server = GENERIC
    too_large: bool = False
    early: bool = False
    head: Response | None = None
    memory: Memory | None = None
    tap: HeldStream | None = None
    refused: Refusal | None = None

    @property
    def client_request(self) -> Request:
        """The request as the client has sent it."""
        return self.sides.client_request or self.flow.request

    @property
    def upstream(self) -> Upstream:
        """The server that the exchange goes to, for questions of our own."""
        return upstream(self.flow, self.exchange)

    @property
    def may_be_refused(self) -> bool:
        """Tell whether a part of the request may be left out where the server refuses it."""
        return self.request is not None and self.exchange.endpoint.is_chat

    def finish(self) -> None:
        """Have the flow show and tell the exchange, now that it is over."""
        flow = self.flow
        self.sides.show(flow)
        self._mark(flow)
        if self.sides.full:
            flow.metadata[METADATA] = self._written_notes(flow)
        self.sides.back_up(flow)
        if flow.response and callable(flow.response.stream):
            # by its tap the flow would hold all of this, twice over, for as long as it is listed
            flow.response.stream = True

    def summary(self) -> dict[str, object]:
        """Return what is known of the reply at a glance; of an HTTP error, that it failed."""
        if self.rewriter:
            earlier = self.request.earlier.facts if self.request else {}
            ends = Counter(self.rewriter.findings.ends.reasons)
            ended = {"thoughts_ended": dict(ends)} if ends else {}
            cache = {"prefix_broken": 1} if BEFORE in self.flow.metadata else {}
            return {**self.reply_summary, **ended, **cache, **earlier}
        failure = refusal_of(self.flow.response)
        if not (failure and self.exchange.endpoint.is_chat):
            return {}
        return {"failure": failure, **({"model": self.model} if self.model else {})}

    @property
    def reply_summary(self) -> dict[str, object]:
        """The rewriter's summary of the reply so far; nothing where it rewrites none."""
        return self.rewriter.summary.told() if self.rewriter else {}

    @property
    def model(self) -> str:
        """The model that the client asked for."""
        return self.request.requested_model if self.request else ""

    def _mark(self, flow: HTTPFlow) -> None:
        rewriter, refused = self.rewriter, refusal_of(flow.response)
        summary = rewriter.summary if rewriter else NO_SUMMARY
        moved = summary.thoughts and rewriter and rewriter.changed
        failed = refused or summary.failure or (flow.error and not client_left(flow))
        passed = summary.failure if rewriter and not rewriter.failure else ""
        # and an error that went on as it came
        troubles = [*self.notes, *([in_short(passed)] if passed else [])]
        if refused:
            status = refused.partition(":")[0]
            troubles = [trouble for trouble in troubles if trouble.rstrip("…") not in refused]
            troubles = [refused, *(trouble for trouble in troubles if status not in trouble)]
        thought = summary.thinking_in_words if summary.thoughts else ""
        marks = filter(None, [*troubles, thought, *self.hints])
        flow.comment = flow.comment or " · ".join(marks)
        marker = TROUBLE if self.notes or failed else MOVED if moved else NOTHING
        flow.marked = flow.marked or marker

    def _written_notes(self, flow: HTTPFlow) -> str:
        awaited = self.awaited or AwaitedReply(ReadRequest(self.exchange))
        facts = NotedFacts(
            self.server.name,
            awaited.parses,
            awaited.initial.value,
            awaited.counted,
            awaited.prompted,
        )
        noted = self.sides.cuts, flow.error.msg if flow.error else "", self.options, facts
        written = write_notes(noted, self.summary(), comment=flow.comment, marker=flow.marked)
        return without_chunks(written) if self.sides.cut_off else written


def client_left(flow: HTTPFlow) -> bool:
    """Tell whether the client hung up, as SDKs do at the last event."""
    return bool(flow.error and flow.error.msg.startswith(_CLIENT_LEFT))


def outcome_of(flow: HTTPFlow, summary: Mapping[str, object]) -> str:
    """Return how a request ended, in one or two words."""
    if flow.error and not summary.get("finish"):
        return "client left" if client_left(flow) else "broke off"
    if flow.response and flow.response.status_code >= 400:
        return "refused"
    return "ok" if summary.get("finish") and not summary.get("failure") else "failed"


def refusal_of(response: Response | None) -> str:
    """Return the status and the words of an HTTP error, as they may stand in a comment."""
    if response is None or response.status_code < 400:
        return ""
    message = server_message(body(response, []))
    shown = bounded(message, LONGEST_REFUSAL)
    return f"status {response.status_code}" + (f": {shown}" if shown else "")


RUNNING_RECORDS: dict[str, FlowRecord] = {}
"""Exchanges under way, by their flows' ids. A script loaded anew finishes what it had begun."""


def notes_of(flow: HTTPFlow) -> dict[str, object]:
    """Return the addon's notes on a flow; empty if the flow was not rewritten, or if its notes
    cannot be read.
    """
    return json_text.object_in(str(flow.metadata.get(METADATA)))


def summary_of(noted: Mapping[str, object]) -> dict[str, object]:
    """Return the summary of a reply among the notes of its flow, nothing where there is none."""
    summary = noted.get("summary")
    return summary if isinstance(summary, dict) else {}


def forget(flow: HTTPFlow) -> None:
    """Remove the last reply's comment and notes from a flow whose request is sent again, because
    the new exchange has its own, and *Revert* is to show its own original. A reply that mitmproxy
    gives again has been rewritten before.
    """
    if flow.is_replay != "request" or METADATA not in flow.metadata:
        return
    notes = notes_of(flow)
    flow.comment = "" if flow.comment == notes.get("comment") else flow.comment
    flow.marked = "" if flow.marked == notes.get("marker") else flow.marked
    del flow.metadata[METADATA]
    flow.metadata.pop(BEFORE, None)
    forget_state_before(flow)
