"""The classes `Json`, `Header`, `Keyed`, `Python` and `Gemma` describe the five kinds of bodies
that a row of `forms` may have. A body is the text of a call between its opener and closer.
`NAME_KEYS` and `OTHER_KEYS` are keys of a call's object.

A row holds an instance of such a class, by which `head`, `judge` and the engine read the text of a
call.
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
    """A JSON object, or a list of such objects: `{"name": "f", "arguments": {"city": "Oslo"}}`."""

    only_call_keys: bool = False
    """True if an object must have arguments, and, beside one key of `NAME_KEYS`, only keys of
    `ARGUMENT_KEYS` and `OTHER_KEYS`.
    """
    name_is_key: bool = False
    """True if an object has the tool's name as its only key and the arguments as the value
    (Apertus): `{"f": {"city": "Oslo"}}`.
    """
    starts: ClassVar[Sequence[str]] = ("{", "[")
    """The characters with which the body may begin."""


@dataclass(frozen=True, slots=True)
class Header:
    """A header with the tool's name, and behind it the arguments as a JSON object. A header alone
    is a call without arguments, if a mark ends the call and the tool requires no argument.

    In `to=functions.f<|message|>{"city": "Oslo"}` the header is `to=functions.f<|message|>`.
    """

    pattern: str
    """A regular expression for the header without its first mark (`f<|message|>`). Its group `name`
    is the tool's name.
    """
    tail: str = ""
    """A mark that may stand between the arguments and the call's closer; empty for none."""
    starts: Sequence[str] = ("",)
    """The marks with which a header may begin (`to=functions.`). An empty text among them means
    that the header may begin without a mark.
    """

    def name_in(self, header: str, *, alone: bool) -> str:
        """Return the tool's name in `header`, from which the first mark was removed:
        `f<|message|>` -> `f`. Return an empty text if `header` does not match `pattern`.

        `alone`: True if no arguments stand behind the header. Then `tail` may stand at its end, and
        a name without any mark behind it is accepted too.
        """
        header = header.rstrip().removesuffix(self.tail) if alone else header
        match = re.fullmatch(self.pattern, header, re.DOTALL)  # `re` keeps compiled patterns
        match = match or (_NAME_ALONE.fullmatch(header) if alone else None)
        return match["name"].strip() if match else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """Keys and values between marks. Models write them in three ways:

    - a tag for each parameter: `<function=f><parameter=city>Oslo</parameter></function>`;
    - keys and values in turn, behind the bare name:
      `f<arg_key>city</arg_key><arg_value>Oslo</arg_value>`;
    - nested elements, named by the keys: `<invoke name="f"><at><city>Oslo</city></at></invoke>`.
    """

    starts: Sequence[str] = ("",)
    """The marks before the tool's name (`<function=`). An empty text among them means that the call
    may begin with the bare name.
    """
    body_closers: Sequence[str] = ()
    """The marks that close the body (`</function>`), before the call's own closer."""
    name_separator: str = ""
    """A mark that may stand between a bare name and the first key (`<tool_sep>`); empty for none.
    """
    key_openers: Sequence[str]
    """The marks before the name of a key (`<parameter=`, `<arg_key>`)."""
    key_closer: str = ">"
    """The mark behind the name of a key (`>`, `</arg_key>`). It also stands behind a tool's name
    that is in a tag.
    """
    type_marks: tuple[str, str] = ("", "")
    """The two marks around the type of a value, `<arg_type>` and `</arg_type>`, which the model may
    write between key and value; two empty texts for none.
    """
    value_opener: str = ""
    """The mark before a value (`<arg_value>`), which the model may leave out; empty for none."""
    value_closers: Sequence[str]
    """The marks that close a value (`</parameter>`). If `nested_values`, they are only the
    beginning of such a mark (`</`), and the key and `>` follow.
    """
    nested_values: bool = False
    """True if values are nested elements: `<at><city>Oslo</city></at>`."""
    may_lack_closer: bool = False
    """True if models may leave out the mark that closes the body."""
    has_line_ends: bool = False
    """True if models write a line end before a value and behind it. These line ends are no part of
    the value.
    """
    may_have_cdata: bool = False
    """True if a value may stand in a CDATA section: `<![CDATA[Oslo]]>`."""
    unknown_keys_are_json: bool = False
    """True if the value of a key that is no parameter of the tool is read as JSON. A value that is
    not JSON is then a string.
    """

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
    """Calls in Python's syntax: `[f(city="Oslo"), g()]`; or calls without `[` and `]`, usually each
    on its own line.
    """

    starts: Sequence[str] = ("[",)
    """The characters with which the body may begin. An empty text among them means that it may
    begin with a tool's name.
    """
    object_body: Json = field(default_factory=Json)
    """The kind of body by which JSON objects are read, if the model writes such objects in place
    of Python.
    """


@dataclass(frozen=True, slots=True)
class Gemma:
    """Gemma's own syntax: `call:f{city:<|"|>Oslo<|"|>}`."""

    quote: str
    """The mark at both ends of a string: `<|"|>`."""
    starts: Sequence[str] = ("call:", "call ", ":")
    """The marks before the tool's name: `call:`."""


type Body = Json | Header | Keyed | Python | Gemma
"""A kind of body. All have `starts`: the marks with which the body may begin. An empty text among
them means that the body may begin without a mark.
"""
