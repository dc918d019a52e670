"""`golden` writes a reply as text: each chunk of the server (after `>>`), and the bytes that a
client of one dialect gets for it (after `<<`). `library.py` keeps and compares the files.

A blank is added before each line of a body, except an empty line. Bytes that are not UTF-8 and
invisible characters are written in ⟨ ⟩: ⟨FF⟩ is a byte, ⟨U+000D⟩ a character. ⟨⟩ at the end of a
line means that the chunk ended without a line feed. ⟨#1⟩ replaces a run of fields that occurs more
than once; the golden's head lists these runs.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from converter.addon.exchange.settings import OPTIONS
from converter.core.dialects.table import Dialect
from converter.extras.recordings.recording import Recording, Replay

AS_IT_CAME = "<< as it came"
"""The golden's line for bytes that the client got exactly as the server sent them."""
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
"""Unicode's categories of control characters, invisible characters and line separators."""
_MAYBE_UNSEEN = re.compile(r"[^\x20-\x7e]|[⟨⟩]")
"""Matches all characters but printable ASCII, and ⟨ and ⟩: only these may need an escape, as
`_escape_match` decides.
"""
_FIELD = r'"(?:id|object|created|model|system_fingerprint|service_tier)": ?(?:"[^"\\]*"|\d+|null)'
"""Matches a field of JSON that has the same value in every frame of a reply."""
_SAME_FIELDS = re.compile(rf"{_FIELD}(?:, ?{_FIELD})+")
"""Matches a run of fields such as `"id": "recording", "created": 0`. Servers repeat such runs in
every frame, where they would be half of a golden.
"""


def golden(recording: Recording, client_dialect: Dialect) -> str:
    """Return the golden for a client of this dialect: text whose only control character is the line
    feed.

    Raises RecordingError for a recording that this version cannot read.
    """
    replay = recording.replayed(client_dialect)
    body = "\n".join(_body_lines(recording, replay))
    counts = Counter(_SAME_FIELDS.findall(body))
    often = [fields for fields, count in counts.items() if count > 1]
    names = {fields: f"⟨#{number}⟩" for number, fields in enumerate(often, 1)}
    short = _SAME_FIELDS.sub(lambda fields: names.get(fields[0], fields[0]), body)
    notes = [f"# {name} {fields}" for fields, name in names.items()]
    return "\n".join([*_head_lines(recording, client_dialect), *notes, "", short]) + "\n"


def visible_lines(data: bytes) -> list[str]:
    """Return bytes as lines of text, with ⟨ ⟩ for bytes and characters that cannot be seen.
    Different bytes give different lines.
    """
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    texts = [_MAYBE_UNSEEN.sub(_escape_match, line) for line in lines]
    return texts[:-1] if not texts[-1] else [*texts[:-1], texts[-1] + "⟨⟩"]


def one_line(text: str) -> str:
    """Return a text on one line: control and invisible characters are written as ⟨U+000D⟩."""
    return _MAYBE_UNSEEN.sub(_escape_match, text)


def _escape_match(match: re.Match[str]) -> str:
    """Return the matched character, escaped if it cannot be seen: a carriage return becomes
    `⟨U+000D⟩`.
    """
    character = match[0]
    if "\udc80" <= character <= "\udcff":
        # A surrogate stands for a byte that is not UTF-8.
        return f"⟨{ord(character) - 0xDC00:02X}⟩"
    if character in "⟨⟩" or unicodedata.category(character) in _UNSEEN_CATEGORIES:
        return f"⟨U+{ord(character):04X}⟩"
    return character


def _head_lines(recording: Recording, client_dialect: Dialect) -> Iterator[str]:
    """Yield the first lines of a golden, which say whose reply it is and with which options it is
    read.
    """
    request, sent = recording.request, recording.sent_request
    reply, facts = recording.server_reply, recording.facts
    form, title = recording.form_for(client_dialect).name.lower(), client_dialect.label.title
    yield f"# {recording.name}: the server's reply, and what an {title} client gets ({form})"
    yield one_line(
        f"# asked {request.method} {request.path}"
        + (f", sent {sent.path}" if sent.path != request.path else "")
    )
    parses = ", takes thinking out itself" if facts.parses else ""
    yield one_line(f"# server {facts.server}{parses}, begins in {facts.begins}")
    yield one_line(f"# answered {reply.status} {reply.content_type}")
    chosen = list[str]()
    for option in OPTIONS:
        value = recording.options.get(option.name, option.default)
        if option.recorded and value != option.default:
            text = "+".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            chosen.append(f"{option.name}={text}")
    if chosen:
        yield one_line(f"# options {', '.join(chosen)}")


def _body_lines(recording: Recording, replay: Replay) -> Iterator[str]:
    """Yield the lines of a golden for each chunk of the server and each piece for the client."""
    for step in replay.steps:
        yield f">> +{step.chunk.at_seconds:.3f} s"
        yield from _indented_lines(step.chunk.data)
        yield from _client_lines(step.client_bytes, step.chunk.data)
    if recording.abort_reason:
        yield one_line(f"-- broke off: {recording.abort_reason}")
    else:
        yield "-- end"
        yield from _client_lines(replay.end, recording.body)
    yield from (one_line(f"# {note}") for note in replay.notes)


def _client_lines(out: bytes, came: bytes) -> Iterator[str]:
    """Yield the golden's lines for the client's bytes `out`: `<<` and the bytes; the single line
    `AS_IT_CAME` if they equal the server's bytes `came`; no line if there are none.
    """
    if out == came and out:
        yield AS_IT_CAME
    elif out:
        yield "<<"
        yield from _indented_lines(out)


def _indented_lines(data: bytes) -> Iterator[str]:
    """Return bytes as the lines of a golden: a blank is added before each line that is not
    empty.
    """
    return (f" {line}" if line else "" for line in visible_lines(data))
