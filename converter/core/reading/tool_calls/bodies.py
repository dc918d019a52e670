"""The five kinds of bodies. A body is the text of a call between the call's opener and closer.

Each class describes one kind. A row of `forms` holds an instance, by which `head`, `extent` and
`judge` read the text of a call.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

HEADER = re.compile(r"""\s*(?:(?:name|key|tool)=)?["']?([^"'\s]+)["']?(.*)""", re.DOTALL)
"""A pattern for the text within a tag: the name of a tool or parameter, and the rest. In the text
`name="f" id=1` the name is `f`, the rest ` id=1`.
"""
_NAME_ALONE = re.compile(r"\s*+(?P<name>[\w.:-]+)\s*+")
"""The pattern of a header that is nothing but the name of a tool, with blanks around it."""
NAME_KEYS = ("name", "tool_name", "function", "function_name", "tool")
"""The keys under which a call's object may have the tool's name."""
OTHER_KEYS = ("id", "type", "tool_call_id", "index")
"""Further keys that a call's object may have beside name and arguments."""


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON object, or a list of such objects: `{"name": "f", "arguments": {"city": "Oslo"}}`.

    Attributes:
        only_call_keys: True if an object must have arguments, and no keys beside those of the name
            (`NAME_KEYS`), of the arguments (`ARGUMENT_KEYS`) and `OTHER_KEYS`.
        name_is_key: True if an object has the tool's name as its only key and the arguments as the
            value (Apertus): `{"f": {"city": "Oslo"}}`.
    """

    only_call_keys: bool = False
    name_is_key: bool = False
    starts: ClassVar[Sequence[str]] = ("{", "[")


@dataclass(frozen=True, slots=True)
class Header:
    """A header with the tool's name, and behind it the arguments as a JSON object. A header alone
    is a call without arguments, if the tool requires none.

    In `to=functions.f<|message|>{"city": "Oslo"}` the header is `to=functions.f<|message|>`.

    Attributes:
        pattern: a regular expression for the header without its first mark (`f<|message|>`). Its
            group `name` is the tool's name.
        tail: a mark that may stand behind the arguments, before the call's closer; empty for none.
        starts: the first marks that a header may have (`to=functions.`); an empty text if it may
            begin without a mark.
    """

    pattern: str
    tail: str = ""
    starts: Sequence[str] = ("",)

    def name_in(self, header: str, *, alone: bool) -> str:
        """Return the tool's name in `header`, from which the first mark was removed:
        `f<|message|>` -> `f`. Return an empty text if `header` does not match `pattern`.

        `alone`: True if no arguments stand behind the header. Then a name without any mark behind
        it is accepted too.
        """
        header = header.rstrip().removesuffix(self.tail) if alone else header
        match = re.fullmatch(self.pattern, header, re.DOTALL)  # `re` caches the compiled pattern
        match = match or (_NAME_ALONE.fullmatch(header) if alone else None)
        return match["name"].strip() if match else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """Keys and values between marks. Models write them in three ways:

    - a tag for each parameter: `<function=f><parameter=city>Oslo</parameter></function>`;
    - keys and values in turn, behind the bare name:
      `f<arg_key>city</arg_key><arg_value>Oslo</arg_value>`;
    - nested elements, named by the keys: `<invoke name="f"><at><city>Oslo</city></at></invoke>`.

    Attributes:
        starts: the marks before the tool's name (`<function=`); an empty text if a call may begin
            with the bare name.
        body_closers: the marks that close a call within its opener and closer (`</function>`).
        name_separator: a mark that may stand behind a bare name, before the first key
            (`<tool_sep>`).
        key_openers: the marks before the name of a key (`<parameter=`, `<arg_key>`).
        key_closer: the mark behind the name of a key (`>`, `</arg_key>`). In a tag with the tool's
            name it stands behind that name too.
        type_marks: the two marks around the type of a value, `<arg_type>` and `</arg_type>`. The
            model may write the type between key and value. Empty for none.
        value_opener: the mark before a value (`<arg_value>`), which the model may leave out; empty
            for none.
        value_closers: the marks that close a value (`</parameter>`). If `nested_values`, the
            beginning of such a mark (`</`), behind which the key and `>` stand.
        nested_values: True if values are nested elements.
        may_lack_closer: True if a call may lack the mark that closes it.
        has_line_ends: True if models write a line end before a value and behind it. These line ends
            are no part of the value.
        may_have_cdata: True if a value may stand in a CDATA section.
        unknown_keys_are_json: True if the value of a key that is no parameter of the tool is read
            as JSON; if it is not JSON, it is a string.
    """

    starts: Sequence[str] = ("",)
    body_closers: Sequence[str] = ()
    name_separator: str = ""
    key_openers: Sequence[str]
    key_closer: str = ">"
    type_marks: tuple[str, str] = ("", "")
    value_opener: str = ""
    value_closers: Sequence[str]
    nested_values: bool = False
    may_lack_closer: bool = False
    has_line_ends: bool = False
    may_have_cdata: bool = False
    unknown_keys_are_json: bool = False

    @property
    def bare(self) -> bool:
        """True if a call may begin with the bare name of the tool, without a tag."""
        return "" in self.starts

    @property
    def stem(self) -> str:
        """The first characters of the mark before a key, up to a blank, `=` or `>`:
        `<parameter=` -> `<parameter`. Where they stand without the rest of the mark, the mark is
        damaged or cut off (`keyed_marks.Kind.KEY_BEGUN`).
        """
        if self.nested_values:
            # The mark is `]<]minimax[>[<`. MiniMax-M3 may leave out the last `<`.
            return self.key_openers[0].removesuffix("<")
        return re.split("[= ]", self.key_openers[0])[0].removesuffix(">")


@dataclass(frozen=True, slots=True)
class Python:
    """Calls in Python's syntax: `[f(city="Oslo"), g()]`, or without brackets a call on each line.

    Attributes:
        starts: the characters with which the body may begin; an empty text if it may begin with a
            tool's name.
        object_body: how JSON objects are read, which models sometimes write between the marks of
            this form in place of Python.
    """

    starts: Sequence[str] = ("[",)
    object_body: Json = field(default_factory=Json)


@dataclass(frozen=True, slots=True)
class Gemma:
    """Gemma's own syntax: `call:f{city:<|"|>Oslo<|"|>}`.

    Attributes:
        quote: the mark at both ends of a string, `<|"|>`.
        starts: the marks before the tool's name.
    """

    quote: str
    starts: Sequence[str] = ("call:", "call ", ":")


type Body = Json | Header | Keyed | Python | Gemma
"""A kind of body. All have `starts`: the marks with which the body may begin. An empty text among
them means that the body may begin without a mark.
"""
