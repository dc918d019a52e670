"""A server's error, whatever its shape, as decoders read it.

An error may be an answer with an error's status, a frame within a stream, or a body that came with
status 200.
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

_PAGE = 8192
"""Characters of a page that are searched, because its message stands early."""
_LONGEST_SHOWN = 400
"""Characters of a text that is no JSON, such as a gateway's page, that are worth showing."""
_OF_REPLIES = frozenset({"choices", "type", "object"})
"""Fields that a reply has in one dialect or another, and FastAPI's error has not."""
NO_MESSAGE = "the server reported an error without a message"


def server_error(body: object, event: str = "") -> Failure | None:
    """Return the error in a frame or body, `None` if it holds none. `body`: its JSON, or the text
    itself if it is no JSON. `event`: the frame's name.
    """
    fields = as_object(body)
    error = fields.get("error")
    if error or isinstance(error, dict):  # chat completions, Messages; Ollama: a text
        return _error_of(error, fields)
    if event == "error" or "error" in (fields.get("object"), fields.get("type")):  # older vLLM
        return _error_of(body, fields)
    if "detail" in fields and not fields.keys() & _OF_REPLIES:  # FastAPI
        return _error_of(fields["detail"], fields)
    return None


def _error_of(error: object, body: Mapping[str, object]) -> Failure:
    """Return an error that stands in `body`, which may name it."""
    fields = {name: value for name, value in as_object(error).items() if value is not None}
    if isinstance(error, dict):
        error = fields.get("message") or fields.get("detail") or _text(fields)[:_LONGEST_SHOWN]
    kind, code, status = fields.get("type"), fields.get("code"), _status(fields)
    named = isinstance(kind, str) and kind not in ("", "error")
    names = [part.get(name) for part in (fields, body) for name in ("code", "type", "error_type")]
    return Failure(
        context_length.named(whole_characters(_text(error)) or NO_MESSAGE, *names),
        str(kind) if named else "api_error",
        status,
        code=code if isinstance(code, str) and not status else "",
    )


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json_text.write(value).decode() if value else ""
    return text.strip()


def _status(error: Mapping[str, object]) -> int:
    code = error.get("code")
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    return code if type(code) is int and 400 <= code < 600 else 0


def server_message(body: bytes) -> str:
    """Return the message of an error answer, wherever it stands."""
    try:
        value = json_text.read(body)
    except json_text.UnreadableError:
        return _plain(body.decode(errors="replace"))
    error = server_error(value, "error") if value else None
    return error.message if error else ""


def message_of_answer(status: int, body: bytes, *, with_status: bool = False) -> str:
    """Return the message of an answer that is no reply. `with_status`: the status stands before it,
    as of every answer below 400, unless the prompt was too long.
    """
    message, answered = server_message(body), f"the server answered with status {status}"
    if not message:
        return f"{answered} and no message"
    alone = context_length.find(message) or not (with_status or status < 400)
    return message if alone else f"{answered}: {message}"


def _plain(text: str) -> str:
    """Return the beginning of a page's text, without its marks."""
    text = text[:_PAGE]
    unstyled = re.sub(r"(?is)<(style|script)\b.*?</\1>", " ", text)
    return " ".join(re.sub(r"<[^<>]*>", " ", unstyled).split())[:_LONGEST_SHOWN]


MOST_TOKENS = 10**12
"""More than any model counts; JSON has numbers without end."""


class MisshapenError(Exception):
    """A frame of the dialect, but not of the shape that clients can read."""


class DialectDecoder(Decoder, ABC):
    """Frames in, events out; a whole reply is one frame. A frame that cannot be read is one
    `OpaqueFrame`; nothing is raised.
    """

    name: str
    """Name of the dialect, on data that only it can write back."""

    def feed(self, frame: Frame) -> list[Event]:
        """Return the frame's events."""
        data = (frame.data or b"").strip()
        if not data:
            lost = frame.oversized or _is_bare_error(frame.raw)
            return [OpaqueFrame(self._own(frame), frame.comment, lost=lost)]
        if data == b"[DONE]":
            return self._ended(frame)
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
        return Own(self.name, raw=frame.raw)

    def _ended(self, frame: Frame) -> list[Event]:  # noqa: ARG002
        """Return nothing for a gateway's frame, before which the reply has its own end."""
        return []

    def _failure(
        self,
        error: Failure,
        parsed: object,  # noqa: ARG002
        frame: Frame,
    ) -> Failure | None:
        """Return the error's event; None for a frame that is no error in this dialect."""
        return replace(error, own=self._own(frame))

    @abstractmethod
    def _read(self, parsed: object, frame: Frame) -> Iterable[Event]:
        """Return the events of a frame's JSON. Raises KeyError and MisshapenError."""


def _is_bare_error(raw: bytes) -> bool:
    """Return True if a frame without data is the JSON of an error, as servers write one that fail
    in mid-stream.
    """
    bare = raw.strip()
    return bare.startswith(b"{") and server_error(json_text.read_or_none(bare)) is not None


def object_of(value: object) -> dict[str, object]:
    """Return an object. Raises MisshapenError for anything else."""
    if not isinstance(value, dict):
        raise MisshapenError
    return value


def string_of(value: object) -> str:
    """Return a string; empty for anything else."""
    return value if isinstance(value, str) else ""


def id_of(value: object) -> str:
    """Return an id; empty for anything but a string and a whole number, which some servers send."""
    return str(value) if type(value) is int else string_of(value)


def list_of(value: object) -> list[object]:
    """Return a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return the text of a field; null is empty. Raises MisshapenError for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MisshapenError
    return value


def as_index(value: object, position: int | None = None) -> object:
    """Return the number that an index is: `"0"`, `0.0`, or the position where there is none."""
    if value is None:
        return position
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_count(fields: object, name: str) -> int | None:
    """Return the number of tokens in a field; None for anything that counts none."""
    value = fields.get(name) if isinstance(fields, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < MOST_TOKENS else None
