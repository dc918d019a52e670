"""The kinds of text between the marks of a call: the data of a row, which `head`, `extent` and
`judge` read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

HEADER = re.compile(r"""\s*(?:(?:name|key|tool)=)?["']?([^"'\s]+)["']?(.*)""", re.DOTALL)
"""A name in a tag, and the other text in it."""
_NAME_ALONE = re.compile(r"\s*+(?P<name>[\w.:-]+)\s*+")
NAME_KEYS = ("name", "tool_name", "function", "function_name", "tool")
"""Keys of a tool's name in a call's object."""
OTHER_KEYS = ("id", "type", "tool_call_id", "index")
"""Keys of the object around a call: they are no arguments where it has any."""


@dataclass(frozen=True, slots=True)
class Json:
    """An object or a list of objects. `strict`: no keys but those of calls, and arguments must be.

    `name_is_key`: an object's only key is the name and its value the arguments, as Apertus has it.
    """

    strict: bool = False
    name_is_key: bool = False
    heads: ClassVar[Sequence[str]] = ("{", "[")


@dataclass(frozen=True, slots=True)
class Header:
    """Calls whose name stands in a header before arguments that are JSON. A name alone is a call of
    a tool that needs no argument.

    `pattern`: a header, whole, up to the brace; its group `name` is the tool's name.

    `tail`: what may stand behind the arguments, before the call's closing mark. `heads`: what the
    header begins with, before the pattern. `user`: a header that is no text, of words for the user.
    """

    pattern: str
    tail: str = ""
    heads: Sequence[str] = ("",)
    user: str = ""

    def name_in(self, header: str, *, alone: bool) -> str:
        """Return the name in a header. `alone`: no arguments stand behind it."""
        header = header.rstrip().removesuffix(self.tail) if alone else header
        match = re.fullmatch(self.pattern, header, re.DOTALL)  # `re` keeps what it has compiled
        match = match or (_NAME_ALONE.fullmatch(header) if alone else None)
        return match["name"].strip() if match else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """Keys and values between marks: a tag for each parameter, keys and values in turn, or elements
    named by their keys, which stand in each other as their values do.

    A call begins by a tag with its name, or by the bare name, and its parameters follow.

    Attributes:
        heads: beginnings of a call's tag, up to its name; an empty one for the bare name.
        end: marks that close a call; none need where it is `open_ended`.
        separator: it may follow the bare name.
        keys: beginnings of a key's mark, up to the words in it.
        key_end: the mark behind these words, and behind the name in a head.
        kind: marks around a type that may stand between key and value.
        value: the mark before a value, which may lack it.
        ends: marks that close a value; of `nested` ones up to the key, which they repeat.
        padded: a value has a line end at both its ends.
        cdata: a value may stand in a CDATA section.
        reads_unknown: a value that the schema does not know is read as JSON, where it is.
    """

    heads: Sequence[str] = ("",)
    end: Sequence[str] = ()
    separator: str = ""
    keys: Sequence[str]
    key_end: str = ">"
    kind: tuple[str, str] = ("", "")
    value: str = ""
    ends: Sequence[str]
    nested: bool = False
    open_ended: bool = False
    padded: bool = False
    cdata: bool = False
    reads_unknown: bool = False

    @property
    def bare(self) -> bool:
        """True if a call begins by its bare name."""
        return "" in self.heads

    @property
    def stem(self) -> str:
        """The beginning of a key's mark, as a value may open one itself."""
        if self.nested:
            return self.keys[0].removesuffix("<")  # a model leaves it out
        return re.split("[= ]", self.keys[0])[0].removesuffix(">")


@dataclass(frozen=True, slots=True)
class Python:
    """A list of calls in brackets; without brackets, one call a line. A list of objects is JSON."""

    heads: Sequence[str] = ("[",)
    objects: Json = field(default_factory=Json)


@dataclass(frozen=True, slots=True)
class Gemma:
    """`quote`: the mark on both sides of a string."""

    quote: str
    heads: Sequence[str] = ("call:", "call ", ":")


type Body = Json | Header | Keyed | Python | Gemma
"""A kind of call text. `heads`: its beginnings; an empty one is for anything."""
