"""The kinds of text between the marks of a call: the data of a row, which `head`, `extent` and
`judge` read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

HEADER = re.compile(r"""\s*(?:(?:name|key|tool)=)?["']?([^"'\s]+)["']?(.*)""", re.DOTALL)
"""A name in a tag, and the other text in it."""
NAME_KEYS = ("name", "tool_name", "function", "function_name", "tool")
"""Keys of a tool's name in a call's object."""
OTHER_KEYS = ("id", "type", "tool_call_id", "index")
"""Keys of the object around a call: they are no arguments where it has any."""


class Body(Protocol):
    """A kind of call text. `heads`: its beginnings; an empty one is for anything."""

    @property
    def heads(self) -> Sequence[str]:
        """The marks that the kind begins with."""


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


@dataclass(frozen=True, slots=True)
class Tags:
    """A call's tag with a tag for each parameter. `heads`: beginnings of a call, up to its name;
    `end`: close it, though nothing need where it is `open_ended`.

    `parameters`: beginnings of a parameter, up to its name; `ends`: close its value. `tag_end`: the
    end of both beginnings. `padded`: a value has a line end at both its ends. `cdata`: a value may
    stand in a CDATA section.
    """

    heads: Sequence[str]
    end: Sequence[str]
    parameters: Sequence[str]
    ends: Sequence[str]
    tag_end: str = ">"
    padded: bool = True
    open_ended: bool = False
    cdata: bool = False

    @property
    def stem(self) -> str:
        """The beginning of a parameter's mark, as a value may open one itself."""
        return re.split("[= ]", self.parameters[0])[0].removesuffix(">")


@dataclass(frozen=True, slots=True)
class Pairs:
    """The bare name, then keys and values in turn; `separator` may follow the name.

    `key`, `value`, `kind`: opening and closing marks; a kind may stand between key and value. A
    value may have no opening mark. `reads_unknown`: a value that the schema does not know is read
    as JSON, where it is.
    """

    key: tuple[str, str]
    value: tuple[str, str]
    kind: tuple[str, str] = ("", "")
    separator: str = ""
    heads: Sequence[str] = ("",)
    reads_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Elements:
    """Calls whose parameters are elements named by their keys, nested as their values are.

    MiniMax-M3 writes so, with a mark of its own before every tag: `#<city>Oslo#</city>`, `#` being
    the mark; a list is a row of `item` elements.

    `mark`: what stands before every tag; `tag`: the call's, its attribute being the name.
    """

    mark: str
    tag: str = "invoke"

    @property
    def heads(self) -> Sequence[str]:
        """The marks that a call begins with, the second where the model leaves `<` out."""
        return (f"{self.mark}<{self.tag} name=", f"{self.mark}{self.tag} name=")


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
