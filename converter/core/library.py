"""The core as a library, for programs that are no proxy: translates a request, rewrites or reads a
reply. It needs only Python's standard library.

    translated = translate(body, client="anthropic")
    # send translated.body to a chat completions server, and read the chunks of its reply
    yield from rewrite(chunks, client="anthropic", request=translated)
    message = read(reply)  # or: read a complete reply as one value

Dialects are passed by name, such as `anthropic`; `DIALECTS` in `converter.core.dialects.table` has
all of them.
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
"""The settings by which a reply is read by default. It begins in the answer, not in a thought.
Thoughts are found by the tags of the families in `auto`, which ordinary answers do not mention.
"""
PLAIN = RequestSettings()
"""The fields that a request may have for a server about which nothing is known."""
CONTEXT = ReplyContext(signature="think-addon")
"""The settings by which a reply is written; facts of its request are added, if it is known.
Thinking gets a signature (`think-addon`), because clients of the Messages API drop thinking without
one.
"""


class UnknownReplyError(ValueError):
    """The error for bytes that are not a reply of any dialect."""


@dataclass(frozen=True, slots=True)
class Request:
    """A client's request, translated to chat completions."""

    body: Mapping[str, object]
    """The body for the server, not yet written as JSON."""
    notes: tuple[str, ...] = ()
    """Lines for people, one for each part of the client's request that the server does not get."""
    stream: bool = False
    """True if the client wants a stream."""
    context: ReplyContext = CONTEXT
    """Facts of the request that `rewrite` needs to write the reply."""
    expected: Expected = Expected()  # noqa: RUF009  # it is frozen
    """Facts of the request that `rewrite` needs to read the reply, such as the offered tools."""


def translate(request: bytes, *, client: str, settings: RequestSettings = PLAIN) -> Request:
    """Translate a client's request to a chat completions request.

    Arguments:
        request: the body of the client's request.
        client: the dialect of the request. A chat completions request is returned unchanged.
        settings: which fields of chat completions the server takes.

    Raises `RequestError` for a request that breaks its dialect, with the path of the fault
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
    """Return an object that rewrites one reply.

    Call its `feed` with each chunk, then its `close`; or `abort` with the reason, if the reply
    broke off. Each of them returns a list of the bytes that the client gets next, and raises
    nothing.

    Arguments:
        client: the dialect in which the reply is written.
        server: the dialect in which the reply is read.
        request: the result of `translate`; None if the request is not known. A stream then stays a
            stream, a whole reply stays whole, and no tool calls are read from the reply's text.
        stream: True if the server sends a stream, False if it sends a whole body.
        reading: how thinking is searched for in text. Its `expected` is replaced by that of
            `request`, if `request` is known.

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
    """Rewrite a server's reply in the client's dialect; yield its bytes while the chunks come.

    Thinking, text and tool calls are in the fields where the client expects them. No yielded bytes
    are empty. The chunks may be cut anywhere. A reply that is not whole ends with an error in the
    client's dialect. If `chunks` raises an exception, the reply also ends with such an error,
    unless its finish has come, and the exception is raised again.

    `chunks`: the server's bytes. The other arguments are those of `rewriter`.
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
    """Read a complete reply of any dialect, whole or streamed, as one message.

    The message has thoughts, text and tool calls in their order. Calls that the model wrote in its
    text stay text. If the reply has several choices, only the first is read.

    `reply`: the response's body. `content_type`: the response's header of this name. It decides
    whether the body is a stream, if the body itself does not show it. Raises `UnknownReplyError`
    for bytes that are not a reply of any dialect.
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
    """Return the dialect of this name. Raises ValueError if no dialect has it."""
    try:
        return by_name(name)
    except KeyError:
        names = ", ".join(dialect.name for dialect in DIALECTS)
        raise ValueError(f"expected a dialect, one of {names}, got {name!r}") from None
