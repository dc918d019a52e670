"""Rewrite a recorded reply for clients. A `Variant` is a client's dialect and the form (streamed,
whole) in which it gets the reply; `body_of` returns its bytes, for the server's chunks as recorded
or cut otherwise.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from converter.core.dialects.table import (
    ANTHROPIC,
    DIALECTS,
    OLLAMA,
    OPENAI_CHAT,
    RESPONSES,
    Dialect,
    Form,
)
from converter.extras.recordings.recording import Chunk, Recording
from laws.failures import BrokenLawError

DRAWN = 8
"""How many random cuts to check for each recording and law, unless the caller says (`drawn`)."""
_CONTENT_TYPES = {Form.STREAM: "text/event-stream", Form.WHOLE: "application/json"}
_CLIENT_NAMES = {
    OPENAI_CHAT: "chat completions client",
    ANTHROPIC: "Anthropic client",
    RESPONSES: "Responses client",
    OLLAMA: "Ollama client",
}
IN_BLOCKS = (ANTHROPIC, RESPONSES, OLLAMA)
"""Dialects whose replies are compared as a message of blocks, as the Messages API has it."""
IN_FIELDS = (OPENAI_CHAT, OLLAMA)
"""Dialects whose messages have one field for all thoughts, and one for all text."""
_FORM_NAMES = {Form.STREAM: "streamed", Form.WHOLE: "whole"}


@dataclass(frozen=True, slots=True)
class Variant:
    """A client's dialect, and the form (streamed, whole) in which the client gets the reply."""

    dialect: Dialect
    form: Form

    def __str__(self) -> str:
        return f"{_CLIENT_NAMES[self.dialect]}, {_FORM_NAMES[self.form]}"


def variants(recording: Recording, dialect: Dialect | None = None) -> Iterator[Variant]:
    """Yield all variants of a reply, or only those for clients of `dialect`. Only a chat
    completions server's reply is translated for clients of other dialects, in both forms. A client
    of the server's own dialect gets the form that the server sent.
    """
    server = recording.server_dialect
    for client in DIALECTS if server is OPENAI_CHAT else (server,):
        if dialect in (None, client):
            forms = [recording.server_form] if client is server else Form
            yield from (Variant(client, form) for form in forms)


class _AsRecorded:
    """A cache of the bytes that the latest recording's clients get, which most laws need again."""

    def __init__(self) -> None:
        self._recording: Recording | None = None
        self._replies: dict[Variant, list[bytes]] = {}

    def reply(self, recording: Recording, variant: Variant) -> list[bytes]:
        """Return the pieces that a client gets for the server's chunks as recorded."""
        if recording is not self._recording:
            self._recording, self._replies = recording, {}
        if variant not in self._replies:
            came = [chunk.data for chunk in recording.chunks]
            self._replies[variant] = _rewritten(recording, variant, came)
        return self._replies[variant]


_AS_RECORDED = _AsRecorded()  # the one cache of this process


def rewrite(
    recording: Recording, variant: Variant, pieces: Iterable[bytes] | None = None
) -> Sequence[bytes]:
    """Return the pieces that a client gets if the server sends `pieces`; None: the recorded chunks.
    Raises BrokenLawError if the addon raises an error, notes its own fault, or emits empty pieces.
    """
    if pieces is None:
        return _AS_RECORDED.reply(recording, variant)
    return _rewritten(recording, variant, pieces)


def _rewritten(recording: Recording, variant: Variant, pieces: Iterable[bytes]) -> list[bytes]:
    """Return the pieces that a client gets if the server sends `pieces`."""
    rewriter = recording.rewriter(variant.dialect, variant.form)
    try:
        out = [piece for chunk in pieces for piece in rewriter.feed(chunk)] + rewriter.close()
    except Exception as error:
        raise BrokenLawError(
            str(variant), f"the addon raised {type(error).__name__}: {error}"
        ) from error
    for note in rewriter.notes:
        if "fault of the addon" in note:
            raise BrokenLawError(str(variant), f"the addon noted a {note}")
    if not all(out):
        raise BrokenLawError(
            str(variant), f"piece {out.index(b'')} is empty, which would end a chunked reply"
        )
    return out


def body_of(recording: Recording, variant: Variant, pieces: Iterable[bytes] | None = None) -> bytes:
    """Return the bytes that a client gets, in one piece. `pieces`: as in `rewrite`."""
    return b"".join(rewrite(recording, variant, pieces))


def with_body(
    recording: Recording, body: bytes, form: Form | None = None, **options: object
) -> Recording:
    """Return the recording with `body` as the server's only chunk, in this `form` (None: the
    recorded form), and with `options` added to the recorded options.
    """
    answered = recording.server_reply
    if form is not None:
        answered = replace(answered, content_type=_CONTENT_TYPES[form])
    merged: Mapping[str, object] = {**recording.options, **options}
    return replace(recording, chunks=(Chunk(0.0, body),), server_reply=answered, options=merged)


def seeded_random(recording: Recording, law: int) -> random.Random:
    """Return a random generator for this recording and law; it draws the same each time."""
    return random.Random(f"{recording.name} {law}")


def cut_anywhere[T: (str, bytes)](whole: T, most: int, drawing: random.Random) -> list[T]:
    """Return `whole` cut at random into at most `most` pieces, none empty unless `whole` is."""
    inner: Sequence[int] = range(1, len(whole))
    offsets = [0, *sorted(drawing.sample(inner, min(most - 1, len(inner)))), len(whole)]
    return [whole[begin:end] for begin, end in pairwise(offsets)]
