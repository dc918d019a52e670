"""A recording's reply, rewritten again, chunk by chunk, for a client of any dialect."""

from dataclasses import dataclass, field, replace

from converter.dialects.table import DIALECTS, Dialect, Form
from converter.exchange.exchange import Answer
from converter.observe.summary import Summary
from converter.recordings.recording import Chunk, Recording, RecordingError
from converter.reply.awaited_reply import AwaitedReply
from converter.reply.rewriter import Rewriter


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A chunk that came in, and the pieces that went out for it: nothing when all of it is held."""

    chunk: Chunk
    out: bytes


@dataclass(frozen=True, slots=True)
class Replay:
    """A reply rewritten: step by step, then the pieces at its `end`. `notes`: what a person
    should know of it.

    `broken`: the reply broke off, and nobody got the end.
    """

    steps: tuple[ReplayStep, ...]
    end: bytes
    notes: tuple[str, ...] = ()
    summary: Summary = field(default_factory=Summary)
    broken: bool = False

    @property
    def body(self) -> bytes:
        """All that the client gets."""
        return b"".join(step.out for step in self.steps) + (b"" if self.broken else self.end)


def dialects_of(recording: Recording) -> tuple[Dialect, ...]:
    """Return the dialects of the clients that such a reply can be written for."""
    exchange = recording.exchange()
    if exchange.native or exchange.endpoint.lists_models:
        return (exchange.client,)
    return DIALECTS


def replayed(recording: Recording, client: Dialect) -> Replay:
    """Rewrite the reply again, in the form in which the client got it.

    Raises RecordingError for a recording that this version cannot read.
    """
    try:
        if recording.exchange().endpoint.lists_models or not 200 <= recording.answered.status < 300:
            return _answered(recording, client)
        return _rewritten(recording, client)
    except RecordingError:
        raise
    except ValueError as error:
        raise RecordingError(f"{recording.name}: {error}") from None


def form_for(recording: Recording, client: Dialect) -> Form:
    """Return how the client gets the reply: as it did, as far as it was this client."""
    if client is not recording.client:
        return recording.server_form
    own = client is recording.server_dialect and not recording.awaited().watched
    return recording.server_form if own else recording.client_form


def _rewritten(recording: Recording, client: Dialect) -> Replay:
    rewriter = recording.rewriter(client, form_for(recording, client))
    whole = Form.WHOLE in (recording.server_form, form_for(recording, client))
    if whole and recording.ended:
        return Replay(tuple(ReplayStep(chunk, b"") for chunk in recording.chunks), b"", broken=True)
    steps = tuple(
        ReplayStep(chunk, b"".join(rewriter.feed(chunk.data, chunk.at)))
        for chunk in recording.chunks
    )
    end = b"".join(rewriter.close())
    return Replay(steps, end, _notes(rewriter), rewriter.summary, bool(recording.ended))


def _notes(rewriter: Rewriter) -> tuple[str, ...]:
    return tuple(note for note in dict.fromkeys([rewriter.failure, *rewriter.notes]) if note)


def _answered(recording: Recording, client: Dialect) -> Replay:
    """An error, or a list of models: it is all there before any of it goes out."""
    awaited = for_client(recording.awaited(), client)
    body, answered = recording.body, recording.answered
    rewritten = awaited.whole(answered.status, answered.content_type, body)
    answer = rewritten.answer or Answer(0, "", body)
    steps = tuple(ReplayStep(chunk, b"") for chunk in recording.chunks)
    return Replay(steps, answer.body, rewritten.notes, broken=bool(recording.ended))


def for_client(awaited: AwaitedReply, client: Dialect) -> AwaitedReply:
    """Return the same reply as awaited by a client of another dialect."""
    exchange = replace(awaited.request.exchange, client=client)
    return replace(awaited, request=replace(awaited.request, exchange=exchange))
