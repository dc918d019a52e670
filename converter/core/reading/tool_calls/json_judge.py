"""`JsonCalls` reads calls that are JSON objects with name and arguments, or lists of such objects.
`HeaderCalls` reads calls that are a header with the name before a JSON object. `json_object` reads
the object itself.

Models also write the arguments in other places of the call's object:

- `{"name": "remove", "path": "/x"}`: an argument stands beside the name;
- `{"name": "remove", "input_data": {"path": "/x"}}`: the object of the arguments has another key;
- `{"name": "remove", "arguments": "{...}"}`: the object of the arguments is in a string;
- `{"name": "remove", "arguments": {}, "path": "/x"}`: the object of the arguments was closed too
  early. The call's object may be closed too early in the same way.

A key with its value is called a member here. It counts as an argument if the key is a parameter in
the tool's schema. An object counts as the arguments if all its keys are parameters. A member that
belongs to the call itself, such as `id`, is left out. If any other member has a value, the call
does not run, because this value would be lost.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from converter.core.calls.arguments import ARGUMENT_KEYS, meaning_of
from converter.core.calls.ids import is_kimi_id
from converter.core.calls.schema_values import as_json, properties_of
from converter.core.reading.tool_calls.bodies import NAME_KEYS, OTHER_KEYS, Header, Json
from converter.core.reading.tool_calls.json_object import JsonObject, json_object
from converter.core.reading.tool_calls.span import Broken, NoCall, Span, Unclosed, merge_arguments
from converter.core.reading.tool_calls.verdict import End, JudgedCall
from converter.core.wire.partial_json import PartialJson, mended

_BETWEEN = ",;}]"
"""The characters that may stand between two calls, beside blanks and `[`."""
_NOTHING: tuple[object, ...] = (None, "", [])
"""Values that say nothing: a member with one of them is dropped if its key is no parameter."""
ANY_MEMBER = re.compile(r'\{\s*+"')
"""The pattern of the beginning of a JSON object that is not empty."""
_AS_ARGUMENTS = re.compile(r'\{|null|""|"\s*+(?:\{|null)')
"""The pattern of the beginning of a value that may be the arguments of a call: an object, null, an
empty string, or a string with one of the first two in it.
"""


class JsonCalls:
    """The reader of calls that are JSON objects, for the text of one span."""

    def __init__(self, span: Span) -> None:
        self._span = span
        body = span.row.body
        self._strict = bool(getattr(getattr(body, "object_body", body), "only_call_keys", False))
        self._by_key = isinstance(body, Json) and body.name_is_key

    def find(self, at: int) -> int:
        """Return the offset of the next object, from the offset `at` on; -1 if no object follows,
        or anything stands before it but blanks, closers of thoughts, commas, semicolons, brackets
        and closing braces.
        """
        text, skip_blanks = self._span.text, self._span.skip_blanks
        while (mark := text[(at := skip_blanks(at)) : at + 1]) and mark in _BETWEEN + "[":
            at += 1
        return at if mark == "{" else -1

    def read(self, at: int) -> JudgedCall:
        """Read the call whose object begins at the offset `at`. Raises NoCall, Broken or Unclosed
        if no whole call with a clear meaning stands there.
        """
        call = _Call(self._span, only_call_keys=self._strict, name_is_key=self._by_key)
        end = call.take_object(json_object(self._span.text, at))
        end = end if self._strict else call.take_members_behind(end)
        return JudgedCall(call.name, call.all_arguments(), end=end)


class HeaderCalls:
    """The reader of calls whose name stands in a header, for the text of one span."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def find(self, at: int) -> int:
        """Return the offset of the next header, from the offset `at` on; -1 if none follows.

        The first header (`at` is 0) may begin without a mark. The next ones need a mark of
        `Header.starts`; only blanks, a closer of the call, and closers of thoughts may stand before
        the mark.
        """
        text, skip_blanks, row = self._span.text, self._span.skip_blanks, self._span.row
        begin = skip_blanks(at)
        closer = next((mark for mark in row.closes if at and text.startswith(mark, begin)), "")
        begin = skip_blanks(begin + len(closer))
        heads = tuple(filter(None, getattr(row.body, "starts", ())))
        return begin if not at or text.startswith(heads, begin) else -1

    def read(self, at: int) -> JudgedCall:
        """Read the call whose header begins at the offset `at`. A header alone is a call without
        arguments, if a mark ended the text and the tool requires no argument. Raises NoCall for any
        other header alone, and for a header without the name of an offered tool. `read_arguments`
        may raise NoCall, Broken or Unclosed too.
        """
        span, body, text = self._span, self._span.row.body, self._span.text
        assert isinstance(body, Header)
        at += len(max((it for it in body.starts if text.startswith(it, at)), key=len, default=""))
        brace = text.find("{", at)
        written = body.name_in(text[at : brace if brace >= 0 else None], alone=brace < 0)
        name = span.offered_name(written)
        if not name:
            raise NoCall
        call_id = written if is_kimi_id(written) else ""
        if brace < 0:
            if not span.ends_at_mark or span.schema(name).get("required"):
                raise NoCall
            return JudgedCall(name, "{}", call_id, end=len(text))
        arguments, end = read_arguments(span, name, brace)
        behind = span.skip_blanks(end)
        if body.tail and text.startswith(body.tail, behind):
            end = behind + len(body.tail)
        return JudgedCall(name, arguments, call_id, end=end)


def read_arguments(span: Span, name: str, at: int) -> tuple[str, int]:
    """Return the JSON of the arguments of a call of the tool `name`, and the offset behind them.
    The object of the arguments begins at the offset `at`, behind the name: `f{"city": "Oslo"}`.
    Raises NoCall, Broken or Unclosed if it is not whole or has no clear meaning.
    """
    call = _Call(span, name=name, arguments_read=True, name_is_outside=True, has_header=True)
    read = json_object(span.text, at)
    call.close_object(read)
    call.arguments = read.text if read.may_be_mended else span.text[at : read.end]
    end = call.take_members_behind(read.end)
    return call.all_arguments(), end


@dataclass(slots=True)
class _Call:
    """A call: its name and arguments, as far as they were read from the members of its object."""

    span: Span
    """The text in which the call stands."""
    name: str = ""
    """The tool's name; empty until it was read."""
    only_call_keys: bool = False
    """True if the call's object must have arguments, and may have no keys but those of a call, such
    as `name`, `arguments` and `id` (`Json.only_call_keys`).
    """
    name_is_key: bool = False
    """True if the tool's name is the only key of the call's object (`Json.name_is_key`)."""
    has_header: bool = False
    """True if a header with the name stands before the object of the arguments:
    `f{"city": "Oslo"}`.
    """
    arguments_read: bool = False
    """True if the object of the arguments was read, or a member such as `input` that may be either
    this object or one argument, because the tool has a parameter of this name.
    """
    name_is_outside: bool = False
    """True if no object has both the name and the arguments, because the name is in a header, or is
    the key whose value is the object of the arguments (`name_is_key`). A further member, such as
    `id`, can then only be an argument.
    """
    arguments: str = "{}"
    """The JSON object of the arguments, as far as they were read."""
    doubtful_members: list[tuple[str, str, bool]] = field(default_factory=list)
    """The members beside the object of the arguments that may be arguments too. For each: the key,
    the JSON of the value, and True if the value may also be the object of all arguments.
    """

    def take_object(self, read: JsonObject) -> int:
        """Set name and arguments from `read`, the call's object. Return the offset behind the
        object. Raises NoCall if it names no offered tool, or if its keys do not fit the form
        (`name_is_key`, `only_call_keys`). `close_object` may raise NoCall, Broken or Unclosed too.
        """
        self.close_object(read)
        members = read.members
        if self.name_is_key:
            if len(members) != 1:
                raise NoCall(read.end)
            self._take_name(as_json(members[0][0]), read.end)
            self._set_arguments(members[0][1])
            self.name_is_outside = True
            return read.end
        first = _index_of_name(members)
        # `{"function": {"name": "f"}}`: replace the member `function` by those of its object.
        if first >= 0 and members[first][1][:1] == "{":
            within = json_object(members[first][1], 0).members
            members = [*members[:first], *within, *members[first + 1 :]]
            first = _index_of_name(members)
        self._take_name(members.pop(first)[1] if first >= 0 else "", read.end)
        for key, written in members:
            self._take_member(key, written)
        if self.only_call_keys and not self.arguments_read:
            raise NoCall
        return read.end

    def take_members_behind(self, at: int) -> int:
        """Read the members that stand behind the call's object, because the model wrote the
        object's closing brace too early. Return the offset behind the last member; `at` if there is
        none. `at`: the offset behind the call's object.

        The members stand there without a brace, `{"name": "f"}, "path": "/x"}`, or in an object,
        `{"name": "f"}, {"path": "/x"}`.

        - An object that is another call (`_is_another_call`) is not read. Behind a call with a
          header, `f{"city": "Oslo"}`, no object counts as another call.
        - If the call has arguments, and its form has no closer, members are read only behind a
          comma. If the name stands outside of the object (`name_is_outside`), an object is read
          without a comma too.
        - If the call has arguments, an object must repeat them; raises Broken if it differs.
        - If the call has no arguments, and the name stands outside, the object becomes its
          arguments.
        - In all other cases the members count as members of the call's object (`_take_member`).
        """
        span, text = self.span, self.span.text
        while True:
            offset = span.skip_blanks(at)
            while text[offset : offset + 1] in tuple(",;}"):
                offset = span.skip_blanks(offset + 1)
            mark, has_arguments = text[offset : offset + 1], bool(ANY_MEMBER.match(self.arguments))
            if mark not in ("{", '"'):
                return at
            read = json_object(text, offset, inside=mark == '"')
            if mark == "{" and not self.has_header and self._is_another_call(read, has_arguments):
                return at
            again = mark == "{" and (has_arguments or self.name_is_outside)
            belongs = span.row.ends or "," in text[at:offset] or not has_arguments
            if not (belongs or (again and self.name_is_outside)):
                return at
            self.close_object(read)
            if not again:
                for key, written in read.members:
                    self._take_member(key, written)
            elif not has_arguments:
                self.arguments = read.text
            elif meaning_of(self.arguments) != meaning_of(read.text):
                self._fail()
            at = read.end

    def all_arguments(self) -> str:
        """Return the JSON of all arguments: the members of `arguments`, and the arguments that
        `_resolve` reads from `doubtful_members`. Fails by `_fail` if an argument has two different
        values, or if a doubtful member with a value is no argument (`_resolve`).

        A member whose key is one of `OTHER_KEYS` (`id`, `type`) belongs to the call itself and is
        left out. In two cases it may be an argument, and is resolved like other members: the name
        stands outside of the object (`name_is_outside`); or no arguments were read, and the tool
        has a parameter of this name.
        """
        members = json_object(self.arguments, 0).members
        arguments, length = merge_arguments(members), len(members)
        for key, written, may_be_all in self.doubtful_members:
            around = key in OTHER_KEYS and not self.name_is_outside
            if arguments is None or (around and (self.arguments_read or not self._takes(key))):
                continue
            more = self._resolve(key, written, may_be_all)
            length = -1
            arguments = merge_arguments([*arguments.items(), *more])
        if arguments is None:
            self._fail()
        return self.arguments if len(arguments) == length else JsonObject([*arguments.items()]).text

    def _takes(self, key: str) -> bool:
        """Return True if the tool takes a parameter of this name."""
        return key in properties_of(self.span.schema(self.name))

    def _fail(self) -> NoReturn:
        """End the reading of a text without a clear meaning: raise Broken if the tool's name was
        read and the object `arguments` has a member, else NoCall.
        """
        if self.name and ANY_MEMBER.match(self.arguments):
            raise Broken(self.name)
        raise NoCall

    def close_object(self, read: JsonObject) -> None:
        """Close `read`, an object of this call: if its closing brace is missing, add the missing
        brackets.

        - They are added if nothing else is missing, and the text ends there, or a closer of the
          call stands behind the object.
        - Raises Unclosed if the text ends there, but the rest of the object may have been lost:
          more than brackets is missing; the reply was cut off (`End.CUT`); or the form is strict
          (`only_call_keys`). An incomplete closer counts as the end of the text.
        - Fails by `_fail` if any other text that is not JSON stands in the object.
        """
        if read.closed:
            return
        span = self.span
        half = span.is_last and span.begins_closer(span.text[read.end :].strip() or "x")
        unfit = read.is_invalid and not half
        may_close = span.end is not End.CUT and not self.only_call_keys
        over = span.closes(read.end) if unfit else may_close
        if read.missing_brackets is not None and over:
            read.complete()
            return
        name, arguments = self._read_open_object(read)
        self.name = self.name or self.span.offered_name(name)
        if not ANY_MEMBER.match(self.arguments):
            self.arguments = read.so_far if self.has_header else arguments
        if unfit:
            self._fail()
        raise Unclosed(self.name, self.arguments.removesuffix("}"))

    def _read_open_object(self, read: JsonObject) -> tuple[str, str]:
        """Return the tool's name, and the beginning of the JSON of the arguments, from the open
        object of a call: `{"name": "f", "arguments": {"city": "Os` -> `f` and `{"city": "Os`.
        """
        name, arguments = "", "{"
        members = [(key, value, value) for key, value in read.members]
        for key, value, begun in (*members, (read.open_key or "", '""', read.open_value)):
            if key in ARGUMENT_KEYS or (self.name_is_key and begun[:1] in "{"):
                name = key if self.name_is_key else name
                arguments = begun if begun[:1] == "{" else PartialJson().feed(_string(begun)) or "{"
            elif key in NAME_KEYS and begun[:1] == "{":
                name, arguments = self._read_open_object(json_object(begun, 0))
            elif key in NAME_KEYS and not name:
                name = _string(value)
        return name, arguments

    def _take_name(self, written: str, end: int) -> None:
        """Set the tool's name to the offered name that is meant by the JSON string `written`.
        Raises NoCall if no offered name is meant. `end`: the offset behind the call's object, from
        which `judge` then looks for another call.
        """
        self.name = self.span.offered_name(_string(written))
        if not self.name:
            raise NoCall(end)

    def _take_member(self, key: str, written: str) -> None:
        """Set the arguments to the value of a member, if `key` is one for arguments
        (`ARGUMENT_KEYS`) and no parameter of the tool, and no arguments were read; else add the
        member to `doubtful_members`. `written`: the JSON of the value. Raises NoCall if the form
        allows no such key.
        """
        if key in ARGUMENT_KEYS and not (self.arguments_read or self._takes(key)):
            self._set_arguments(written)
            return
        if self.only_call_keys and key not in (*OTHER_KEYS, *ARGUMENT_KEYS):
            raise NoCall
        # A key for arguments, such as `input`, may also be a parameter of the tool. The value is
        # then this one argument, or the object of all arguments: `_resolve` decides.
        may_be_all = key in ARGUMENT_KEYS and not self.arguments_read
        self.arguments_read = self.arguments_read or may_be_all
        self.doubtful_members.append((key, written, may_be_all))

    def _set_arguments(self, written: str) -> None:
        """Set the arguments to the JSON `written`: an object, or a string with the JSON of an
        object. An empty string and null mean `{}`. Fails by `_fail` for any other value.
        """
        self.arguments_read = True
        if written[:1] == "{":
            self.arguments = written
        elif written[:1] == '"':
            inner = PartialJson()
            content = inner.feed(_string(written))
            if inner.has_text and not (inner.complete and not inner.unfit.strip()):
                self.arguments = content
                self._fail()
            self.arguments = content.strip() or "{}"
        elif written != "null":
            self._fail()

    def _is_another_call(self, read: JsonObject, has_arguments: bool) -> bool:
        """Return True if the object `read`, which stands behind this call, is another call. Return
        False if it has further arguments of this call.

        In most forms it is another call if one of these is true:

        - It names an offered tool under a key for names (`NAME_KEYS`): `{"tool": "g"}`.
        - It names anything else under such a key, and the key is no parameter of this call's tool.
          The name may stand in an object: `{"function": {"name": "x"}}`. A string counts as a name
          under the key `name`, beside a key for arguments, or if this call has arguments already.
        - This call has arguments already, and the object is not closed.

        In a form in which the name itself is the key (`name_is_key`), it is another call if its
        first key is an offered tool. Any other first key that is no parameter counts too, if this
        call has arguments already or the key's value may be arguments.

        `has_arguments`: True if this call has arguments already.
        """
        members = [*read.members, *([(read.open_key, read.open_value)] if read.open_key else [])]
        if self.name_is_key and members:
            key, value = members[0]
            sure = (has_arguments or _AS_ARGUMENTS.match(value)) and not self._takes(key)
            return bool(sure or self.span.offered_name(key))
        sure = has_arguments or any(key in ARGUMENT_KEYS for key, _ in members)
        for key, value in members:
            if key not in NAME_KEYS:
                continue
            if value[:1] == '"' and self.span.offered_name(_string(value)):
                return True
            inner = json_object(value, 0).members if value[:1] == "{" else []
            within = any(name in NAME_KEYS and it[:1] == '"' for name, it in inner)
            named = value[:1] == '"' and (sure or key == "name")
            if (within or named) and not self._takes(key):
                return True
        return has_arguments and not read.closed

    def _resolve(self, key: str, written: str, may_be_all: bool) -> Sequence[tuple[str, str]]:
        """Return the arguments that are in one of `doubtful_members`, as keys with the JSON of
        their values.

        - If its key is a parameter of the tool: the member itself.
        - If its value is an object, and all keys of this object are parameters: the object's
          members. The object may stand in a string.
        - If both are true: the object's members if `may_be_all`, else the member itself.
        - If neither is true: nothing, for an empty value (null, `""`, `[]`). For any other value
          the reading fails by `_fail`.
        """
        is_parameter = self._takes(key)
        if not is_parameter and written[:1] == '"' and (inner := mended(_string(written))):
            written = inner
        members = json_object(written, 0).members if written[:1] == "{" else []
        are_parameters = written[:1] == "{" and all(self._takes(name) for name, _ in members)
        if is_parameter and not (are_parameters and may_be_all):
            return [(key, written)]
        if not are_parameters and json.loads(written) not in _NOTHING:
            self._fail()
        return members


def _index_of_name(members: Sequence[tuple[str, str]]) -> int:
    """Return the index of the first member whose key is one of `NAME_KEYS`; -1 if there is none."""
    return next((at for at, (key, _) in enumerate(members) if key in NAME_KEYS), -1)


def _string(written: str) -> str:
    """Return the content of the JSON string `written`, which may lack its closing quote:
    `"Osl` -> `Osl`. Return an empty text if `written` is not a string.
    """
    if written[:1] != '"':
        return ""
    try:
        return str(json.loads(written))
    except ValueError:
        return str(json.loads(written + '"'))
