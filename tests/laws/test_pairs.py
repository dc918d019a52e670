"""Every pair of server and client dialect, in both forms, over every recording: what the official
SDKs read in the client's bytes says what the server's own words say.

Each recorded reply is also retold as a server of each other dialect would have sent it, because most
recordings are of chat completions.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from converter.addon.exchange.rewriting import reading_of, rewriter_of
from converter.addon.exchange.settings import Settings, read
from converter.core.dialects.table import (
    ANTHROPIC,
    DIALECTS,
    OLLAMA,
    OPENAI_CHAT,
    RESPONSES,
    Dialect,
    Form,
)
from converter.core.model.initial_state import InitialState
from converter.core.reading.reading import Expected, Reading
from converter.core.wire.cut_json import complete_part, is_open
from converter.extras.recordings.library import Library
from converter.extras.recordings.recording import Recording
from laws import sdk_reading
from laws.expected import anthropic_blocks, openai_texts, parts
from laws.limits import Case, limit_of
from laws.parsed_reply import ParsedChoice, ParsedReply
from laws.reply_parser import parse_reply
from laws.response_view import as_message
from laws.sdk_reading import Wire
from laws.variants import IN_FIELDS
from tests.support.native_streams import begin, end, frames, piece, start, stop
from tests.support.strategies import every_so_many

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "recordings"
PAIRS = [
    pytest.param(server, client, form, id=f"{server}-{client}-{form.name.lower()}")
    for server in DIALECTS
    for client in DIALECTS
    for form in Form
]
FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "function_call": "tool_calls",
}
REFUSED = ("length", "content_filter")
"""Finishes at which the openai SDK's `stream` raises, whoever sent them."""
DONE = b"data: [DONE]\n\n"
TOP_LEVEL = {"id", "object", "created", "model", "choices", "usage"}
USAGE = {
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "prompt_tokens_details",
    "completion_tokens_details",
}
CHOICE = {"index", "delta", "message", "finish_reason", "stop_reason"}
MESSAGE = {"role", "content", "reasoning_content", "reasoning", "tool_calls"}
"""Fields of a translated chat completion: none is a word of the Messages API alone."""


@dataclass(frozen=True)
class Sent:
    """A reply as a server sent it, and how it is read."""

    name: str
    body: bytes
    server: Dialect
    form: Form
    settings: Settings
    expected: Expected = field(default_factory=Expected)

    def reading(self, form: Form) -> Reading:
        return reading_of(self.settings, self.expected, Form.WHOLE in (self.form, form))

    def reply(self) -> ParsedReply:
        reply = parse_reply(self.body, self.form, self.server, self.settings.map)
        if self.expected.no_thought_due:
            for choice_got in reply.choices.values():
                choice_got.take_for_answer()
        return reply

    def rewritten(self, client: Dialect, form: Form) -> bytes:
        through = rewriter_of(
            self.settings, client, self.form, form, server=self.server, expected=self.expected
        )
        out = b"".join(through.whole(self.body))
        assert not [note for note in through.notes if "fault of the addon" in note], self.name
        return out


@dataclass(frozen=True)
class Content:
    """Return a reply's content, free of any dialect; blanks are left to the laws of content."""

    thinking: str
    text: str
    calls: tuple[tuple[str, str], ...]
    finish: str


@cache
def replies() -> list[Sent]:
    """Each complete recorded reply of one choice, as it came and retold by the other dialects."""
    library = Library(FOLDER)
    return [sent for name in every_so_many(library.names()) for sent in _sent(library.load(name))]


def _sent(recording: Recording) -> Iterator[Sent]:
    if not recording.exchange().endpoint.is_chat or recording.server_reply.status != 200:
        return
    if recording.awaited().is_text_completion:  # no dialect of a client has such a reply
        return
    reply = Case(recording).reply
    if not reply.complete or reply.unread or recording.abort_reason or len(reply.choices) > 1:
        return
    own = Sent(
        recording.name,
        recording.body,
        recording.server_dialect,
        recording.server_form,
        recording.settings,
        recording.awaited().expected,
    )
    case = Case(recording)
    # law 4 judges calls in text, laws 2 to 5 two joined replies
    if limit_of(5, case) is None and not (case.calls_read.text_forms or case.ended):
        yield own
    others = [dialect for dialect in DIALECTS if dialect is not own.server]
    plain = replace(recording.settings, start=InitialState.TEXT, budget="server", markers=False)
    for other, form in product(others, Form):
        body = own.rewritten(other, form)
        yield Sent(f"{recording.name}, retold {form.name.lower()}", body, other, form, plain)


def plain(text: str) -> str:
    return "".join(text.split())


def calls_of(choice_got: ParsedChoice) -> tuple[tuple[str, str], ...]:
    return tuple(
        (call["name"], _json(call["arguments"] or "{}")) for call in choice_got.calls.values()
    )


def _json(arguments: str) -> str:
    """Return arguments as they are compared; of a call that was cut off what is complete."""
    complete = complete_part(arguments) if is_open(arguments) else arguments
    return json.dumps(json.loads(complete), sort_keys=True)


def meant(sent: Sent, client: Dialect, form: Form) -> Content:
    """Return the content of the server's bytes for a client of this dialect, by the oracle."""
    reply, limit = sent.reply(), sent.expected.limit
    choice_got = reply.choice()
    expected = parts(choice_got, sent.reading(form))
    if client in IN_FIELDS:
        thinking, text = openai_texts(expected)
    else:
        blocks = anthropic_blocks(expected)
        thinking, text = (
            "".join(w for k, w in blocks if k == kind) for kind in ("thinking", "text")
        )
    finish = FINISHES.get(str(choice_got.finish), str(choice_got.finish))
    if anthropic_blocks(expected)[-1:] == [("thinking", thinking)] and reply.reaches(limit):
        finish = "length"
    called = choice_got.calls and finish == "stop"
    calls = calls_of(choice_got)
    if client in (RESPONSES, OLLAMA) and any(
        is_open(call["arguments"] or "{}") for call in choice_got.calls.values()
    ):
        calls = calls[
            :-1
        ]  # a call that was cut off is never done there, because Codex would run it
    return Content(plain(thinking), plain(text), calls, "tool_calls" if called else finish)


def seen(wire: Wire, body: bytes, client: Dialect, form: Form, settings: Settings) -> Content:
    """Return the content that the official SDK reads."""
    choice_got = _READERS[client](wire, body, form, settings)
    finish = str(choice_got.finish)
    return Content(
        plain(next(iter(choice_got.thoughts.values()), "")),
        plain(choice_got.joined("text", "raw")),
        calls_of(choice_got),
        FINISHES.get(finish, finish),
    )


def _message(wire: Wire, body: bytes, form: Form, _: Settings) -> ParsedChoice:
    if form is Form.STREAM:
        sdk_reading.anthropic_events(wire, body)
        message = sdk_reading.anthropic_accumulated(wire, body)
    else:
        message = sdk_reading.anthropic_whole(wire, body)
    return parse_reply(json.dumps(message).encode(), Form.WHOLE, ANTHROPIC).choice()


def _completion(wire: Wire, body: bytes, form: Form, settings: Settings) -> ParsedChoice:
    choice_got = parse_reply(
        sdk_reading.openai_bodies(wire, body, form), form, OPENAI_CHAT, settings.map
    )
    if form is Form.STREAM and choice_got.choice().finish not in REFUSED:
        message = sdk_reading.openai_accumulated(wire, body)["choices"][0]["message"]
        assert (message.get("content") or "") == choice_got.choice().joined("text")
        assert len(message.get("tool_calls") or []) == len(choice_got.choice().calls)
    return choice_got.choice()


def _response(wire: Wire, body: bytes, form: Form, _: Settings) -> ParsedChoice:
    response = sdk_reading.responses_read(wire, body, form)[-1]
    return parse_reply(json.dumps(as_message(response)).encode(), Form.WHOLE, ANTHROPIC).choice()


def _ollama(_: Wire, body: bytes, form: Form, __: Settings) -> ParsedChoice:
    lines = [json.dumps(reply).encode() for reply in sdk_reading.ollama_read(body, form)]
    return parse_reply(b"\n".join(lines), form, OLLAMA).choice()


_READERS = {OPENAI_CHAT: _completion, ANTHROPIC: _message, RESPONSES: _response, OLLAMA: _ollama}


@pytest.fixture(scope="module")
def wire() -> Wire:
    return Wire()


@pytest.mark.filterwarnings("ignore:Pydantic serializer")  # of blocks that the user named
@pytest.mark.parametrize(("server", "client", "form"), PAIRS)
def test_a_client_reads_the_servers_content(
    wire: Wire, server: Dialect, client: Dialect, form: Form
) -> None:
    form_stays = client is server and client.wire.keeps_raw
    sent = [
        each
        for each in replies()
        if each.server is server and (each.form is form or not form_stays)
    ]
    assert len(sent) > len(every_so_many(range(10)))
    for each in sent:
        body = each.rewritten(client, form)
        assert seen(wire, body, client, form, each.settings) == meant(each, client, form), each.name


@pytest.mark.parametrize("form", Form)
def test_a_chat_completion_holds_no_word_of_the_messages_api(form: Form) -> None:
    for each in [each for each in replies() if each.server is ANTHROPIC]:
        body = each.rewritten(OPENAI_CHAT, form)
        sent = body.removesuffix(DONE).split(b"\n\n") if form is Form.STREAM else [body]
        for frame in filter(None, sent):
            assert not re.search(rb"^event:", frame, re.MULTILINE), each.name
            if frame.startswith(b":"):
                continue  # a comment
            value = json.loads(frame.removeprefix(b"data: "))
            assert value.keys() <= TOP_LEVEL, each.name
            assert (value.get("usage") or {}).keys() <= USAGE, each.name
            for choice in value["choices"]:
                assert choice.keys() <= CHOICE, each.name
                message = choice.get("delta") or choice.get("message") or {}
                assert message.keys() <= MESSAGE, each.name


def _two_calls() -> Sent:
    events = [start(), begin(0, {"type": "text", "text": ""}), piece(0, "text", "So:"), stop(0)]
    for index, name in enumerate(("look", "hear"), 1):
        block = {"type": "tool_use", "id": f"{name}_1", "name": name, "input": {}}
        pieces = [piece(index, "input_json", arguments) for arguments in ('{"at":', '"sky"}')]
        events += [begin(index, block), *pieces, stop(index)]
    body = b"".join(frames([*events, *end("tool_use")]))
    return Sent("two calls", body, ANTHROPIC, Form.STREAM, read())


def test_streamed_calls_fold_into_one_call_each(wire: Wire) -> None:
    """The matrix holds them as well; this fails by itself should no recording have any."""
    completion = sdk_reading.openai_whole(wire, _two_calls().rewritten(OPENAI_CHAT, Form.WHOLE))
    calls = completion["choices"][0]["message"]["tool_calls"]
    assert [(call["id"], call["function"]) for call in calls] == [
        (f"{name}_1", {"name": name, "arguments": '{"at":"sky"}'}) for name in ("look", "hear")
    ]
