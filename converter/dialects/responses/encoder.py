"""Neutral events to replies of the Responses API: frames of a stream, or one whole response, which
is the one that the stream's last event holds.
"""

from converter.dialects.event_encoders import (
    EventStreamEncoder,
    EventWholeEncoder,
    Message,
)
from converter.dialects.responses import compaction
from converter.dialects.responses.context import ResponseContext
from converter.dialects.responses.errors import SERVER_ERROR, error_body
from converter.dialects.responses.response_events import ResponseEvents
from converter.model.events import WordKind


class ResponsesStreamEncoder(EventStreamEncoder):
    """Events in, frames out. A server's comment becomes a sign of life that clients count."""

    def __init__(self, context: ResponseContext) -> None:
        self._response = ResponseEvents(context)
        super().__init__(self._response)

    def spliced(self, kind: WordKind, text: str, frames: int) -> int:
        """Number the frames of words that are written like the last ones of this kind."""
        return self._response.spliced(kind, text, frames)

    def commented(self, raw: bytes) -> list[bytes]:  # noqa: ARG002
        """Return a sign of life."""
        return self.ping()

    def ping(self) -> list[bytes]:
        """Return a sign of life, which begins the response if nothing has."""
        events = list(self._response.start())
        if self._response.started:
            events.append(self._response.keepalive())
        return list(map(self.framed, events))


class ResponsesWholeEncoder(EventWholeEncoder):
    """Events in, one response out, at `close`; an error in its place has no output."""

    def __init__(self, context: ResponseContext) -> None:
        super().__init__(ResponseEvents(context), FoldedResponse(context))


class FoldedResponse:
    """Events in; `message` is the response of the last one that has one, or its error alone. A
    compaction has another shape.
    """

    def __init__(self, context: ResponseContext) -> None:
        self._context = context
        self._response: Message = {}

    @property
    def message(self) -> Message:
        """The response, or the error in its place."""
        error, repeated = self._response.get("error"), self._context.repeated
        if isinstance(error, dict):
            status = 500 if error["code"] == SERVER_ERROR else 400
            return error_body(str(error["message"]), status, code=str(error["code"]))
        if repeated is None:
            return self._response
        return compaction.answer(self._response, repeated, self._context.id)

    def feed(self, event: Message) -> None:
        """Keep the event's response."""
        if isinstance(response := event.get("response"), dict):
            self._response = response
