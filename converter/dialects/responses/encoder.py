"""Neutral events to replies of the Responses API: frames of a stream, or one whole response.

A whole response is the one that the stream's last event holds, so that the two cannot disagree.
"""

from collections.abc import Iterable, Sequence

from converter.dialects.responses.context import ResponseContext
from converter.dialects.responses.errors import error_body
from converter.dialects.responses.growing_items import Json
from converter.dialects.responses.response_events import ResponseEvents
from converter.events import Event, OpaqueFrame, Text, Thinking
from converter.wire import json_text
from converter.wire.sse import write_frame


class ResponsesStreamEncoder:
    """Events in, frames out."""

    def __init__(self, context: ResponseContext) -> None:
        self._events = ResponseEvents(context)

    @property
    def notes(self) -> list[str]:
        """The notes on what was mended or left out, a line each."""
        return self._events.notes

    @property
    def failure(self) -> str:
        """The reason why the response failed, or empty."""
        return self._events.failure

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:  # noqa: ARG002
        """Return the frames. A server's comment (a ping) becomes a sign that clients count."""
        out: list[bytes] = []
        for event in events:
            if isinstance(event, OpaqueFrame) and event.comment:
                out += self.ping()
            out += map(_frame, self._events.feed(event))
        return out

    def spliced(self, kind: type[Text] | type[Thinking], characters: int) -> None:
        """Take note of nothing: all words come through `feed`."""

    def ping(self) -> list[bytes]:
        """Return a sign of life, which begins the response if nothing has."""
        begun = list(map(_frame, self._events.start()))
        return [*begun, _frame(self._events.keepalive())] if self._events.started else begun

    def close(self) -> list[bytes]:
        """End the stream, or say in it why it has no end."""
        return list(map(_frame, self._events.close()))


def _frame(event: Json) -> bytes:
    return write_frame(json_text.write(event), str(event["type"]))


class ResponsesWholeEncoder:
    """Events in, one response out, at `close`; an error in its place has no output."""

    def __init__(self, context: ResponseContext) -> None:
        self._events = ResponseEvents(context)
        self._response: Json = {}

    @property
    def notes(self) -> list[str]:
        """The notes on what was mended or left out, a line each."""
        return self._events.notes

    @property
    def failure(self) -> str:
        """The reason of an error that the client got, or empty."""
        return self._events.failure

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:  # noqa: ARG002
        """Return nothing yet."""
        for event in events:
            self._fold(self._events.feed(event))
        return []

    def spliced(self, kind: type[Text] | type[Thinking], characters: int) -> None:
        """Take note of nothing: all words come through `feed`."""

    def ping(self) -> list[bytes]:
        """Return nothing: a body has no place for it."""
        return []

    def close(self) -> list[bytes]:
        """Return the response."""
        self._fold(self._events.close())
        return [self._written()]

    def _fold(self, events: Iterable[Json]) -> None:
        for event in events:
            if isinstance(response := event.get("response"), dict):
                self._response = response

    def _written(self) -> bytes:
        error = self._response.get("error")
        if not self.failure or not isinstance(error, dict):
            return json_text.write(self._response)
        return json_text.write(error_body(str(error["message"]), code=str(error["code"])))
