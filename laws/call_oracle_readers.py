"""Read tool calls in text for `call_oracle`, by regular expressions, Python's `json` and `ast`. A
`Row` has the pattern of a call's beginning (made in `call_oracle_forms`), and the function that
reads the call from there on.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from converter.core.reading.families import CLOSERS

type NamedArguments = tuple[str, Mapping[str, object]]
type Reader = Callable[[str, re.Match[str]], tuple[int, list[NamedArguments]] | None]
"""Text, match of a call's beginning -> offset behind the calls, name and arguments of each call. If
they cannot be read, it returns None or raises an error of `_UNREADABLE`.
"""
type Syntax = tuple[str, Reader]  # the pattern of a body's beginning, and the reader of the rest

_BLANKS = rf"(?:\s|{'|'.join(map(re.escape, CLOSERS))})*"
"""The pattern of blanks, also none, with closers of thoughts among them: ` </think> `, not `a`."""
JSON_NEXT = rf"{_BLANKS}(?=[\[{{])"  # for blanks before `{` or `[`: the one in ` {`, not in ` a`
_UNREADABLE = (ValueError, SyntaxError, RecursionError, MemoryError)  # errors of `json` and `ast`
_DECODER = json.JSONDecoder(strict=False)  # a decoder of JSON that allows line ends in strings
NO_ARGUMENTS: Mapping[str, object] = {}
"""The arguments of a call that has only a name. It counts only if the tool requires no argument."""
_NAME_KEYS, _ARGUMENT_KEYS = ("name", "tool_name", "function"), ("arguments", "parameters", "args")
"""The keys of a call's object for the tool's name, and those for an object of the arguments."""
_OTHER_KEYS = ("id", "type", "tool_call_id", "index")  # other keys of a call's object


class Members(dict[str, object]):
    """The members of a call's JSON object, except the tool's name. Which of them are arguments
    depends on the parameters of the tool.
    """

    behind: Sequence["Members"] = ()
    """Objects without a name that follow, perhaps with the arguments: `{"name": "f"}, {"a": 1}`."""

    def arguments(self, parameters: Sequence[str]) -> Mapping[str, object] | None:
        """Return the arguments of a tool with these parameters: all members of an object under
        `arguments` or a key of the same meaning; members that are parameters; and those of an
        object under another key that has nothing else. Return None if two of them disagree about an
        argument, or if any other member is neither empty nor a field such as `id`.
        """
        arguments: dict[str, object] = {}
        argued = any(isinstance(self.get(key), dict) for key in _ARGUMENT_KEYS)
        for key, value in self._all_items():
            if key in _ARGUMENT_KEYS:
                members = value if isinstance(value, dict) else {}
            elif key in _OTHER_KEYS and (argued or key not in parameters):
                continue
            elif key in parameters:
                members = {key: value}
            elif value in (None, "", {}, []):
                continue
            elif isinstance(value, dict) and value.keys() <= set(parameters):
                members = value
            else:
                return None
            if any(arguments.get(name, members[name]) != members[name] for name in members):
                return None
            arguments |= members
        return arguments

    def _all_items(self) -> Iterator[tuple[str, object]]:
        """Yield key and value of the call's members and, if the call has no object of arguments, of
        those in the objects behind it. If it has one, each object behind it must be equal to that
        one: else yield a key that no tool has, so that `arguments` refuses the call.
        """
        arguments = next((self[key] for key in _ARGUMENT_KEYS if self.get(key)), None)
        yield from self.items()
        for each in self.behind:
            if not arguments:
                yield from each.items()
            elif each != arguments:
                yield "other arguments", [each]


@dataclass(frozen=True)
class Row:
    """One syntax of calls, which the oracle can find and read."""

    form: str  # the name of the form in the addon's table
    begin: str  # the pattern of a call's beginning
    read: Reader  # reads the calls from a match of `begin` on
    ends: Sequence[str] = ()  # patterns of closers that may follow the calls, in this order

    def find(self, text: str, offset: int) -> re.Match[str] | None:
        """Return the match of the first beginning of a call from `offset` on; None for none."""
        return re.compile(self.begin, re.DOTALL).search(text, offset)

    def calls(self, text: str, match: re.Match[str]) -> tuple[int, list[NamedArguments]] | None:
        """Return the offset behind the calls at `match`, name and arguments of each; else None."""
        try:
            read = self.read(text, match)
        except _UNREADABLE:
            return None
        if read is None or not read[1]:
            return None
        marks = "".join(rf"(?:{_BLANKS}{end})?" for end in self.ends)
        behind = re.compile(marks).match(text, read[0])
        return (behind.end() if behind else read[0]), read[1]


def _named_arguments(value: object, by_key: bool) -> Iterator[NamedArguments]:
    """Yield name (empty for none) and arguments of each call in the value, an object or a list of
    objects. `by_key`: True if the tool's name is a key, as in `{"f": {}}`.
    """
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, dict):
            continue
        if by_key:
            yield from (
                (name, arguments)
                for name, arguments in entry.items()
                if isinstance(arguments, dict)
            )
            continue
        inner = entry.get("function")
        values = {**entry, **inner} if isinstance(inner, dict) else entry
        named = next((key for key in _NAME_KEYS if isinstance(values.get(key), str)), "")
        members = {key: value for key, value in values.items() if key not in (named, "function")}
        for key in _ARGUMENT_KEYS:
            if isinstance(value := members.get(key), str):
                members[key] = json.loads(value) if value else {}
        yield str(values.get(named, "")), Members(members)


def objects_reader(close: str = "", by_key: bool = False) -> Reader:
    """Return a reader of calls in JSON, one after another. `close`: the mark behind them, empty for
    none; closing brackets before this mark may be missing or too many. `by_key`: True if the tool's
    name is a key, as in `{"f": {}}`.
    """

    def read(text: str, match: re.Match[str]) -> tuple[int, list[NamedArguments]]:
        offset, named = match.end(), list[NamedArguments]()
        while begun := re.compile(r"[\s,;]*(?=[\[{])").match(text, offset):
            try:
                value, offset = _DECODER.raw_decode(text, begun.end())
            except ValueError:
                end = text.find(close, offset) if close else -1
                try:
                    value, offset = _completed(text[begun.end() : max(0, end)]), end
                except ValueError:
                    break
            for name, members in _named_arguments(value, by_key):
                if not name and named and isinstance(before := named[-1][1], Members):
                    before.behind = [*before.behind, Members(members)]
                else:
                    named.append((name, members))
        extra = re.compile(rf"[\s}}]*(?={re.escape(close)})").match(text, offset) if close else None
        return (extra.end() if extra else offset), named

    return read


def _completed(written: str) -> object:
    """Return the value of JSON that lacks its last `}`, `}}` or `]}}`; else raise ValueError."""
    for brackets in ("}", "}}", "]}}"):
        try:
            return json.loads(written.rstrip(", \n") + brackets)
        except ValueError:
            continue
    raise ValueError(written)


def read_header(text: str, match: re.Match[str]) -> tuple[int, list[NamedArguments]] | None:
    """Read a call that begins with a header (`match`), a tool's name among tokens. The arguments
    are the JSON behind the header; if a mark stands there, the call has only a name.
    """
    name = re.sub(r"\Afunctions\.|:\d+\Z", "", match["name"])  # Kimi: `functions.f:0` for `f`
    if text.startswith(("<", "`"), match.end()):
        return match.end(), [(name, NO_ARGUMENTS)]
    arguments, offset = _DECODER.raw_decode(text, match.end())
    return offset, [(name, arguments)]


def tags_reader(parameter: str, end: str, padded: bool = True) -> Reader:
    """Return a reader of a call with arguments between tags, or in JSON (Llama 3.1). `parameter`:
    the pattern of an argument, with groups `key` and `value`. `end`: that of a call's end.
    `padded`: True if a line end before a value, and one behind it, are dropped.
    """

    def read_tags(text: str, match: re.Match[str]) -> tuple[int, list[NamedArguments]] | None:
        arguments, offset = dict[str, object](), match.end()
        while pair := re.compile(rf"{_BLANKS}{parameter}", re.DOTALL).match(text, offset):
            value, offset = pair["value"], pair.end()
            arguments[pair["key"]] = re.sub(r"\A\r?\n|\r?\n\Z", "", value) if padded else value
        begun = None if arguments else re.compile(JSON_NEXT).match(text, offset)
        if begun:
            arguments, offset = _DECODER.raw_decode(text, begun.end())
        behind = re.compile(rf"{_BLANKS}{end}").match(text, offset)
        return (behind.end(), [(match["name"], arguments)]) if behind else None

    return read_tags


def read_elements(text: str, match: re.Match[str]) -> tuple[int, list[NamedArguments]] | None:
    """Read a call of MiniMax-M3: each argument is an XML element, a list has `item` elements."""
    end = text.find("]<]minimax[>[</invoke>", match.end())
    xml = text[match.end() : end].replace("]<]minimax[>[", "")
    return (
        (end + len("]<]minimax[>[</invoke>"), [(match["name"], _values(xml))]) if end > 0 else None
    )


def _values(xml: str) -> dict[str, object]:
    """Return tag -> value of each XML element: a text, a dict, or a list of `<item>` elements."""
    arguments: dict[str, object] = {}
    for match in re.finditer(r"<([\w-]+)>(.*?)</\1>", xml, re.DOTALL):
        inner: object = _values(match[2]) or match[2]
        if isinstance(inner, dict) and list(inner) == ["item"]:
            inner = re.findall(r"<item>(.*?)</item>", match[2], re.DOTALL)
        arguments[match[1]] = inner
    return arguments


def python_reader(close: str) -> Reader:
    """Return a reader of calls in Python (`f(a=1)`), or in JSON if none is there. `close`: the mark
    behind the calls; if it is empty, they end where `_python_end` says.
    """

    def read(text: str, match: re.Match[str]) -> tuple[int, list[NamedArguments]] | None:
        end = text.find(close, match.end()) if close else _python_end(text, match.end())
        body = text[match.end() : max(0, end)].strip()
        values = [node.value for node in ast.parse(body).body if isinstance(node, ast.Expr)]
        nodes = [each for node in values for each in getattr(node, "elts", [node])]
        called = [_python_call(node) for node in nodes if isinstance(node, ast.Call)]
        return (end, called) if called else objects_reader()(text, match)

    return read


def _python_end(text: str, begin: int) -> int:
    """Return the offset behind the longest valid Python that begins at `begin` and ends in `)` or
    `]`; the offset of the text's end if there is none.
    """
    for end in reversed([match.end() for match in re.finditer(r"[)\]]", text[begin:])]):
        try:
            ast.parse(text[begin : begin + end].strip())
        except _UNREADABLE:
            continue
        return begin + end
    return len(text)


def _python_call(node: ast.Call) -> NamedArguments:
    """Return name and arguments of a parsed call; a value that is no literal raises ValueError."""
    arguments = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    return ast.unparse(node.func).removesuffix(".call"), arguments


def gemma_reader(quote: str, close: str) -> Reader:
    """Return a reader of a call's arguments in Gemma's syntax (`{city:<|"|>Oslo<|"|>}`) up to the
    mark `close`. `quote`: the mark at both ends of a string.
    """

    def read(text: str, match: re.Match[str]) -> tuple[int, list[NamedArguments]] | None:
        end = text.find(close, match.end())
        parts = text[match.end() : max(0, end)].split(quote)
        bare = [re.sub(r"([\w-]+)\s*:", r'"\1":', part) for part in parts[::2]]
        strings = [json.dumps(part, ensure_ascii=False) for part in parts[1::2]]
        arguments = json.loads("".join(map("".join, zip(bare, [*strings, ""], strict=True))))
        return end, [(match["name"], arguments)]

    return read


def gemma_calls_reader(quote: str) -> Reader:
    """Return a reader of `call:f{...}call:g{...}`. `quote`: the mark at both ends of a string."""

    def read(text: str, match: re.Match[str]) -> tuple[int, list[NamedArguments]] | None:
        named = list[NamedArguments]()
        for call in re.split(r"\s*call:(?=[\w.-]+\{)", text[match.start() :])[1:]:
            begun = re.match(r"(?P<name>[\w.-]+)(?=\{)", call)
            one = gemma_reader(quote, "$")(f"{call.rstrip()}$", begun) if begun else None
            if not one:
                return None
            named += one[1]
        return len(text), named

    return read


def headers_reader(begin: str) -> Reader:
    """Return a reader of calls, one after another: each is a header (tokens with a tool's name),
    which the pattern `begin` fits, and JSON behind it.
    """

    def read(text: str, match: re.Match[str]) -> tuple[int, list[NamedArguments]]:
        offset, named = match.end(), list[NamedArguments]()
        while begun := re.compile(begin).match(text, offset):
            arguments, offset = _DECODER.raw_decode(text, begun.end())
            named.append((begun["name"], arguments))
        return offset, named

    return read
