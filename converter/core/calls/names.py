"""Find the offered tool that a call's name means, however a model or a server writes the name.

Models and servers write more than the name: marks (`get_weather<|channel|>commentary`), a namespace
(`functions.get_weather:0`, `default_api:get_weather`), quotes, blanks, brackets, or the name twice
(`get_weatherget_weather`). One rule holds for calls in text and for a server's own calls: all this
is removed, and what remains must be one offered name and no other word. A namespace may also be
missing: `get_weather` means the offered `weather.get_weather`, if no other name ends with it.

    offered_name("functions.get_weather:0", offered) -> "get_weather"
    offered_name("rain", offered) -> ""
    may_become("get", offered) -> True, if "get_weather" is offered
"""

import re
from collections.abc import Collection, Iterator

_MARK = re.compile(
    r"<\|[^<>|]*\|>|<｜[^<>｜]*｜>|</?(?:think|thinking|tool_calls?|function|invoke|parameters?"
    r"|arg_key|arg_value|minimax:tool_call)/?>|\[/?[A-Z_]+\]"
)
"""The pattern of a mark at which a written name is split into parts: a special token
(`<|channel|>`), a tag of call syntax or of a thought, or a word such as `[TOOL_CALLS]`.
"""
_OPENER = re.compile(r"<(?:function|invoke|tool_call)(?:=|\s+name=)(?P<name>[^<>]*)>?")
"""The pattern of a tag that contains a name: `<function=get_weather>`. `offered_name` replaces the
tag by the name alone.
"""
_HEADER_WORDS = re.compile(
    r"(?i:(?:analysis|assistant|call|code|commentary|constrain|final|functions?|json|to|tool"
    r"|tool_call)(?:\s++|\Z))++"
)
"""Words of a Harmony header that may stand beside a name and are no part of it: `commentary`."""
_EDGES = " \t\r\n\"'`*"
"""Characters that are removed at both ends of each part of a written name (see `_MARK`)."""
_NUMBER = re.compile(r"[:#]\d+\Z")
"""The number that Kimi models write behind a name: `:0` of `functions.get_weather:0`."""
_UNDERSCORED = re.compile(r"functions_(?P<name>.+?)(?P<count>_\d+)?")
"""A Kimi model's name from servers that allow no dots in names: `functions_get_weather_0`."""
_SEPARATORS = re.compile(r"::|__|[.:/=]")
"""Separators between a namespace and a name, as in `default_api:get_weather`."""
_LONGEST = 512
"""A written name of more characters means no tool, unless exactly this name is offered. The APIs
allow no names of this length.
"""


def offered_name(written: str, offered: Collection[str]) -> str:
    """Return the offered name that `written` means; empty if it means none.

    An offered name means itself. Any other text is split into parts at marks (`<|channel|>`). It
    means an offered name if one part means this name (`_name_in_part`), and each other part means
    it too or has only words of a header (`commentary`). With any other word in a part it means
    none, because that word would be lost. A text of more than `_LONGEST` characters means none.

    `offered` should be a set or a mapping, because it is searched often.
    """
    if written in offered:
        return written
    if len(written) > _LONGEST:
        return ""
    bare = _OPENER.sub(lambda match: f"<|x|>{match['name']}<|x|>", written)
    parts = [part for part in (part.strip(_EDGES) for part in _MARK.split(bare)) if part]
    meant = {part: _name_in_part(part, offered) for part in parts}
    names = {*meant.values()} - {""}
    beside = [part for part, name in meant.items() if not (name or _HEADER_WORDS.fullmatch(part))]
    return names.pop() if len(names) == 1 and not beside else ""


def may_become(written: str, offered: Collection[str]) -> bool:
    """Return True if an offered name begins with `written` and is longer.

    Then further characters may turn `written` into that name. Blanks and quotes before the name in
    `written` do not count.
    """
    begun = written.lstrip(_EDGES)
    return any(len(name) > len(begun) and name.startswith(begun) for name in offered)


def _name_in_part(part: str, offered: Collection[str]) -> str:
    """Return the offered name that one part of a written name means; empty if it means none."""
    for candidate in _candidates(part):
        if candidate in offered:
            return candidate
        # The offered name may be repeated: `get_weatherget_weather`.
        repeated = (name for name in offered if name and not candidate.replace(name, ""))
        if candidate and (name := next(repeated, "")):
            return name
    if counted := _UNDERSCORED.fullmatch(part):
        meant = {counted["name"], part.removeprefix("functions_")}
        fitting = [name for name in meant if name in offered]
        return fitting[0] if len(fitting) == 1 else ""
    # A model may leave out the namespace: `get_weather` means the offered `weather.get_weather`, if
    # no other offered name ends with it.
    bare = _NUMBER.sub("", part)
    spaced = ((name, match.end()) for name in offered for match in _SEPARATORS.finditer(name))
    ending = {name for name, end in spaced if name[end:] == bare}
    return ending.pop() if len(ending) == 1 else ""


def _candidates(part: str) -> Iterator[str]:
    """Yield the texts in a part that may be an offered name.

    `a.f:0` -> `a.f:0`, `f:0`, `0`, `a.f`, `f`: the part with and without its number, `()` or
    `.call`, and of each of these the text behind every separator; last the part without colons,
    commas and semicolons at its end.
    """
    numbered, called = _NUMBER.sub("", part), part.removesuffix("()")
    for bare in dict.fromkeys((part, numbered, called, part.removesuffix(".call"))):
        yield bare
        for separator in _SEPARATORS.finditer(bare):
            yield bare[separator.end() :].strip(_EDGES)
    yield part.rstrip(":,;")
