"""Reads a server's response if the server failed on the client's request (a refusal, a parser's
fault, an empty stream), and makes the next request, which the layers send. `refusals.py` and
`unread_replies.py` in `converter/addon/servers` have the rules.

- A server refuses a request because of a trait (such as a field). The request is sent again without
  the traits that the server's error message names. A message may not name all traits that the
  server refuses, so a request may be refused several times, each time for another trait.
- llama.cpp's own parser of calls fails, and discards the reply. The reply is requested again in two
  steps: the server renders the prompt (fills the messages into the chat template), and then
  completes the prompt as text, which no parser reads.
- A stream has no byte. Another request asks for the reason.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from mitmproxy.http import Request

from converter.addon import http_messages
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.layer_contract import Refusal
from converter.addon.log_lines import report
from converter.addon.servers import refusals, unread_replies
from converter.addon.servers.initial_state import state_after_prompt
from converter.addon.servers.refusals import SCHEMA_KEYS
from converter.addon.servers.unread_replies import COMPLETION_PATH, RENDERED, TEMPLATE_PATH
from converter.core.dialects.error_words import server_message
from converter.core.dialects.request_facts import COUNTING
from converter.core.dialects.server_fields import CONTROL
from converter.core.wire import json_text

_log = logging.getLogger(__name__)

_LONGEST_RESPONSE = 1 << 16
"""The longest response that a reader reads, in bytes. It is parsed as JSON again at each chunk
until it is complete, which would take too long for a long response.
"""
SENT_AGAIN = "the server refused {names}, and was asked again without: {words}"
"""Template of a log line: `{names}` are the traits that were left out because of this message,
`{words}` is the server's message.
"""
PARSED_HERE = (
    "the server's own parser rejected a reply, which was requested again as text and parsed here"
)
"""The log line about a reply that llama.cpp's own parser of calls has discarded."""
EMPTY_STREAM = "the server's stream was empty, so a whole reply was requested for the reason"
"""The log line about a stream without a byte: only a whole reply has the server's error."""
_LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
"""The fields of a chat completion that limit the reply's tokens."""
METADATA = "think_refused"
"""The key in `flow.metadata` under which the body of the exchange's first request to the server is
kept, if the server failed on it and got another one.
"""


def start_reader(record: FlowRecord) -> Refusal | None:
    """Return the reader of a response whose body the client does not get yet, and store it as
    `record.refusal`; if the response has a reader already, return that. A prompt that the addon
    requested gets a `PromptReader`. A response to a request for a reply gets a `RefusalReader` if
    its status is one of `refusals.STATUSES`. Return `None` for any other response, and for the
    answer to the request of a `SilentStream`.
    """
    before, response = record.refusal, record.flow.response
    if before and before.response is response:
        return before
    if isinstance(before, SilentStream):
        return None
    if before and before.requests_prompt:
        record.refusal = PromptReader(record, before)
    elif (
        record.exchange.endpoint.is_chat and response and response.status_code in refusals.STATUSES
    ):
        record.refusal = RefusalReader(record, before)
    return record.refusal if record.refusal is not before else None


def unparsed_request(
    record: FlowRecord, body: Mapping[str, object], prompt: object
) -> tuple[Mapping[str, object], str]:
    """Return a request for which the server sends the model's text unparsed, so that the addon
    reads the calls in it; and the request's path, empty if the path stays the same.

    The request is a text completion of `prompt`, and `record.awaited` is changed to await one. If
    `prompt` is no text, because the server rendered none, the request is the chat completion `body`
    with its tools as text in the system turn, and `record.awaited` stays.
    """
    if not isinstance(prompt, str) or record.awaited is None:
        return unread_replies.with_tools_as_text(body), ""
    initial, path = state_after_prompt(prompt), record.exchange.base_path + COMPLETION_PATH
    record.awaited = replace(record.awaited, initial=initial, is_text_completion=True)
    return unread_replies.text_completion(body, prompt), path


class NextRequest(Refusal):
    """Reads a server's response. If its body shows that the server needs another request, this
    reader makes the request, whose response is then read in place of the first.

    Attributes:
        response: the server's response whose body is read here, chunk by chunk.
        left_out_traits: the names of the traits that the next request to the server lacks.
        first_body: the fields of the first request to the server, with all its traits; empty if no
            trait was left out.
        requests_prompt: True if the next request asks the server for the rendered prompt, and not
            for a reply.

    `before`: the reader of the server's earlier refusal in this exchange, whose left-out traits
    stay left out; `None` if there was none.
    """

    holds = False
    """False: the layers keep the response's body, because the client may get this response after
    all.
    """
    log_line = ""
    """The line of the log about the next request; empty for no line."""

    def __init__(self, record: FlowRecord, before: Refusal | None = None) -> None:
        self.response = record.flow.response
        self.left_out_traits: frozenset[str] = before.left_out_traits if before else frozenset()
        self.first_body: Mapping[str, object] = before.first_body if before else {}
        self._record = record
        self._received = bytearray()
        self._next_body: Mapping[str, object] = {}
        self._next_path = ""
        self.requests_prompt = False

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Read a chunk of the response. Once the response's body is complete JSON of at most
        `_LONGEST_RESPONSE` bytes, make the next request if the body calls for one. Return no bytes
        for the client.
        """
        self._received += chunk if len(self._received) <= _LONGEST_RESPONSE else b""
        status = self.response.status_code if self.response else 0
        if len(self._received) <= _LONGEST_RESPONSE and json_text.readable(bytes(self._received)):
            self._read(bytes(self._received), status)
        return []

    @property
    def stopped(self) -> bool:
        """Return True if the next request can be sent, so that no more of this response is read."""
        return bool(self._next_body)

    def next_request(self, possible: bool) -> Request | None:
        """Return the next request to the server, and record it as the request that was sent; `None`
        if it cannot be sent. `possible`: False if the protocol of the server's connection allows no
        further request for this exchange.
        """
        sent = self._record.sides.server_request
        body, self._next_body = self._next_body, {}
        if sent is None or not possible:
            self.left_out_traits = frozenset()
            return None
        if awaited := self._record.awaited:
            controls = awaited.has_reasoning_control and CONTROL in body
            self._record.awaited = replace(awaited, has_reasoning_control=controls)
        first = http_messages.content_of(sent).decode("utf-8", "replace")
        self._record.flow.metadata.setdefault(METADATA, first)
        request = http_messages.copy_message(sent)
        http_messages.set_body(request, json_text.write(body))
        request.path = self._next_path or request.path
        self._record.sides.server_request, self._record.sides.server_response = request, None
        self._record.hints += report(self._record.client_request, [self.log_line], logging.INFO)
        return request

    def _read(self, answer: bytes, status: int) -> None:
        """Call `_make_next` with the body of a response (`answer`), and log its errors."""
        try:
            self._make_next(answer, status)
        except Exception:  # the client must get the server's answer even if the addon fails
            _log.exception("think: a refusal could not be read")

    def _make_next(self, answer: bytes, status: int) -> None:
        """Set `_next_body` to the body of the next request, if the server's response shows that the
        server needs another request. `answer`: the response's body, `status`: its status. May raise
        any exception.
        """
        raise NotImplementedError


class RefusalReader(NextRequest):
    """Reads a server's refusal of a request, and makes the next request, which leaves out the
    traits that the refusal names.
    """

    def read_first_chunk(self, chunk: bytes) -> bool:
        """Read the first chunk of a server's stream with the status 200. Return True if the chunk
        is a refusal, and the next request is ready.
        """
        event = chunk.partition(b"data:")[2].partition(b"\n")[0]
        if b'"error"' in event and json_text.readable(event):
            self._read(event, min(refusals.STATUSES))
        return self.stopped

    def _make_next(self, answer: bytes, status: int) -> None:
        """Make the next request: the refused request without the traits that the refusal names, or
        without its pictures if the refusal probably means them (`refuses_pictures`). If llama.cpp's
        parser of calls has failed, the next request asks for the rendered prompt. Make none if the
        server's message names no trait that can be left out, or only traits that were left out
        before.
        """
        sent = http_messages.content_of(self._record.sides.server_request)
        body, text = json_text.read_or_none(sent), sent.decode("utf-8", "replace")
        message, request = server_message(answer), self._record.request
        names = refusals.refused_traits(status, message, text)
        if not isinstance(body, dict):
            return
        if not names and refusals.refuses_pictures(status, message, body):
            names = frozenset({refusals.PICTURES_ONCE})
        names = refusals.next_traits(names, self.left_out_traits)
        if names <= self.left_out_traits:
            return
        removable = request.removable_traits
        if RENDERED in names & removable and unread_replies.fits_text_completion(body):
            # `log_line` stays empty, because this request only asks for the prompt. The request
            # after it, which `PromptReader` makes, logs `PARSED_HERE`
            self._next_body, self.requests_prompt = body, True
            self._next_path = self._record.exchange.base_path + TEMPLATE_PATH
        else:
            spared = refusals.without_traits(body, names, removable)
            self._next_body = {} if spared is body else spared
            new = names - self.left_out_traits
            shown = (name for name in new if name not in SCHEMA_KEYS or f'"{name}"' in text)
            self.log_line = SENT_AGAIN.format(names=", ".join(sorted(shown)), words=message)
        if self._next_body:
            self.left_out_traits |= names
            self.first_body = self.first_body or body


class SilentStream(NextRequest):
    """Makes the request that finds out why the server's stream was empty: it repeats the last
    request, and asks for a whole reply, not a stream, of at most one token.

    llama-cpp-python 0.3.36 sends an empty stream if the prompt is too long. It reports this reason
    only if a whole reply is requested.
    """

    log_line = EMPTY_STREAM

    def __init__(self, record: FlowRecord) -> None:
        super().__init__(record)
        body = json_text.object_in(http_messages.content_of(record.sides.server_request))
        fields = [name for name in (*_LIMIT_FIELDS, COUNTING) if name in body]
        kept = {name: value for name, value in body.items() if name not in fields}
        limit = next((name for name in fields if name in _LIMIT_FIELDS), _LIMIT_FIELDS[0])
        self._next_body = {**kept, "stream": False, limit: 1} if body else {}


class PromptReader(NextRequest):
    """Reads the response of llama.cpp that contains the rendered prompt. The next request completes
    this prompt as text (`unparsed_request`), because llama.cpp's own parser has discarded the reply
    to the chat request.
    """

    log_line = PARSED_HERE

    def _make_next(self, answer: bytes, status: int) -> None:  # noqa: ARG002
        """Make the request that completes the prompt in `answer` as text. If `answer` has none,
        make the one that `unparsed_request` returns without a prompt.
        """
        body = json_text.object_in(http_messages.content_of(self._record.sides.server_request))
        prompt = json_text.object_in(answer).get("prompt")
        self._next_body, path = unparsed_request(self._record, body, prompt)
        self._next_path = path or self._record.exchange.path
