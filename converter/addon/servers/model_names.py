"""Names that clients know models by, and the names that servers have for them: PATTERN=NAME.

Clients with fixed names (`claude-*`, `gpt-4o`) reach a local model by them; the reply names what
the client asked for. A row without a name stands for the only model that the server has. A name may
say how much the model is to think, for clients that have one field for all.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from converter.addon.servers.profiles import ALL_EFFORTS
from converter.core.wire.json_text import as_object, objects

OFF = "none"
"""The effort of a model that does not think at all."""
GATEWAY = "anthropic/"
"""Before a model's name for Claude Code 2.1.332, which lists names that begin with `claude` or
`anthropic` alone.
"""
GATEWAY_CLIENTS = re.compile(r"claude-code/")
"""User agents that list models so."""
VARIANTS: Mapping[str, tuple[str, int | None]] = {
    "nothink": (OFF, None),
    "low": ("low", 2048),
    "high": ("high", None),
    "max": ("max", None),
}
"""Behind a model's name and a hyphen: the effort that it stands for, and the budget in tokens."""


@dataclass(frozen=True, slots=True)
class Row:
    """The server's name for models that clients ask for by the pattern, empty for the only one; the
    effort and the budget of thinking that they get.
    """

    pattern: str
    name: str = ""
    effort: str = ""
    budget: int | None = None

    @property
    def wishes(self) -> bool:
        """Return True if it decides about thinking."""
        return bool(self.effort) or self.budget is not None


type Rows = tuple[Row, ...]

_WILD = re.compile(r"[*?\[]")


def read_rows(written: Sequence[str]) -> Rows:
    """Return the rows. Raises ValueError for one that is none."""
    return tuple(map(_read_row, written))


def _read_row(written: str) -> Row:
    pattern, equals, rest = (part.strip() for part in written.partition("="))
    if not equals or not pattern:
        raise ValueError(f"expected PATTERN=NAME, such as claude-*=Qwen3-8B, got {written!r}")
    name, *parts = re.split(r"\s+(?=(?:effort|budget)=)", f" {rest}")
    wishes = dict(part.split("=", 1) for part in parts)
    effort, budget = wishes.get("effort", ""), wishes.get("budget", "")
    if effort not in ("", OFF, *ALL_EFFORTS) or not (budget.isdecimal() or "budget" not in wishes):
        efforts = ", ".join((OFF, *ALL_EFFORTS))
        raise ValueError(f"expected effort= one of {efforts}, budget= a number, got {written!r}")
    return Row(pattern, name.strip(), effort, int(budget) if budget else None)


def row_of(rows: Rows, name: str) -> Row | None:
    """Return the first fitting row; None: the name stays."""
    return next((row for row in rows if fnmatchcase(name, row.pattern)), None)


def may_be_variant(rows: Rows, name: str) -> bool:
    """Return True if a name may be a model's with a wish about its thinking behind the name, or
    with Claude Code's prefix before.
    """
    varies = name.startswith(GATEWAY) or name.rpartition("-")[2] in VARIANTS
    return varies and not any(row.pattern == name for row in rows)


def variant_of(served: Sequence[dict[str, object]], rows: Rows, full_name: str) -> Row | None:
    """Return the meaning of `NAME-low` and of `anthropic/NAME`, where a model NAME is served and
    none by all of that name.
    """
    names = {entry["id"] for entry in served}
    if full_name.startswith(GATEWAY) and full_name not in names:
        bare = full_name.removeprefix(GATEWAY)
        varied = variant_of(served, rows, bare)
        return varied or (Row(full_name, bare) if bare in names else None)
    stem, _, suffix = full_name.rpartition("-")
    row = None if stem in names else row_of(rows, stem)
    name = (row.name or only_one(served)) if row else stem
    if suffix not in VARIANTS or full_name in names or name not in names:
        return None
    effort, budget = VARIANTS[suffix]
    return Row(full_name, name, effort, budget)


def entries(listed: object) -> list[dict[str, object]]:
    """Return the models of a list, as servers write it."""
    rows = objects(as_object(listed).get("data"))
    return [row for row in rows if isinstance(row.get("id"), str)]


def only_one(served: Sequence[dict[str, object]]) -> str:
    """Return the name of the only model; nothing where there are several."""
    return str(served[0]["id"]) if len(served) == 1 else ""


def with_aliases(served: Sequence[dict[str, object]], rows: Rows) -> list[dict[str, object]]:
    """Return the models, and each again under the names without wildcards that stand for it."""
    by_name = {str(entry["id"]): entry for entry in served}
    aliases = [
        {**by_name[target], "id": row.pattern}
        for row in rows
        if not _WILD.search(row.pattern) and (target := row.name or only_one(served)) in by_name
    ]
    return [*served, *(alias for alias in aliases if alias["id"] not in by_name)]


def with_variants(listed: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return the models, and each again with every wish about its thinking in its name."""
    wished = [{**entry, "id": f"{entry['id']}-{name}"} for entry in listed for name in VARIANTS]
    return [*listed, *wished]


def with_gateway_names(listed: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return the models, and each that Claude Code would not list again under a name that it
    lists.
    """
    unlisted = [entry for entry in listed if not re.match("claude|anthropic", str(entry["id"]))]
    return [*listed, *({**entry, "id": f"{GATEWAY}{entry['id']}"} for entry in unlisted)]


_LATEST = ":latest"
"""Ollama serves such a model by its name alone as well, and lists it with this behind."""


def find(served: Sequence[dict[str, object]], rows: Rows, name: str) -> dict[str, object] | None:
    """Return the model that a client means by a name, under that name; None where there is none."""
    for row in (Row(name, name), row_of(rows, name), variant_of(served, rows, name)):
        wanted = row and (row.name or only_one(served))
        for entry in served:
            if wanted and entry["id"] in (wanted, f"{wanted}{_LATEST}"):
                return {**entry, "id": name}
    return None
