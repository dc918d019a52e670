"""Names that clients know models by, and the names that servers have for them: PATTERN=NAME.

Clients with fixed names (`claude-*`, `gpt-4o`) reach a local model by them; the reply names what
the client asked for. A row without a name stands for the only model that the server has.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from converter.wire.sse import Frame

type Rows = tuple[tuple[str, str], ...]
type Entry = dict[str, object]

_MODEL = re.compile(rb'("model"\s*:\s*)"(?:[^"\\]|\\.)*"')
"""Within a JSON string the quotes would be escaped, so that no word of a model looks like this."""
_WILD = re.compile(r"[*?\[]")


def read_rows(written: Sequence[str]) -> Rows:
    """Return the rows. Raises ValueError for one that is none."""
    rows = []
    for row in written:
        pattern, equals, name = (part.strip() for part in row.partition("="))
        if not equals or not pattern:
            raise ValueError(f"expected PATTERN=NAME, such as claude-*=Qwen3-8B, got {row!r}")
        rows.append((pattern, name))
    return tuple(rows)


def served_name(rows: Rows, asked: str) -> str | None:
    """Return the name that the first fitting row gives; empty: the only one that is served; None:
    the name stays.
    """
    return next((name for pattern, name in rows if fnmatchcase(asked, pattern)), None)


def entries(listed: object) -> list[Entry]:
    """Return the models of a list, as servers write it."""
    data = listed.get("data") if isinstance(listed, dict) else None
    rows = data if isinstance(data, list) else []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]


def only_one(served: Sequence[Entry]) -> str:
    """Return the name of the only model; nothing where there are several."""
    return str(served[0]["id"]) if len(served) == 1 else ""


def with_aliases(served: Sequence[Entry], rows: Rows) -> list[Entry]:
    """Return the models, and each again under the names without wildcards that stand for it."""
    known = {str(entry["id"]): entry for entry in served}
    aliases = [
        {**known[target], "id": pattern}
        for pattern, name in rows
        if not _WILD.search(pattern) and (target := name or only_one(served)) in known
    ]
    return [*served, *(alias for alias in aliases if alias["id"] not in known)]


def find(served: Sequence[Entry], rows: Rows, asked: str) -> Entry | None:
    """Return the model that a client means by a name, under that name; None where there is none."""
    names: Iterable[str | None] = (asked, served_name(rows, asked))
    for name in names:
        wanted = only_one(served) if name == "" else name
        for entry in served:
            if entry["id"] == wanted:
                return {**entry, "id": asked}
    return None


def renamed(raw: bytes, name: str) -> bytes:
    """Return a frame or body with this name for its model."""
    written = json.dumps(name).encode()
    return _MODEL.sub(lambda found: found[1] + written, raw, count=1)


def renamed_frame(frame: Frame, model: str) -> Frame:
    """Return the frame with the client's name for the model; a whole body has no other data."""
    raw = renamed(frame.raw, model)
    data = raw if frame.data == frame.raw else frame.data and renamed(frame.data, model)
    return replace(frame, raw=raw, data=data)
