"""`ReplyEnd` decides whether a reply is whole, and adds a `Failure` with its message if not. It is
decided only here, for all dialects and both forms; `converter.core.dialects.finish_words` says what
finish reasons mean.

A stream is whole if each choice that has thinking, text or calls also has a finish (there must be
at least one) whose reason does not say otherwise, and if no frame that may have held text was
unreadable. A last frame that was cut off does no harm if all finishes came before it. Outside the
Responses API, a whole body needs no finish: it is whole if the decoder emits an `End` for it. In
any other reply, a `Failure` is the last event before the end.
"""

from collections.abc import Sequence
from dataclasses import replace

from converter.core.dialects.finish_words import NOT_WHOLE, is_standard
from converter.core.dialects.wire_form import Speaker
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    Opaque,
    OpaqueFrame,
    Start,
    Text,
    Thinking,
    ToolCall,
)
from converter.core.wire.beginnings import FirstBytes, beginning_of
from converter.core.wire.bounds import FRAME_LIMIT

BAD_GATEWAY = 502
"""The HTTP status for a reply that cannot be read or is not whole."""
CUT_SHORT = "the server's reply was cut short: it ended without a finish"
"""The message for a reply that lacks the finish of a choice, or that ends in the middle of a frame.
"""
UNFINISHED = "the server ended its reply as {word}: the reply is not whole"
"""The message for a finish that says that the reply is not whole. `word`: the server's finish
reason.
"""
UNKNOWN = "the server ended its reply as {word}, which may mean that the reply is not whole"
"""The message for a finish reason that only this server has, so that the client cannot get it.
`word`: the server's finish reason.
"""
EMPTY = "the server's reply was empty"
"""The message for a reply that has no bytes, or only blanks, comments and an end."""
UNREAD = "the server's reply is no {reply}: {words}"
"""The message for bytes that are no reply. `reply`: what the dialect calls its replies; `words`:
the error message in the bytes, or their beginning.
"""
LOST = "the server sent a frame that cannot be read: {words}"
"""The message for an unreadable frame in the middle of a reply. `words`: the error message in the
frame, or its beginning.
"""
TOO_LONG = f"the server sent a frame of more than {FRAME_LIMIT >> 20} megabytes"
"""The message for a frame that is longer than `FRAME_LIMIT`."""
_LONGEST_UNREAD = FRAME_LIMIT - 16
"""The most bytes of an unreadable frame that is not reported as too long (`TOO_LONG`). The number
is a little lower than `FRAME_LIMIT`, because the frame decoder holds back the last bytes of a frame
that is too long: the frame's end may begin in them.
"""
_LONGEST_QUOTE = 200
"""The most characters of unreadable bytes that an error quotes."""
_TEXT_EVENTS = (Text, Thinking, ToolCall)
"""The types of events that are content. A choice that has such an event needs a finish."""
_UNCHECKED = frozenset((*_TEXT_EVENTS, Opaque))
"""The types of events that say nothing about the end of a reply. A frame that has only such events
is not checked.
"""


class ReplyEnd:
    """Takes a decoder's events and returns them up to the first one that shows that the reply is
    not whole. There it returns a `Failure`, and behind it nothing but an `End`.

    Arguments:
        server: the dialect of the server, for error messages.
        keeps_reasons: True if the client has the server's dialect, so that it can get a finish
            reason that only this server has.

    Attributes:
        failure: the failure that says why the reply is not whole; None if it is whole so far.
    """

    def __init__(self, server: Speaker, keeps_reasons: bool = False) -> None:
        self._server, self._keeps_reasons = server, keeps_reasons
        self._spoke: set[int] = set()
        self._finished: set[int] = set()
        self._is_over = self._started = False
        self._unknown = b""
        self.failure: Failure | None = None

    def feed(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return `events`. If one of them shows that the reply is not whole, return a `Failure` in
        place of this event; if it is an `End`, before it. After a failure, return only an `End`,
        and nothing for any other event. Drop a frame that was cut off behind the last finish.
        """
        if self.failure is None and _UNCHECKED.issuperset(map(type, events)):
            self._spoke.update(
                [event.choice for event in events if isinstance(event, _TEXT_EVENTS)]
            )
            return events
        checked = list[Event]()
        for event in events:
            if self.failure is None:
                checked += self._check(event)
            elif isinstance(event, End):
                checked.append(event)
        return checked

    def close(self) -> list[Event]:
        """Return a failure, because the server's bytes have ended before the reply is whole. Return
        nothing if it is whole, or has a failure already.
        """
        return [] if self.failure or self._is_over or self._is_whole else [self._missing_end()]

    def broke_off(self, reason: str) -> list[Event]:
        """Return a failure with the message `reason`, because the reply broke off. Return nothing
        if it has a failure already.
        """
        return [] if self.failure else [self._fail(reason)]

    def failed(self, failure: Failure) -> None:
        """Record a failure that a stage has emitted."""
        self.failure = self.failure or failure

    def give_up(self) -> None:
        """Let `close` return no failure, even if no finish was read. The caller knows why: it sent
        a frame as it came without reading it, or the client has disconnected.
        """
        self._is_over = True

    def keeps(self, events: Sequence[Event]) -> bool:
        """Return True if the frame with these events may be sent to the client as it came.

        After a failure, this is True only for the server's frame with the error, or with the end of
        the reply. The decoder gives such an event an `own` if clients can read its frame.
        """
        if self.failure is None:
            return True
        return any(isinstance(event, (Failure, End)) and bool(event.own) for event in events)

    @property
    def reason(self) -> str:
        """The reason why the reply is not whole; empty if it is whole so far."""
        return self.failure.message if self.failure else ""

    @property
    def status(self) -> int:
        """The HTTP status for the failure: the one that the server's error has, else 502."""
        return (self.failure.status if self.failure else 0) or BAD_GATEWAY

    @property
    def begun(self) -> bool:
        """True if the reply has text, thinking, a call or a finish so far."""
        return bool(self._spoke or self._finished)

    @property
    def _is_whole(self) -> bool:
        """True if the reply has a finish, and each choice with thinking, text or a call has one."""
        return bool(self._finished) and self._spoke <= self._finished

    def _check(self, event: Event) -> Sequence[Event]:
        """Return the events to send for `event`: the event, a failure in its place, or a failure
        before an `End`. Return nothing for a frame that was cut off behind the last finish.
        """
        match event:
            case Text() | Thinking() | ToolCall():
                self._spoke.add(event.choice)
            case Finish() if event.reason != NOT_WHOLE and (
                self._keeps_reasons or is_standard(event.reason)
            ):
                self._finished.add(event.choice)
            case Finish():
                # An unknown finish reason may mean that the reply is not whole. A client of another
                # dialect cannot get the server's word for it, so it gets a failure.
                sentence = UNFINISHED if event.reason == NOT_WHOLE else UNKNOWN
                word = self._readable_part(event.server_word.encode())
                return [self._fail(sentence.format(word=word))]
            case Start():
                self._started = True
            case Failure():
                self.failure = event
            case OpaqueFrame(lost=True):
                return self._fail_unreadable(event.own.raw)
            case OpaqueFrame(comment=False):
                self._unknown = self._unknown or event.own.raw.strip()
            case End():
                # An end without `own` needs no finish: it comes with the finish (Ollama), from the
                # addon itself, or from a whole body of any dialect but the Responses API.
                missing = [self._missing_end()] if event.own and not self._is_whole else []
                self._is_over = True
                return [*missing, event]
        return [event]

    def _missing_end(self) -> Failure:
        """Record and return the failure for a reply that ends without a finish."""
        if self.begun or self._started:
            return self._fail(CUT_SHORT)
        text = self._readable_part(self._unknown)
        return self._fail(self._unread_message(text) if text else EMPTY)

    def _fail_unreadable(self, raw: bytes) -> Sequence[Event]:
        """Return a failure for bytes that cannot be read: a frame or the whole reply.

        A server-sent event without a line end is the last one, and was cut off. Return nothing for
        it if the reply is whole without it.
        """
        is_frame = beginning_of(raw) in (None, FirstBytes.FIELD)
        if len(raw) > _LONGEST_UNREAD:
            return [self._fail(TOO_LONG)]
        if is_frame and not raw.endswith((b"\n", b"\r")):
            return [] if self._is_whole else [self._fail(CUT_SHORT)]
        text, of_reply = self._readable_part(raw), self.begun or is_frame
        return [self._fail(LOST.format(words=text) if of_reply else self._unread_message(text))]

    def _fail(self, reason: str) -> Failure:
        """Record and return a failure with the message `reason`."""
        self.failure = Failure(reason, status=BAD_GATEWAY)
        return self.failure

    def _unread_message(self, text: str) -> str:
        """Return the message of the failure for bytes that are no reply. `text`: a short line about
        them, from `_readable_part`.
        """
        return UNREAD.format(reply=self._server.reply, words=text)

    def _readable_part(self, raw: bytes) -> str:
        """Return a short line about unreadable bytes: the error message in them, or their first
        characters.
        """
        text = self._server.message_in(raw) or raw[: 4 * _LONGEST_QUOTE].decode(errors="replace")
        return " ".join(text.split())[:_LONGEST_QUOTE]


def without_frames(events: Sequence[Event]) -> list[Event]:
    """Return the events without the bytes of the server's frames: no `OpaqueFrame`, and no `own` in
    a `Failure` or an `End`. They are of no use if the server sends a stream and the client gets a
    whole body, or the server sends a whole body and the client gets a stream.
    """
    return [
        replace(event, own=None) if isinstance(event, (Failure, End)) else event
        for event in events
        if not isinstance(event, OpaqueFrame)
    ]
