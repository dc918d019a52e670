"""Check laws 1, 8 and 9. A client gets the same bytes however the server's are cut into chunks (1);
damaged bytes raise no error in the addon (8); streams of blocks are in order, and end in an error
if the server's reply is not whole (9).
"""

import random
from collections.abc import Iterator

from converter.core.dialects.table import RESPONSES, Form
from converter.extras.recordings.recording import Recording
from laws.client_view import read_message
from laws.failures import BrokenLawError, compare_bytes
from laws.joined import ends_between_replies, last_reply_of
from laws.reply_parser import frames, parse_reply
from laws.variants import (
    IN_BLOCKS,
    Variant,
    body_of,
    cut_anywhere,
    rewrite,
    seeded_random,
    variants,
)

_PIECES = 12  # the most chunks into which the server's bytes are cut at random
_FRAME_ENDS = 24
"""About how many ends of frames law 9 picks in a long stream, to break the stream off there."""
_LAST_FRAMES = 3  # how many frames end a stream: the finish, the counts and `[DONE]`
_GARBAGE = (
    b"data: ",
    b"\n\n",
    b"\r",
    b"{",
    b'{"choices":[{"delta":{"content":7}}]}',
    b"data: [DONE]\n\n",
    b"\xff\xfe",
    b": ping\n\n",
    b"null",
)
"""Bytes that are not part of a reply. Law 8 puts one of them into a reply, or behind it."""


def law_1(recording: Recording, drawn: int) -> None:
    """Check that the client's bytes are the same however the server's are cut into chunks."""
    body, drawing = recording.body, seeded_random(recording, 1)
    cuts = {
        "as recorded": [chunk.data for chunk in recording.chunks],
        "byte by byte": [body[offset : offset + 1] for offset in range(len(body))],
        **{f"drawn cut {number}": cut_anywhere(body, _PIECES, drawing) for number in range(drawn)},
    }
    for variant in variants(recording):
        expected = body_of(recording, variant, [body])
        for name, pieces in cuts.items():
            got = b"".join(rewrite(recording, variant, pieces))
            compare_bytes(f"{variant}, {name}, against one chunk", expected, got)


def law_8(recording: Recording, drawn: int) -> None:
    """Check that the addon raises no error for a reply that is cut off, changed or extended, and
    that a client of a dialect with blocks gets a readable message or error.
    """
    drawing = seeded_random(recording, 8)
    for name, body in spoiled_bodies(recording.body, drawn, drawing):
        for variant in variants(recording):
            out = b"".join(rewrite(recording, variant, cut_anywhere(body, _PIECES, drawing)))
            if variant.dialect in IN_BLOCKS:
                _check_message(out, Variant(variant.dialect, variant.form), name)


def spoiled_bodies(body: bytes, drawn: int, drawing: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield pairs of a fault's description and `body` with this fault. `drawn` times, `body` is cut
    off, has one of `_GARBAGE` within (in place of up to 8 bytes), and has it behind its end.
    """
    for _ in range(drawn):
        offset, garbage = drawing.randrange(len(body) + 1), drawing.choice(_GARBAGE)
        yield f"cut off at byte {offset}", body[:offset]
        yield (
            f"with {garbage!r} at byte {offset}",
            body[:offset] + garbage + body[offset + drawing.randrange(9) :],
        )
        yield f"with {garbage!r} behind it", body + garbage


def _check_message(out: bytes, variant: Variant, name: str) -> None:
    """Check that the client's bytes `out` are a message or an error. `name`: the server's fault."""
    try:
        read = read_message(out, variant)
    except BrokenLawError as error:
        raise BrokenLawError(f"{variant}, {name}", error.difference) from error
    except ValueError as error:
        raise BrokenLawError(f"{variant}, {name}", f"no JSON: {out[:200]!r}") from error
    if not read.get("error") and read.get("type") != "message":
        raise BrokenLawError(f"{variant}, {name}", f"neither a message nor an error: {out[:200]!r}")


def law_9(recording: Recording, drawn: int) -> None:
    """Check that every stream of blocks or items is in order. It must end in an error if, and only
    if, the server's reply has no finish, has an error, or (for Responses) has a cut-off call.
    """
    of_blocks = [each for each in variants(recording) if each.dialect in IN_BLOCKS]
    streams = [variant for variant in of_blocks if variant.form is Form.STREAM]
    _check_ends(recording, streams, recording.body, "all of it")
    if streams and recording.server_form is Form.STREAM:
        for offset in _offsets_to_cut_at(recording, drawn):
            _check_ends(recording, streams, recording.body[:offset], f"dead at byte {offset}")


def _offsets_to_cut_at(recording: Recording, drawn: int) -> list[int]:
    """Return offsets at which to break off the server's stream: the ends of some frames, `drawn`
    random offsets, and for each of the last frames the offset before its blank line.
    """
    offset, ends = 0, []
    for frame in frames(recording.body):
        offset += len(frame)
        ends.append(offset)
    drawing = seeded_random(recording, 9)
    chosen = ends[:: max(1, len(ends) // _FRAME_ENDS)]
    unended = (max(0, end - len(b"\n\n")) for end in ends[-_LAST_FRAMES:])
    return sorted(
        {*chosen, *unended, *(drawing.randrange(len(recording.body) + 1) for _ in range(drawn))}
    )


def _check_ends(recording: Recording, streams: list[Variant], came: bytes, name: str) -> None:
    """Check that what `streams` get for `came`, the server's bytes up to a cut, ends in an error if
    `came` is no whole reply, else without one. `name`: how the error names the cut.
    """
    if ends_between_replies(recording, came):
        return
    last, fields = last_reply_of(recording, came), recording.settings.map
    sent = parse_reply(last, recording.server_form, recording.server_dialect, fields)
    for variant in streams:
        message = read_message(body_of(recording, variant, [came]), variant)
        # Codex runs a complete call at once, so a Responses reply with a cut-off call must fail
        fails = variant.dialect is RESPONSES and sent.choice().cut_call
        ends = sent.complete and not fails
        if ends == bool(message.get("error")):
            end = message.get("error") or message.get("stop_reason")
            wanted = "a message" if ends else "an error"
            raise BrokenLawError(
                f"{variant}, {name}", f"the last event\n  expected: {wanted}\n  got:      {end}"
            )
