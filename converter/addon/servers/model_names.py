"""Names of models: those in a server's list (`model_entries`), and those that clients use in their
place, by a row of `think_models` (`ModelRow`) or as a variant such as `Qwen3-8B-low`. Functions
find the server's model for a client's name, and add further names to lists.

A row of `think_models` is `PATTERN=NAME`. With `claude-*=Qwen3-8B` a client that asks for
`claude-sonnet-4` gets a reply of Qwen3-8B, in which the model is called `claude-sonnet-4`. A row
without a name (`claude-*=`) stands for the only model that the server has.

A *variant* is a model's name with an addition that neither a row nor the server has. A suffix sets
how much the model thinks (`Qwen3-8B-low`), for clients without such a setting. The prefix
`anthropic/` makes Claude Code show the model.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from converter.addon.servers.profiles import ALL_EFFORTS
from converter.core.wire.json_text import as_object, objects

OFF = "none"
"""The effort that turns thinking off."""
GATEWAY = "anthropic/"
"""A prefix of models' names in lists for Claude Code 2.1.332, which shows a name only if it begins
with `claude` or `anthropic`.
"""
GATEWAY_CLIENTS = re.compile(r"claude-code/")
"""Matches the header `user-agent` of clients that need `GATEWAY` before models' names."""
VARIANTS: Mapping[str, tuple[str, int | None]] = {
    "nothink": (OFF, None),
    "low": ("low", 2048),
    "high": ("high", None),
    "max": ("max", None),
}
"""Suffix of a model's name, behind a hyphen -> the effort of thinking, and its budget in tokens;
`None`: no budget.
"""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A row of `think_models`."""

    pattern: str
    """A pattern of `fnmatch` for the names that clients ask for, such as `claude-*`."""
    name: str = ""
    """The server's name of the model; empty: the only model that the server has."""
    effort: str = ""
    """The effort of thinking that replaces the client's; empty: the client's effort stays."""
    budget: int | None = None
    """The limit of thinking tokens that replaces the client's; `None`: the client's limit stays."""

    @property
    def sets_thinking(self) -> bool:
        """Return True if the row sets an effort or a budget of thinking."""
        return bool(self.effort) or self.budget is not None


type ModelRows = tuple[ModelRow, ...]
"""The rows of `think_models`; of several that fit a name, the first one counts."""

_WILD = re.compile(r"[*?\[]")
"""Finds a wildcard in the pattern of a row: `*`, `?` or `[`."""


def read_rows(texts: Sequence[str]) -> ModelRows:
    """Return the rows of the option `think_models` from its `texts`. Raises ValueError
    for a text that is no row.
    """
    return tuple(map(_read_row, texts))


def _read_row(text: str) -> ModelRow:
    """Return the row in a text such as `claude-*=Qwen3-8B effort=low budget=2048`, in which effort
    and budget may be missing. Raises ValueError for any other text.
    """
    pattern, equals, rest = (part.strip() for part in text.partition("="))
    if not equals or not pattern:
        raise ValueError(f"expected PATTERN=NAME, such as claude-*=Qwen3-8B, got {text!r}")
    name, *parts = re.split(r"\s+(?=(?:effort|budget)=)", f" {rest}")
    wishes = dict(part.split("=", 1) for part in parts)
    effort, budget = wishes.get("effort", ""), wishes.get("budget", "")
    if effort not in ("", OFF, *ALL_EFFORTS) or not (budget.isdecimal() or "budget" not in wishes):
        efforts = ", ".join((OFF, *ALL_EFFORTS))
        raise ValueError(f"expected effort= one of {efforts}, budget= a number, got {text!r}")
    return ModelRow(pattern, name.strip(), effort, int(budget) if budget else None)


def find_row(rows: ModelRows, name: str) -> ModelRow | None:
    """Return the first row whose pattern fits a name, `None` if none fits."""
    return next((row for row in rows if fnmatchcase(name, row.pattern)), None)


def may_be_variant(rows: ModelRows, name: str) -> bool:
    """Return True if a name may be a variant of a model's name: it begins with `anthropic/` or ends
    with a suffix such as `-low`, and no row has exactly this name as its pattern. It is a variant
    only if the server lists the model, which `variant_row` checks.
    """
    varies = name.startswith(GATEWAY) or name.rpartition("-")[2] in VARIANTS
    return varies and not any(row.pattern == name for row in rows)


def variant_row(
    served: Sequence[dict[str, object]], rows: ModelRows, full_name: str
) -> ModelRow | None:
    """Return a row for the variant `full_name`, as if it stood in `think_models`. `served`: the
    server's models.

    If the server lists `Qwen3-8B`, the row for `Qwen3-8B-low` has the name `Qwen3-8B` and the
    effort `low`. If the server does not list it, but `Qwen3-8B` fits one of `rows`, the new row has
    the name in that row. `anthropic/NAME` stands for the model or the variant `NAME`. If there is
    neither, the first of `rows` that fits `NAME` is returned.

    Return `None` if `full_name` is no variant, if the server lists a model of exactly this name, or
    if it does not list the model that the variant stands for.
    """
    names = {entry["id"] for entry in served}
    if full_name.startswith(GATEWAY) and full_name not in names:
        bare = full_name.removeprefix(GATEWAY)
        varied = variant_row(served, rows, bare)
        return varied or (ModelRow(full_name, bare) if bare in names else find_row(rows, bare))
    stem, _, suffix = full_name.rpartition("-")
    row = None if stem in names else find_row(rows, stem)
    name = (row.name or only_model(served)) if row else stem
    if suffix not in VARIANTS or full_name in names or name not in names:
        return None
    effort, budget = VARIANTS[suffix]
    return ModelRow(full_name, name, effort, budget)


def model_entries(listed: object) -> list[dict[str, object]]:
    """Return the models in the JSON of a server's reply to `/v1/models`: the objects of its list
    that have an id.
    """
    rows = objects(as_object(listed).get("data"))
    return [row for row in rows if isinstance(row.get("id"), str)]


def only_model(served: Sequence[dict[str, object]]) -> str:
    """Return the name of the server's only model, an empty text if it has none or several."""
    return str(served[0]["id"]) if len(served) == 1 else ""


def with_aliases(served: Sequence[dict[str, object]], rows: ModelRows) -> list[dict[str, object]]:
    """Return the server's models and their aliases. An alias is a copy of a model under the name in
    a row without wildcards: the row `gpt-4=Qwen3-8B` adds a copy of `Qwen3-8B` with the id `gpt-4`.
    """
    by_name = {str(entry["id"]): entry for entry in served}
    aliases = [
        {**by_name[target], "id": row.pattern}
        for row in rows
        if not _WILD.search(row.pattern) and (target := row.name or only_model(served)) in by_name
    ]
    return [*served, *(alias for alias in aliases if alias["id"] not in by_name)]


def with_variants(listed: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return the listed models, and for each model a copy with each suffix of `VARIANTS` behind its
    name: `Qwen3-8B-low`, `Qwen3-8B-nothink`, ...
    """
    wished = [{**entry, "id": f"{entry['id']}-{name}"} for entry in listed for name in VARIANTS]
    return [*listed, *wished]


def with_gateway_names(listed: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return the listed models, and copies of those whose names Claude Code would not show, with
    `anthropic/` before the name: `Qwen3-8B` adds `anthropic/Qwen3-8B`.
    """
    unlisted = [entry for entry in listed if not re.match("claude|anthropic", str(entry["id"]))]
    return [*listed, *({**entry, "id": f"{GATEWAY}{entry['id']}"} for entry in unlisted)]


_LATEST = ":latest"
"""The end of a name that a client may leave out: Ollama lists `qwen3` as `qwen3:latest`, and takes
both names.
"""


def find_model(
    served: Sequence[dict[str, object]], rows: ModelRows, name: str
) -> dict[str, object] | None:
    """Return the model that a client gets for `name`, as a copy of its entry in the server's list
    with `name` as its id; `None` if the server has no such model. The model is the server's model
    of this name, else the model of the first fitting row, else the model of which `name` is a
    variant.
    """
    for row in (ModelRow(name, name), find_row(rows, name), variant_row(served, rows, name)):
        wanted = row and (row.name or only_model(served))
        for entry in served:
            if wanted and entry["id"] in (wanted, f"{wanted}{_LATEST}"):
                return {**entry, "id": name}
    return None
