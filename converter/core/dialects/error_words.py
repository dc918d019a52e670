"""`server_error` and `server_message` read servers' errors. `DialectDecoder` is the base of the
decoders, which read fields that may have wrong types by `as_count`, `as_text`, `as_index`,
`object_of`, `list_of`, `string_of`, `id_of`. `context_length` has the errors about long prompts.

A server may report an error in a response with an error's status, in a frame of a stream, or in a
body with status 200.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace

from converter.core.dialects import context_length
from converter.core.dialects.wire_form import Decoder
from converter.core.model.events import Event, Failure, OpaqueFrame, Own
from converter.core.wire import json_text
from converter.core.wire.json_text import as_object, whole_characters
from converter.core.wire.sse import Frame

_LONGEST_PAGE = 8192
"""How many characters of an HTML page are searched for its message, which is near the beginning."""
_LONGEST_SHOWN = 400
"""How many characters are shown of an error that has no message: a gateway's page, or JSON."""
_REPLY_FIELDS = frozenset({"choices", "type", "object"})
"""Fields of replies: a body with one of them is no error of FastAPI, even if it has a `detail`."""
NO_MESSAGE = "the server reported an error without a message"
"""The message of an error that has no message of its own."""


def server_error(body: object, event: str = "") -> Failure | None:
    """Return the error in a frame or body, or `None` if there is none.

    Arguments:
        body: the parsed JSON; the text itself if it is no JSON.
        event: the name of the server-sent event; empty if there is none.
    """
    fields = as_object(body)
    error = fields.get("error")
    # An error is a text, as Ollama sends it, or an object: even `{}` reports an error.
    if error or isinstance(error, dict):
        return _error_of(error, fields)
    # Without a field `error`, the whole body is the error if the event, `object` or `type` is named
    # `error`. Older versions of vLLM send such bodies.
    if event == "error" or "error" in (fields.get("object"), fields.get("type")):
        return _error_of(body, fields)
    # FastAPI, the library of many servers, has an error's message in the field `detail`.
    if "detail" in fields and not fields.keys() & _REPLY_FIELDS:
        return _error_of(fields["detail"], fields)
    return None


def _error_of(error: object, body: Mapping[str, object]) -> Failure:
    """Return the failure for `error`, which is `body` or the value of one of its fields. The
    failure gets the type in `error`, and the code in it: a number from 400 to 599 as its status,
    another text as its code. If only a type or code, in `error` or in `body`, says that the prompt
    is too long, it is added to the message.
    """
    fields = {name: value for name, value in as_object(error).items() if value is not None}
    if isinstance(error, dict):
        error = fields.get("message") or fields.get("detail") or _text(fields)[:_LONGEST_SHOWN]
    kind, code = fields.get("type"), fields.get("code")
    number = int(code) if isinstance(code, str) and re.fullmatch("[0-9]{3}", code) else code
    status = number if type(number) is int and 400 <= number < 600 else 0
    named = isinstance(kind, str) and kind not in ("", "error")
    names = [part.get(name) for part in (fields, body) for name in ("code", "type", "error_type")]
    return Failure(
        context_length.with_name(whole_characters(_text(error)) or NO_MESSAGE, *names),
        str(kind) if named else "api_error",
        status,
        code=code if isinstance(code, str) and not status else "",
    )


def _text(value: object) -> str:
    """Return a string without blanks around it. Any other value is returned as JSON; null and an
    empty list or object give an empty text.
    """
    text = value if isinstance(value, str) else json_text.write(value).decode() if value else ""
    return text.strip()


def server_message(body: bytes) -> str:
    """Return the message of an error answer, from whatever field of its JSON has it; if none has
    it, the beginning of the JSON. An answer that is no JSON gives the beginning of its text,
    without HTML tags, styles and scripts. Empty JSON (`{}`, `null`) and an empty answer give an
    empty message.
    """
    try:
        value = json_text.read(body)
    except json_text.UnreadableError:
        page = body.decode(errors="replace")[:_LONGEST_PAGE]
        unstyled = re.sub(r"(?is)<(style|script)\b.*?</\1>", " ", page)
        return " ".join(re.sub(r"<[^<>]*>", " ", unstyled).split())[:_LONGEST_SHOWN]
    error = server_error(value, "error") if value else None
    return error.message if error else ""


def message_of_answer(status: int, body: bytes, *, with_status: bool = False) -> str:
    """Return the message of a server's answer that is no reply.

    The status is put before the message if `with_status` is True or the status is below 400. A
    message which says that the prompt is too long is returned without the status. If there is no
    message, a sentence with the status is returned.
    """
    message, answered = server_message(body), f"the server answered with status {status}"
    if not message:
        return f"{answered} and no message"
    alone = context_length.overflow_in(message) or not (with_status or status < 400)
    return message if alone else f"{answered}: {message}"


MOST_TOKENS = 10**12
"""A number that is as high or higher is no count of tokens: JSON may hold a number of any size."""


class MisshapenError(Exception):
    """Raised for a frame whose fields have wrong types, such as a `content` that is a number: a
    client would fail on it.
    """


class DialectDecoder(Decoder, ABC):
    """Takes frames and returns events; a whole reply is one frame. A frame that cannot be read
    becomes one `OpaqueFrame`, or a `Failure` if its event is named `error`.
    """

    name: str
    """Name of the dialect. Events have it in their `own`, with the data that only an encoder of
    this dialect can write.
    """

    def feed(self, frame: Frame) -> list[Event]:
        """Return the frame's events: those of `_read` for its JSON, a `Failure` for an error, an
        `OpaqueFrame` for a frame without data or one that cannot be read, those of
        `_events_of_done` for `[DONE]`.
        """
        data = (frame.data or b"").strip()
        if not data:
            # Some servers that fail in mid-stream write an error as bare JSON, without `data:`
            # before it. Then, or if the frame was too large, the reply is not whole: it is `lost`.
            bare = frame.raw.strip()
            lost = frame.oversized or (
                bare.startswith(b"{") and server_error(json_text.read_or_none(bare)) is not None
            )
            return [OpaqueFrame(self._own(frame), frame.comment, lost=lost)]
        if data == b"[DONE]":
            return self._events_of_done(frame)
        try:
            parsed = json_text.read_strictly(data)
        except json_text.UnreadableError:
            error = server_error(data.decode(errors="replace"), frame.event)
            return [error or OpaqueFrame(self._own(frame), lost=True)]
        error = server_error(parsed, frame.event)
        if error and (failure := self._failure(error, parsed, frame)):
            return [failure]
        try:
            return list(self._read(parsed, frame))
        except (KeyError, MisshapenError):
            return [OpaqueFrame(self._own(frame), lost=True)]

    def _own(self, frame: Frame) -> Own:
        """Return the bytes of a frame as data that only an encoder of this dialect can write."""
        return Own(self.name, raw=frame.raw)

    def _events_of_done(self, frame: Frame) -> list[Event]:  # noqa: ARG002
        """Return the events for a frame `[DONE]`: none, because in most dialects another frame ends
        the reply, and only a gateway adds this one.
        """
        return []

    def _failure(
        self,
        error: Failure,
        parsed: object,  # noqa: ARG002
        frame: Frame,
    ) -> Failure | None:
        """Return the event for `error`, which was found in the frame. None if this dialect reads
        such a frame with `_read`, like a frame without an error.
        """
        return replace(error, own=self._own(frame))

    @abstractmethod
    def _read(self, parsed: object, frame: Frame) -> Iterable[Event]:
        """Return the events for a frame's JSON. Raises KeyError or MisshapenError if it cannot be
        read.
        """


def object_of(value: object) -> dict[str, object]:
    """Return `value`, which must be an object. Raises MisshapenError for any other type."""
    if not isinstance(value, dict):
        raise MisshapenError
    return value


def string_of(value: object) -> str:
    """Return `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def id_of(value: object) -> str:
    """Return an id as a string. A whole number is an id too, because some servers send one; any
    other value gives an empty string.
    """
    return str(value) if type(value) is int else string_of(value)


def list_of(value: object) -> list[object]:
    """Return `value` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return the text of a field; null gives an empty text. Raises MisshapenError for any other
    type.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MisshapenError
    return value


def as_index(value: object, position: int | None = None) -> object:
    """Return an index as an `int`: `"2"` and `2.0` give 2. Null gives `position`, the place of the
    entry in its list, or None without it. Any other value is returned as it is.
    """
    if value is None:
        return position
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_count(fields: object, name: str) -> int | None:
    """Return the number of tokens in the field `name`. None if it has no number, or a number that
    cannot be a count: one below 0, or from `MOST_TOKENS` on.
    """
    value = fields.get(name) if isinstance(fields, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < MOST_TOKENS else None
