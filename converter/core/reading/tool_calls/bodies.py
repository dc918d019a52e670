"""The five kinds of bodies: the text of a call between its marks. A body is data in a row of
`forms`, by which `head`, `extent` and `judge` read the text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

HEADER = re.compile(r"""\s*(?:(?:name|key|tool)=)?["']?([^"'\s]+)["']?(.*)""", re.DOTALL)
"""A pattern for the text in a tag: a tool's or parameter's name, and the rest."""
_NAME_ALONE = re.compile(r"\s*+(?P<name>[\w.:-]+)\s*+")
NAME_KEYS = ("name", "tool_name", "function", "function_name", "tool")
"""The keys under which a call's object may have the tool's name."""
OTHER_KEYS = ("id", "type", "tool_call_id", "index")
"""Further keys that a call's object may have beside name and arguments."""


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON object or a list of objects: `{"name": "f", "arguments": {"city": "Oslo"}}`.

    Attributes:
        strict: True if an object must have arguments, and may have no other keys than those of
            calls.
        name_is_key: True if an object has the tool's name as its only key and the arguments as the
            value (Apertus): `{"f": {"city": "Oslo"}}`.
    """

    strict: bool = False
    name_is_key: bool = False
    heads: ClassVar[Sequence[str]] = ("{", "[")


@dataclass(frozen=True, slots=True)
class Header:
    """A header with the tool's name, and arguments in JSON behind it. A name without arguments is a
    call of a tool that needs none.

    Attributes:
        pattern: a regular expression for the header up to the brace. Its group `name` is the name.
        tail: text that may stand behind the arguments, before the call's closer.
        heads: marks with which the header begins; they stand before `pattern`.
        user: a header of text for the user, which is dropped.
    """

    pattern: str
    tail: str = ""
    heads: Sequence[str] = ("",)
    user: str = ""

    def name_in(self, header: str, *, alone: bool) -> str:
        """Return the tool's name in a header; empty if the header does not fit. `alone`: no
        arguments stand behind the header.
        """
        header = header.rstrip().removesuffix(self.tail) if alone else header
        match = re.fullmatch(self.pattern, header, re.DOTALL)  # `re` keeps compiled patterns
        match = match or (_NAME_ALONE.fullmatch(header) if alone else None)
        return match["name"].strip() if match else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """Keys and values between marks. There are three sorts:

    - a tag for each parameter: `<function=f><parameter=city>Oslo</parameter></function>`;
    - keys and values in turn, behind the bare name:
      `f<arg_key>city</arg_key><arg_value>Oslo</arg_value>`;
    - nested elements, named by the keys: `<invoke name="f"><at><city>Oslo</city></at></invoke>`.

    Attributes:
        heads: beginnings of the tag with the tool's name (`<function=`); an empty one if the name
            stands bare.
        end: marks that close a call.
        separator: a mark that may follow the bare name.
        keys: beginnings of the mark of a key, up to the key's name.
        key_end: the mark behind a key's name, and behind the tool's name in a tag.
        kind: two marks around a type that may stand between key and value.
        value: the mark before a value; the model may leave it out.
        ends: marks that close a value. If `nested`, the key and `>` follow such a mark.
        nested: True if values are nested elements.
        open_ended: True if a call needs no mark that closes it.
        padded: True if a line end before and behind a value are not a part of the value.
        cdata: True if a value may stand in a CDATA section.
        reads_unknown: True if a value of a parameter that the schema does not have is read as JSON,
            if it is JSON.
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
        """True if a call begins with the bare name of the tool."""
        return "" in self.heads

    @property
    def stem(self) -> str:
        """The first characters of a key's mark (`<parameter`). A value that is text about marks may
        have them too.
        """
        if self.nested:
            return self.keys[0].removesuffix("<")  # MiniMax-M3 may leave `<` out
        return re.split("[= ]", self.keys[0])[0].removesuffix(">")


@dataclass(frozen=True, slots=True)
class Python:
    """Calls in Python's syntax: `[f(city="Oslo"), g()]`, or without brackets a call on each line.
    If objects stand in the list, it is read as JSON, by `objects`.
    """

    heads: Sequence[str] = ("[",)
    objects: Json = field(default_factory=Json)


@dataclass(frozen=True, slots=True)
class Gemma:
    """Gemma's own syntax: `call:f{city:<|"|>Oslo<|"|>}`.

    Attributes:
        quote: the mark at both ends of a string.
    """

    quote: str
    heads: Sequence[str] = ("call:", "call ", ":")


type Body = Json | Header | Keyed | Python | Gemma
"""A kind of call text. `heads`: its beginnings; an empty one is for anything."""
