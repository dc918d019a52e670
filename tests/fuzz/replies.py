"""The demand on a fuzzed reply, for every client: read without complaint, or a clear error."""

import json
from collections.abc import Callable, Sequence

from converter.core.dialects.table import (
    ANTHROPIC,
    DIALECTS,
    OLLAMA,
    OPENAI_CHAT,
    RESPONSES,
    Dialect,
    Form,
)
from converter.core.reply.rewriter import Rewriter
from converter.extras.recordings.recording import Recording
from laws.ollama_replies import as_message
from laws.response_view import read_response
from laws.strict_reader import read_strictly

CLIENTS = [(dialect, form) for dialect in DIALECTS for form in Form]
"""Each client; a chat completion of a stream stays one, and a whole one as well."""


def rewriters(recording: Recording) -> list[tuple[Dialect, Rewriter]]:
    """Return what rewrites this reply for each client."""
    if recording.server_dialect is not OPENAI_CHAT:  # a server's own endpoint has its own clients
        return [(recording.client, recording.rewriter(recording.client, recording.client_form))]
    return [(client, recording.rewriter(client, form)) for client, form in CLIENTS]


def judge(recording: Recording, pieces: Sequence[bytes]) -> None:
    """Rewrite a reply for each client, to its end and broken off, and read what comes out."""
    for broken in (False, True):
        for client, rewriter in rewriters(recording):
            out = [piece for chunk in pieces for piece in _checked(rewriter.feed(chunk))]
            out += _checked(rewriter.abort("it broke off") if broken else rewriter.close())
            is_own = client is recording.server_dialect and client in (OLLAMA, OPENAI_CHAT)
            _read(client, rewriter, b"".join(out), is_own=is_own)


def _checked(out: list[bytes]) -> list[bytes]:
    assert all(out), "an empty piece would end a chunked response"
    return out


def _read(client: Dialect, rewriter: Rewriter, sent: bytes, *, is_own: bool = False) -> None:
    faults = [note for note in (rewriter.failure, *rewriter.notes) if "fault of the addon" in note]
    assert not faults, faults
    rewriter.summary.values()
    if is_own:
        return  # what nobody could read goes on to it as it came, and a second end
    if rewriter.form is Form.STREAM:
        STREAMS[client.name](sent)
    else:
        assert isinstance(json.loads(sent), dict), sent[:200]


STREAMS: dict[str, Callable[[bytes], object]] = {
    ANTHROPIC.name: read_strictly,
    RESPONSES.name: read_response,
    OLLAMA.name: lambda events: as_message(events, Form.STREAM),
}
