"""The core as a library, for programs that are no proxy. It needs the standard library only.

    asked = translate(body, client="anthropic")   # send asked.body to a chat-completions server
    yield from rewrite(chunks, client="anthropic", request=asked)
    message = read(reply)

A dialect is given by its name, as in `DIALECTS` in `converter.core.dialects.table`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from converter.core.dialects.dialect import Dialect, RequestContext
from converter.core.dialects.recogniser import Recogniser
from converter.core.dialects.request_facts import expected_of
from converter.core.dialects.request_settings import RequestSettings
from converter.core.dialects.table import COMMON, DIALECTS, by_name, request_writer
from converter.core.dialects.wire_form import Form, ReplyContext
from converter.core.model.conversation import RequestError
from converter.core.reading.family_choice import AUTO, choose
from converter.core.reading.reading import Expected, Reading
from converter.core.reply.chain import Stages
from converter.core.reply.frame_reader import FrameReader
from converter.core.reply.message import Message, message_of
from converter.core.reply.reply_end import ReplyEnd
from converter.core.reply.rewriter import Rewriter
from converter.core.reply.stages import STAGES
from converter.core.wire import json_text

READING = Reading(choose([AUTO]))
"""The reading of a reply about which nothing is known. It has every tag family whose tags no answer
mentions, and the reply begins in text.
"""
PLAIN = RequestSettings()
CONTEXT = ReplyContext(signature="think-addon")
"""The facts for a reply whose request is not known. Thinking is signed, because clients drop
unsigned thinking.
"""


class UnknownReplyError(ValueError):
    """Raised for bytes that are no reply of any dialect."""


@dataclass(frozen=True, slots=True)
class Request:
    """A translated request.

    Attributes:
        body: the chat completion to send, as JSON values.
        notes: a line for each omission.
        stream: True if the client wants a stream.
        context, expected: facts about the reply, which `rewrite` needs.
    """

    body: Mapping[str, object]
    notes: tuple[str, ...] = ()
    stream: bool = False
    context: ReplyContext = CONTEXT
    expected: Expected = Expected()  # noqa: RUF009  # it is frozen


def translate(request: bytes, *, client: str, settings: RequestSettings = PLAIN) -> Request:
    """Return the client's request as a chat completion.

    Arguments:
        request: the body of the request.
        client: the dialect of the request. A chat completion is returned as it is.
        settings: what the server takes.

    Raises `RequestError` for a request that breaks its format, with the path of the fault
    (`messages.0.role: Field required`), and `UnreadableError` for bytes that are no JSON. Both are
    `ValueError`s. An unknown name of a dialect raises `ValueError`, too.
    """
    dialect, value = _dialect(client), json_text.read(request)
    if dialect is COMMON:
        if not isinstance(value, dict):
            raise RequestError("", "Input should be an object")
        return Request(value, stream=bool(value.get("stream")), expected=expected_of(value))
    conversation = dialect.requests.read(value, RequestContext())
    body, notes = request_writer.write(conversation, settings)
    thinking = conversation.thinking
    shown = thinking is None or thinking.shown
    context = replace(CONTEXT, model=conversation.model, shown=shown, own=conversation.own)
    notes = (*conversation.notes, *notes)
    return Request(body, notes, conversation.stream, context, expected_of(body))


def rewriter(
    *,
    client: str,
    server: str = COMMON.name,
    request: Request | None = None,
    stream: bool = True,
    reading: Reading = READING,
) -> Rewriter:
    """Return an object that rewrites one reply. Call `feed` with each chunk, then `close`; or
    `abort`, with the reason, if the reply broke off. Each call returns the bytes that the client
    can have now. None of them raises.

    Arguments:
        client, server: the dialects of both sides.
        request: the result of `translate`. Without it the reply keeps its form, and no tool calls
            are read from its text.
        stream: True if the server sends a stream.
        reading: how thinking is searched for.

    Raises ValueError for an unknown name of a dialect.
    """
    translated = request or Request({}, stream=stream)
    return Rewriter(
        STAGES,
        replace(reading, expected=translated.expected) if request else reading,
        _dialect(server),
        _dialect(client),
        Form.STREAM if stream else Form.WHOLE,
        Form.STREAM if translated.stream else Form.WHOLE,
        context=translated.context,
    )


def rewrite(
    chunks: Iterable[bytes],
    *,
    client: str,
    server: str = COMMON.name,
    request: Request | None = None,
    stream: bool = True,
    reading: Reading = READING,
) -> Iterator[bytes]:
    """Yield a server's reply in the client's dialect, as it comes. Thinking, text and tool calls
    are in the fields where the client expects them. No piece is empty.

    The chunks may be cut anywhere. A reply that is not whole ends with an error of the client's
    dialect. So does a reply whose `chunks` raise; their error is then raised again. The arguments
    are those of `rewriter`.
    """
    machine = rewriter(
        client=client, server=server, request=request, stream=stream, reading=reading
    )
    try:
        for chunk in chunks:
            yield from machine.feed(chunk)
    except Exception as error:
        yield from machine.abort(str(error) or type(error).__name__)
        raise
    yield from machine.close()


def read(reply: bytes, *, content_type: str = "", reading: Reading = READING) -> Message:
    """Return a whole reply, or a whole stream, of any dialect as one message, with its thoughts,
    text and tool calls in their order. Of several choices the first one counts.

    `content_type`: decides whether the reply is a stream if its bytes do not show it. Raises
    `UnknownReplyError` for bytes that are no reply.
    """
    recogniser = Recogniser()
    recogniser.feed(reply, content_type, last=True)
    dialect, form = recogniser.dialect, recogniser.form
    if dialect is None or form is None:
        begun = reply[:80].decode(errors="backslashreplace")
        raise UnknownReplyError(f"expected a reply of a model server, got {begun!r}")
    reader, stages = FrameReader(dialect, form), Stages(STAGES, replace(reading, whole=True))
    end = ReplyEnd(dialect)
    events = [
        event
        for frame in (*reader.cutter.feed(reply), *reader.cutter.close())
        for event in stages.feed_all(end.feed(reader.read(frame)[1]))
    ]
    return message_of([*events, *stages.close(), *end.close()])


def _dialect(name: str) -> Dialect:
    try:
        return by_name(name)
    except KeyError:
        names = ", ".join(dialect.name for dialect in DIALECTS)
        raise ValueError(f"expected a dialect, one of {names}, got {name!r}") from None
