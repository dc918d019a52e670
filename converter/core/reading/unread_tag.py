"""A tag at a reply's head that speaks of thinking, so that a person can be told which option reads
it.

Only a name with a word of thinking in it counts, because answers in HTML or XML begin with tags as
well.
"""

import re

type Pair = tuple[str, str]

_NAME = r"[A-Za-z][\w:.-]{0,40}"
_OPENER = re.compile(rf"\s*(?P<left><\|?|\[|◁)(?P<name>{_NAME})(?P<right>\|?>|\]|▷)")
_SIDES = {("<", ">"), ("<|", "|>"), ("[", "]"), ("◁", "▷")}
_THINKING = re.compile(
    r"think|thought|reflect|ponder|ruminat|deliberat|scratchpad|monolog|reason(ing)?\Z|\Acot\Z",
    re.IGNORECASE,
)
_ENDS = {"begin": "end", "start": "end", "open": "close"}
"""Words of an opener, and the closer's in their place."""


def pair_at_head(text: str) -> Pair | None:
    """Return the opener that a text begins with, if its name speaks of thinking, and the closer
    that most likely ends it.
    """
    match = _OPENER.match(text)
    if not match or (match["left"], match["right"]) not in _SIDES:
        return None
    if not _THINKING.search(match["name"]):
        return None
    return match[0].lstrip(), _closer(match["left"], match["name"], match["right"])


def _closer(left: str, name: str, right: str) -> str:
    for begin, end in _ENDS.items():
        if match := re.search(begin, name, re.IGNORECASE):
            ended = name[: match.start()] + _cased(end, match[0]) + name[match.end() :]
            return left + ended + right
    return f"{left}/{name}{right}"


def _cased(word: str, like: str) -> str:
    return word.upper() if like.isupper() else word
