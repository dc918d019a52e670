"""What a user may choose: one row per option of the addon, and the settings read from them.

A row's `read` turns what the user wrote into what the machines take, or raises ValueError saying what is allowed.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from converter.tags import AUTO, TagSet, ThinkTags, choose, tag_set

FIELDS = ("reasoning_content", "reasoning")
DEFAULT_SIGNATURE = "think-addon"
"""Clients drop unsigned thinking; this signature nobody mistakes for a real one."""


class Start(enum.Enum):
    """Where a reply begins. AUTO: in its text; a whole reply with a closer and no opener before it began inside a thought."""

    AUTO = "auto"
    TEXT = "text"
    THINKING = "thinking"


@dataclass(frozen=True, slots=True)
class Option:
    """One option, `think_NAME`. `type` and `default` are as mitmproxy keeps it."""

    name: str
    type: Any
    default: object
    meaning: str
    read: Callable[[object], object]
    choices: tuple[str, ...] = ()


def _names(written: object) -> list[str]:
    return [str(name) for name in written] if isinstance(written, Sequence) else []


def _read_fields(written: object) -> tuple[str, ...]:
    fields = tuple(dict.fromkeys(_names(written)))
    if not fields or not set(fields) <= set(FIELDS):
        raise ValueError(f"{', '.join(fields) or 'nothing'} is not one or both of: {', '.join(FIELDS)}")
    return fields


def _read_start(written: object) -> Start:
    allowed = [start.value for start in Start]
    if written not in allowed:
        raise ValueError(f"{written!r} is none of: {', '.join(allowed)}")
    return Start(written)


OPTIONS = (
    Option(
        "tags",
        Sequence[str],
        [AUTO],
        "Marks around thinking: auto (every family whose marks cannot be mistaken for prose), a family's name, "
        "or a literal pair OPEN CLOSE, one space between. Empty: off.",
        lambda written: choose(_names(written)),
    ),
    Option(
        "start",
        str,
        Start.AUTO.value,
        "Whether a reply starts inside a thought. auto: in whole replies, a closer with no opener before it says so.",
        _read_start,
        tuple(start.value for start in Start),
    ),
    Option("attributes", bool, True, 'Read attribute forms: <thinking thought="..." confidence="0.7"/>.', bool),
    Option("fields", Sequence[str], [FIELDS[0]], f"Names that OpenAI clients get: {' or '.join(FIELDS)}, or both.", _read_fields),
    Option("signature", str, DEFAULT_SIGNATURE, "Signature of the thinking blocks that Anthropic clients get.", str),
    Option("flows", str, "", "Filter expression: which flows to act on. Empty: all but those to the cloud's own hosts.", str),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options say, read: a field for each row."""

    tags: tuple[ThinkTags, ...]
    start: Start
    attributes: bool
    fields: tuple[str, ...]
    signature: str
    flows: str

    @property
    def tag_set(self) -> TagSet:
        """The marks to look for."""
        return tag_set(self.tags, self.attributes)


def read(written: Mapping[str, object] | None = None) -> Settings:
    """Return the settings; what `written` lacks is the default. Raises ValueError, beginning with the option's name."""
    values = {option.name: _read_one(option, (written or {}).get(option.name, option.default)) for option in OPTIONS}
    return Settings(**values)  # type: ignore[arg-type]  # each row reads its own type


def _read_one(option: Option, written: object) -> object:
    try:
        return option.read(written)
    except ValueError as error:
        raise ValueError(f"think_{option.name}: {error}") from None
