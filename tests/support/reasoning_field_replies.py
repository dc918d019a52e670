"""Replies with fields of no standard, and the content that a client gets."""

from collections.abc import Iterable, Sequence

from converter.core.dialects.table import Dialect, Form
from converter.core.reply.rewriter import Rewriter
from tests.support.frames import END, ROLE, delta
from tests.support.frames_of import Json, entry, passed, rewriter

ROWS = ("my_custom_field=custom:custom_data", "plan=plan:steps", "musings=thinking:thinking")
CALL = entry(0, "f", "{}", id="call_1")
BLOCK_OF_CALL = {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}


def mapping(
    client: Dialect, server: Form, form: Form | None = None, *, rows: Sequence[str] = ROWS
) -> Rewriter:
    """A rewriter with these rows."""
    return rewriter(client, server, form, map=list(rows))


def written(
    client: Dialect,
    body: bytes,
    server: Form,
    form: Form | None = None,
    *,
    length: int = 100_000,
    rows: Sequence[str] = ROWS,
) -> list[bytes]:
    through = mapping(client, server, form, rows=rows)
    out = passed(through, [body[start : start + length] for start in range(0, len(body), length)])
    assert not [note for note in through.notes if "fault" in note], through.notes
    return out


def streamed(deltas: Iterable[Json]) -> bytes:
    return b"".join([ROLE, *(delta(**fields) for fields in deltas), *END])


def details(text: str, kind: str = "text") -> list[Json]:
    return [{"type": f"reasoning.{kind}", kind: text, "index": 0}]


def thinking(text: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": "think-addon"}


def text(text: str) -> Json:
    return {"type": "text", "text": text}


def custom(value: object) -> Json:
    return {"type": "custom", "custom_data": value}
