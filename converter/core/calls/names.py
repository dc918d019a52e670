"""The name of a tool call, held against the names of the offered tools.

Models and servers dress a name: with marks (`get_weather<|channel|>commentary`), a namespace
(`functions.get_weather:0`, `default_api:get_weather`), quotes, blanks, a call's brackets, or the
same name once more (`get_weatherget_weather`). One rule takes the dress off, for calls in text as
for a server's own: an offered name that is left, and nothing else that says anything beside it.

    offered_name(written, offered) -> the offered name, empty where none is left or several are
    may_become(written, offered) -> whether more characters may make it another offered name
"""

import re
from collections.abc import Collection, Iterator

_MARK = re.compile(
    r"<\|[^<>|]*\|>|<｜[^<>｜]*｜>|</?(?:think|thinking|tool_calls?|function|invoke|parameters?"
    r"|arg_key|arg_value|minimax:tool_call)/?>|\[/?[A-Z_]+\]"
)
"""A special token, or a tag of a call's form. The text between two marks is a part."""
_OPENER = re.compile(r"<(?:function|invoke|tool_call)(?:=|\s+name=)(?P<name>[^<>]*)>?")
"""A tag that holds the name: it counts as its name."""
_HEADERS = re.compile(
    r"(?i:(?:analysis|assistant|call|code|commentary|constrain|final|functions?|json|to|tool"
    r"|tool_call)(?:\s++|\Z))++"
)
"""Words of a header beside a name, which are no part of the name."""
_EDGES = " \t\r\n\"'`*"
"""Characters around a name that are none of it."""
_NUMBER = re.compile(r"[:#]\d+\Z")
"""Behind a name: Kimi's count of calls, `functions.get_weather:0`."""
_COUNTED = re.compile(r"functions_(?P<name>.+?)(?P<count>_\d+)?")
"""A name with Kimi's count, as servers write it that take no dots."""
_SEPARATORS = re.compile(r"::|__|[.:/=]")
"""Between a namespace and a name."""
_LONGEST = 512
"""Characters of a written name that are looked at; the longest offered ones have 64."""


def offered_name(written: str, offered: Collection[str]) -> str:
    """Return the offered name that `written` means, without the marks around it.

    Return an empty text if no offered name is left, if several are, or if other words stand beside
    the name, because they would be lost. A name that is offered as it is written means itself.
    `offered` should find names quickly (a set or a mapping).
    """
    if written in offered:
        return written
    if len(written) > _LONGEST:
        return ""
    bare = _OPENER.sub(lambda match: f"<|x|>{match['name']}<|x|>", written)
    parts = [part for part in (part.strip(_EDGES) for part in _MARK.split(bare)) if part]
    meant = {part: _of_part(part, offered) for part in parts}
    names = {*meant.values()} - {""}
    beside = [part for part, name in meant.items() if not (name or _HEADERS.fullmatch(part))]
    return names.pop() if len(names) == 1 and not beside else ""


def may_become(written: str, offered: Collection[str]) -> bool:
    """Return True if more characters behind `written` may make it another offered name. A name in
    pieces waits for them.
    """
    begun = written.lstrip(_EDGES)
    return any(len(name) > len(begun) and name.startswith(begun) for name in offered)


def _of_part(part: str, offered: Collection[str]) -> str:
    """Return the offered name that one part means."""
    for candidate in _candidates(part):
        if candidate in offered:
            return candidate
        if name := _repeated(candidate, offered):
            return name
    if counted := _COUNTED.fullmatch(part):
        meant = {counted["name"], part.removeprefix("functions_")}
        fitting = [name for name in meant if name in offered]
        return fitting[0] if len(fitting) == 1 else ""
    return _in_namespace(_NUMBER.sub("", part), offered)


def _candidates(part: str) -> Iterator[str]:
    """Yield the part without a count, then the rest behind each namespace."""
    numbered, called = _NUMBER.sub("", part), part.removesuffix("()")
    for bare in dict.fromkeys((part, numbered, called, part.removesuffix(".call"))):
        yield bare
        for separator in _SEPARATORS.finditer(bare):
            yield bare[separator.end() :].strip(_EDGES)
    yield part.rstrip(":,;")


def _repeated(written: str, offered: Collection[str]) -> str:
    """Return the offered name that `written` repeats, without any other text."""
    times = ((name, len(written) // len(name)) for name in offered if name)
    return next((name for name, number in times if number > 1 and name * number == written), "")


def _in_namespace(written: str, offered: Collection[str]) -> str:
    """Return the only offered name that is `written` in a namespace."""
    spaced = ((name, match.end()) for name in offered for match in _SEPARATORS.finditer(name))
    fitting = {name for name, end in spaced if name[end:] == written}
    return fitting.pop() if len(fitting) == 1 else ""
