"""Tool calls in text once more, as slow and obvious regular expressions over the whole text.

It shares no line with the parser and knows the three forms that most models write, in the variants
they are met in: Hermes' JSON, Qwen3-Coder's function tags, GLM's keys and values.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from converter.parsing.tool_calls.call import Schema

FORMS = ("hermes", "qwen3-coder", "glm")
_CODE = r"(?m:^[ \t>]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t>]*(?P=fence)|\Z))|`[^`\n]+`"
_SECTION, _SECTION_END = r"(?:<tool_calls>\s*)?", r"(?:\s*</tool_calls>)?"
_HERMES = rf"{_SECTION}<tool_call>\s*(?P<json>[\[{{].*?)\s*</tool_call>{_SECTION_END}"
_FUNCTION = (
    r"(?:<tool_call>\s*)?<function=(?P<function>[^>\s]+)>"
    r"(?P<tags>.*?)</function>(?:\s*</tool_call>)?"
)
_PAIRS = (
    rf"{_SECTION}<tool_call>\s*(?P<pairs>[\w.-]+)\s*(?:<tool_sep>\s*)?"
    rf"(?P<keys>(?:<arg_key>.*?</arg_value>\s*)*)</tool_call>{_SECTION_END}"
)
_TEXT = re.compile(rf"{_CODE}|{_HERMES}|{_FUNCTION}|{_PAIRS}", re.DOTALL)
_TAG = re.compile(r"<parameter=([^>]+)>(.*?)</parameter>", re.DOTALL)
_PAIR = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """One call, its place with the blanks around it. `arguments`: strings, in forms of tags."""

    begin: int
    end: int
    name: str
    arguments: Mapping[str, object]


def calls(text: str, tools: Mapping[str, Schema]) -> list[Call]:
    """Return the calls of these tools that stand in the text, outside of code."""
    found: list[Call] = []
    for call in _calls(text):
        if call.name in tools:
            blanks = re.search(r"[\r\n][ \t\r\n]*\Z", text[: call.begin])
            before = blanks.start() if blanks else call.begin
            begin = max(before, found[-1].end if found else 0)
            end = len(text) - len(text[call.end :].lstrip())
            found.append(replace(call, begin=begin, end=end))
    return found


def _calls(text: str) -> Iterator[Call]:
    for found in _TEXT.finditer(text):
        begin, end = found.span()
        if found["json"]:
            for said in _objects(found["json"]):
                yield Call(begin, end, *said)
                begin = end
        elif found["function"]:
            yield Call(begin, end, found["function"], _of_tags(found["tags"]))
        elif found["pairs"]:
            yield Call(begin, end, found["pairs"], dict(_PAIR.findall(found["keys"])))


def _of_tags(written: str) -> Mapping[str, object]:
    """Return the parameters of a function's tag; Llama 3.1 writes them as an object."""
    if written.lstrip().startswith("{"):
        arguments = json.loads(written, strict=False)
        return arguments if isinstance(arguments, dict) else {}
    pairs = _TAG.findall(written)
    return {key: re.sub(r"\A\r?\n|\r?\n\Z", "", value) for key, value in pairs}


def _objects(written: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Return the name and arguments of each object, one after another or in a list."""
    place = 0
    while begun := re.compile(r"[\s,;}]*(?=[\[{])").match(written, place):
        try:
            said, place = json.JSONDecoder(strict=False).raw_decode(written + "}", begun.end())
        except ValueError:
            return
        for entry in said if isinstance(said, list) else [said]:
            yield _named(entry)


def _named(entry: dict[str, object]) -> tuple[str, Mapping[str, object]]:
    inner = entry.get("function")
    said = inner if isinstance(inner, dict) else entry
    arguments = said.get("arguments", {})
    try:
        read = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        read = {}
    return str(said.get("name", "")), read if isinstance(read, dict) else {}


def same(call: Call, name: str, arguments: object) -> bool:
    """Tell whether it is the call that a client got; typed values are compared by their words."""
    if call.name != name or not isinstance(arguments, Mapping):
        return False
    if call.arguments == arguments:
        return True
    words = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in arguments.items()
    }
    return call.arguments == words


def without(text: str, found: list[Call]) -> str:
    """Return the text without these calls."""
    places = [0, *(place for call in found for place in (call.begin, call.end)), len(text)]
    return "".join(text[begin:end] for begin, end in zip(places[::2], places[1::2], strict=True))
