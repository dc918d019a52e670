"""`Rewriter` turns the server's bytes of one reply into the client's bytes. `stages` lists the
stages that read its text; each dialect's folder has its decoder and its encoder.

Streamed and whole replies take the same way:

chunk -> FrameReader -> frame with events -> Stages -> events -> Encoder -> chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from converter.core.dialects.wire_form import Form, ReplyContext, Speaker
from converter.core.model.events import End, Event, Failure, Finish, Start, ThinkingEnd, Usage
from converter.core.model.initial_state import InitialState
from converter.core.reading.reading import Reading
from converter.core.reply.chain import Stages, StageTable
from converter.core.reply.continuation import Continuation
from converter.core.reply.fast_path import FastPath
from converter.core.reply.frame_reader import FrameReader
from converter.core.reply.model_name import frame_with_model
from converter.core.reply.pending_finish import PendingFinish, ReadFrame
from converter.core.reply.reply_end import ReplyEnd, without_frames
from converter.core.reply.reply_notes import NO_ANSWER, notes_of
from converter.core.reply.spoiled_frames import SpoiledFrames
from converter.core.reply.summary import Summary
from converter.core.reply.thought_events import ThoughtEvent
from converter.core.reply.token_counts import TokenCounts
from converter.core.wire.bounds import MOST_FAULTS, fault_of
from converter.core.wire.sse import Frame

NO_CONTEXT = ReplyContext()
"""The context of a reply whose request is not known."""


class Rewriter:
    """Takes the server's bytes of one reply, cut anywhere, and returns the client's bytes.

    Never raises: if the decoder, a stage or the encoder raises for a frame, the frame is sent as it
    came, or the reply ends with an error.

    If the addon ends a thought, it may request a second reply, which this object then rewrites as
    the rest of the first (`converter/core/reply/continuation.py`).

    Arguments:
        table: the table of stages.
        reading: the settings and facts by which the stages read the reply.
        server: the server's dialect.
        client: the client's dialect.
        server_form: the form, streamed or whole, in which the server sends the reply.
        client_form: the form that the client wants; None for the server's form.
        context: facts about the reply that come from its request.
        fast: True if the fast path may be used.

    Attributes:
        form: the form in which the client gets the reply.
        end: the decision whether the reply is whole.
        continuation: whether a second reply may continue this one, or does so now.
        events: the events that are in the bytes which the last call of a method returned.
        thoughts: the thought events of the thoughts that ended in the last call of a method.
        changed: True if a frame was not sent as it came.
        closed: True once `close` or `abort` was called.
        findings: facts that the stages learned, for the log and the next reply.
        summary: counts and times of the reply.
        hurried: how many frames the fast path has rewritten.
    """

    def __init__(
        self,
        table: StageTable,
        reading: Reading,
        server: Speaker,
        client: Speaker,
        server_form: Form,
        client_form: Form | None = None,
        *,
        context: ReplyContext = NO_CONTEXT,
        fast: bool = True,
    ) -> None:
        self._client = client
        self._same_dialect = client is server and client.wire.keeps_raw
        self.form = client_form or server_form
        whole = Form.WHOLE in (server_form, self.form)
        self._reading = reading if reading.whole is whole else replace(reading, whole=whole)
        self._table, self._server, self._server_form = table, server, server_form
        self._fields = context.map
        self._reader = FrameReader(server, server_form, self._fields)
        self._stages = Stages(table, self._reading)
        self.findings = self._stages.findings
        self._encoder = client.wire.encoder(context, self.form is Form.WHOLE)
        self._splices = fast and server.wire.keeps_raw and not whole
        self._fast = self._fast_path()
        self.end = ReplyEnd(self._server, self._same_dialect)
        self.continuation = Continuation(self.findings)
        self._pending = PendingFinish(reading.expected.limit)
        self._tokens = TokenCounts(context.prompt_tokens)
        self._model = ""
        self._spoiled = SpoiledFrames()
        self._faults: list[str] = []
        self.events: list[Event] = []
        self.thoughts: list[ThoughtEvent] = []
        self.changed = self.closed = self._broken = self._finished = self._reads_last_again = False
        self.summary = Summary()
        self.hurried, self._at = 0, 0.0

    def held(self) -> int:
        """Return how many bytes of an incomplete frame are held."""
        return self._reader.cutter.held()

    def _fast_path(self) -> FastPath | None:
        """Return a new fast path for the current decoder and stages; `None` if this reply must take
        the full way: decoder, stages and encoder for each frame.
        """
        if not self._splices:
            return None
        counter = self._client.wire.counter
        return FastPath(self._reader.decoder, self._stages, self._encoder, self._record, counter)

    def rename_model(self, name: str) -> None:
        """From now on, write `name` instead of the server's name of the model."""
        # No fast path: it would send frames as they came, with the server's name of the model.
        self._model, self._fast = name, None
        self._splices = False

    def continue_from(self, begun: "Rewriter") -> None:
        """Continue the client's reply that the rewriter `begun` has begun, by taking over its
        encoder. `begun` must have written nothing but signs of life (`ping`).
        """
        self._encoder = begun._encoder
        if self._fast:
            self._fast.encoder = begun._encoder

    @property
    def failure(self) -> str:
        """The message of the error that ended the client's reply before it was whole; empty if
        there was none so far.
        """
        return self._encoder.failure or (self._faults[0] if self._broken else self.end.reason)

    @property
    def finished(self) -> bool:
        """True if a finish has come, from the server or from the addon. One that says that the
        reply is not whole does not count.
        """
        return self._finished or self._pending.holds

    @property
    def notes(self) -> list[str]:
        """Notes for a person on what was unusual in the reply, one line each. They are complete
        after `close`.
        """
        spoiled = self._spoiled.notes("passed as they came" if self._same_dialect else "left out")
        ended_itself = not self._reading.expected.stops
        unanswered = [NO_ANSWER] if ended_itself and self.summary.is_unanswered else []
        return [
            *self._faults,
            *notes_of(self.findings),
            *unanswered,
            *spoiled,
            *self._encoder.notes,
        ]

    def feed(self, chunk: bytes, at: float = 0.0) -> list[bytes]:
        """Return the bytes that the client can get now; none of them is empty. `at`: the time at
        which the chunk came, in seconds since the request.
        """
        self.events, self._at = [], at
        if self.continuation.is_over:
            return self._update_summary([])
        self.summary.arrived(at)
        raws, index, out = self._reader.cutter.cut(chunk), 0, list[bytes]()
        while index < len(raws):
            taken = self._rewrite_fast(self._fast, raws, index, out) if self._fast else 0
            if not taken:
                out += self._rewrite(self._reader.cutter.read(raws[index]))
            index += taken or 1
            if self.continuation.is_due:
                index -= self._reads_last_again
                held = self.held()
                out += self._begin_second_reply()
                if self.continuation.pauses or self.continuation.is_over:
                    self.continuation.unused = sum(map(len, raws[index:])) + held
                    return self._update_summary(out)
        out += [piece for frame in self._reader.cutter.overflow() for piece in self._rewrite(frame)]
        return self._update_summary(out)

    def whole(self, body: bytes, at: float = 0.0) -> list[bytes]:
        """Return all bytes for the client, as `feed` and then `close` would. `body`: the complete
        reply. `at`: the time at which it came, in seconds since the request.
        """
        out = self.feed(body, at)
        events, thoughts = self.events, self.thoughts
        out += self.close()
        self.events, self.thoughts = [*events, *self.events], [*thoughts, *self.thoughts]
        return out

    def close(self) -> list[bytes]:
        """Return the last bytes for the client, because the server's reply has ended. If the client
        wants a whole body, these are its only bytes.
        """
        self.closed, self.events = True, []
        if self.continuation.is_over:
            return self._update_summary(self._end_reply([], self.continuation.take_rest, b""))
        frames = self._reader.cutter.close()
        out = [piece for frame in frames for piece in self._rewrite(frame)]
        out += self._guarded(self._send_pending, b"")
        # The addon has ended a thought or the answer in the response's last bytes. The response is
        # over, so no second reply will be requested.
        if self.continuation.is_due:
            self.continuation.refuse()
            return self._update_summary(self._end_reply(out, self.continuation.take_rest, b""))
        whole = frames[-1].raw if self.form is Form.WHOLE and frames and not out else b""
        return self._update_summary(self._end_reply(out, self.end.close, whole))

    def leave(self) -> list[bytes]:
        """End the open thought, because the server was asked to end it and does not. Prepare for
        the second reply, or end the reply if no second one is possible. Return the client's bytes;
        nothing if no thought is open that the server was asked to end.
        """
        self.events, out = [], list[bytes]()
        if self.findings.ends.pending:
            self.findings.ends.count_pending_by_addon()
            out = self._begin_second_reply()
        return self._update_summary(out)

    def refuse(self, reason: str) -> None:
        """End the reply at the thought that the addon ended, because no second reply comes.
        `reason`: a note for the log that says why none comes.
        """
        self._faults.append(reason)
        self.continuation.refuse()

    def _begin_second_reply(self) -> list[bytes]:
        """Prepare for the second reply, because the addon has ended a thought, and return nothing.
        If no second reply can continue this one, or the addon has ended the answer, end the reply
        and return the bytes for the events of its end (`Continuation.rest`).
        """
        if not self.continuation.begin(self._tokens):
            rest = self._with_counts(self.continuation.take_rest())
            return self._encoder.feed(self._record(rest))
        expected = replace(self._reading.expected, initial=InitialState.TEXT)
        reading = replace(self._reading, chosen_start=InitialState.TEXT, expected=expected)
        cutter = None if self.continuation.pauses else self._reader.cutter
        self._reader = FrameReader(self._server, self._server_form, self._fields, cutter)
        self._stages = Stages(self._table, reading, self._stages)
        self.end, self._fast = ReplyEnd(self._server, self._same_dialect), self._fast_path()
        self._pending = PendingFinish()
        # Without this `Start`, a second reply without bytes would be reported as an empty reply
        # (`EMPTY`), although the client has got the first reply.
        self.end.feed([Start("", "")])
        return []

    def abort(self, reason: str) -> list[bytes]:
        """Return the last bytes for the client, because the server's reply broke off: the held
        text, then an error in the client's dialect with the message `reason`. If the finish has
        come, end the reply as `close` does, without this error.
        """
        if self.finished:
            return self.close()
        self.closed, self.events = True, []
        return self._update_summary(self._end_reply([], lambda: self.end.broke_off(reason), b""))

    def ping(self) -> list[bytes]:
        """Return a frame without content, as a sign of life while the stream is silent; nothing if
        the dialect has no such frame, or if the reply is over.
        """
        self.events, self.thoughts = [], []
        return [] if self.closed or self._broken else self._encoder.ping()

    def _update_summary(self, out: list[bytes]) -> list[bytes]:
        """Bring `thoughts` and `summary` up to date, and return `out`. Each public method that
        returns bytes, except `ping`, ends with a call of this one.

        Once the reply is closed, drop the fast path, which refers to this object. Without this
        cycle of references, Python frees the reply's memory at once, and not by its garbage
        collector.
        """
        self._fast = None if self.closed else self._fast
        self.thoughts = self._stages.take_thoughts()
        for event in self.events:
            self.summary.feed(event, self._at)
        held = self.findings.calls.held_characters
        self.summary.calling = held + self._fast.waiting if held and self._fast else held
        if self.closed and not self._broken:
            self.summary.close(self._at)
        return out

    def _end_reply(
        self, out: list[bytes], drain: Callable[[], list[Event]], whole: bytes
    ) -> list[bytes]:
        """Return `out`, and behind it the bytes of the reply's end: first for the events that the
        stages hold, then for the events that `drain` returns.

        `whole`: the server's body if nothing of it was sent yet; else empty. If a stage or the
        encoder raises, a client of the server's dialect gets it as it came.
        """

        def rest_of() -> list[bytes]:
            """Return the bytes for the held events and the events of `drain`, and the bytes with
            which the encoder ends a reply.
            """
            if self._fast:
                self._fast.settle()
            drained = [*self._stages.close(), *drain()]
            events = self._record(self._with_counts(drained, is_last=True))
            return [*self._encoder.feed(events), *self._encoder.close()]

        rest = self._guarded(rest_of, whole)
        ends = self._client.wire.framing.ends
        if out and rest and not out[-1].endswith(ends):
            # The last frame was sent as it came, but without the blank line or line end behind it.
            out.append(ends[0])
        return [*out, *rest]

    def _rewrite(self, frame: Frame) -> list[bytes]:
        """Return the client's bytes for a frame of the server. If the client uses another name for
        the model, this name is first put into the frame.
        """
        named = frame_with_model(frame, self._model) if self._model else frame
        return self._guarded(lambda: self._rewrite_frame(named), frame.raw)

    def _guarded(self, work: Callable[[], list[bytes]], raw: bytes) -> list[bytes]:
        """Return the bytes that `work` returns. If it raises, return the bytes of `_handle_fault`
        instead. If an error has already ended the reply, do not call `work` and return nothing.
        `raw`: the server's frame that `work` handles.
        """
        if self._broken:
            return []
        try:
            return work()
        except Exception as error:
            return self._handle_fault(error, raw)

    def _rewrite_frame(self, came: Frame) -> list[bytes]:
        """Return the client's bytes for a frame of the server. A frame with a finish may wait: its
        bytes are then returned with those of a later frame, or at the end (see `PendingFinish`).
        """
        if self._fast:
            self._fast.settle()
        frame, read = self._reader.read(came)
        self._spoiled.count(came, frame, read)
        self._tokens.read(read)
        passing = self._pending.feed(ReadFrame(came, frame, read))
        if self._fast and not (passing and passing[-1].came is came):
            # This frame waits with its finish, or lost all its events. The next frame must be
            # parsed, because it may change the waiting finish. So the fast path is given an empty
            # frame, at which it forgets what it has learned.
            self._fast.learn(b"", read, (), ())
        return self._send_all(passing)

    def _send_all(self, frames: Sequence[ReadFrame]) -> list[bytes]:
        """Return the client's bytes for frames that need not wait. If the addon ends a thought or
        the answer in one of them, leave out the frames behind it.

        In this case, also set `_reads_last_again`: True if a frame that was left out has other
        events than counts and the end. `feed` then reads the server's last frame once more, because
        it is the first one of the second reply.
        """
        out: list[bytes] = []
        for number, each in enumerate(frames, 1):
            out += self._guarded(partial(self._send, each), each.came.raw)
            if self.continuation.is_due:
                self._reads_last_again = any(
                    not isinstance(event, Usage | End)
                    for behind in frames[number:]
                    for event in behind.events
                )
                break
        return out

    def _send_pending(self) -> list[bytes]:
        """Return the client's bytes for the frames that still wait with a finish at the end of the
        reply.
        """
        if self._fast:
            self._fast.settle()
        return self._send_all(self._pending.close())

    def _send(self, each: ReadFrame) -> list[bytes]:
        """Feed a frame's events to stages and encoder, and return the client's bytes."""
        came, frame, read = each.came, each.frame, each.events
        staged = self._stages.feed_all(self.end.feed(read))
        events = self._record(self._with_counts(self.continuation.feed(staged)))
        passes = (
            self._same_dialect
            and not self.continuation.goes_on
            and frame.is_body == (self.form is Form.WHOLE)
        )
        # A `ThinkingEnd` that a stage has added does not count as a change of the frame: the
        # dialects whose frames are sent as they came (`keeps_raw`) write nothing for it.
        spoken = [event for event in events if not isinstance(event, ThinkingEnd)]
        unchanged = passes and each.intact and spoken == read and self.end.keeps(read)
        shown = events if passes or not self._same_dialect else without_frames(events)
        out = self._encoder.feed(shown, frame.raw if unchanged else None)
        self.changed = self.changed or out != [came.raw]
        self._fast = None if self.end.failure else self._fast
        if self._fast:
            self._fast.learn(frame.raw if frame is came else b"", read, events, out)
        return out

    def _rewrite_fast(self, fast: FastPath, raws: list[bytes], index: int, out: list[bytes]) -> int:
        """Rewrite frames of `raws`, from the index `index` on, by the fast path. Append the
        client's bytes to `out`, and return how many frames were rewritten; 0 if the next frame must
        be parsed. If the fast path raises, all these frames count as rewritten, and `_handle_fault`
        has their bytes.
        """
        try:
            taken, written = fast.rewrite(raws, index)
        except Exception as error:
            out += self._handle_fault(error, b"".join(raws[index:]))
            return len(raws) - index
        if taken:
            self.hurried += taken
            self._tokens.count(fast.text, taken)
            out += [written] if written else []
            self.changed = self.changed or fast.changes
        return taken

    def _with_counts(self, events: Sequence[Event], is_last: bool = False) -> list[Event]:
        """Return the events. If they end a reply without token counts, add counts to them, unless
        the reply has failed. `is_last`: True if no further events follow.
        """
        return [*events] if self.end.failure else self._tokens.with_counts(events, is_last)

    def _record(self, events: list[Event]) -> list[Event]:
        """Return `events`, which the client will get. Record the finish, the token counts and the
        failure among them, and add them all to the attribute `events`.
        """
        for event in events:
            match event:
                case Failure():
                    self.end.failed(event)
                case Finish():
                    self._finished = bool(event.reason)
                case Usage() if event.input or event.output or self._same_dialect:
                    self._tokens.usage = event
        self.events += events
        return events

    def _handle_fault(self, error: Exception, raw: bytes) -> list[bytes]:
        """Return the client's bytes for the frame `raw`, for which the decoder, a stage or the
        encoder has raised `error`. They are the frame itself, or, if the client cannot get the
        server's frames as they came, an error that ends the reply. Record the error for `notes`.
        """
        message, status = fault_of(error)
        if message not in self._faults and len(self._faults) < MOST_FAULTS:
            self._faults.append(message)
        if self._same_dialect:
            self.end.give_up()
            return [raw] if raw else []
        self._broken, self._fast = True, None
        try:
            return [*self._encoder.feed([Failure(message, status=status)]), *self._encoder.close()]
        except Exception:  # the encoder itself has the fault: write the error without it
            body = self._client.error(message, "api_error", 500)
        if self.form is Form.WHOLE:
            return [body]
        wire = self._client.wire
        return [wire.framing.write(body, wire.error_event)]
