"""A search for a tag at the beginning of a reply that no family has, but that seems to begin a
thought. The log then names the option with which the tag can be read.

The tag's name must have a word such as "think" in it, because answers in HTML or XML begin with
tags too.
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
"""word in an opener's name -> the word in its place in the closer's name."""


def tag_at_beginning(text: str) -> Pair | None:
    """Return the tag at the beginning of a text, and the closer that probably belongs to it; `None`
    if there is no tag, or its name has no word of thinking.
    `<|begin_of_thought|>Hm` -> `("<|begin_of_thought|>", "<|end_of_thought|>")`.
    """
    match = _OPENER.match(text)
    if not match or (match["left"], match["right"]) not in _SIDES:
        return None
    if not _THINKING.search(match["name"]):
        return None
    return match[0].lstrip(), _closer_for(match["left"], match["name"], match["right"])


def _closer_for(left: str, name: str, right: str) -> str:
    """Return the closer that probably belongs to the opener `left` + `name` + `right`."""
    for begin, end in _ENDS.items():
        if match := re.search(begin, name, re.IGNORECASE):
            ended = name[: match.start()] + _in_case_of(end, match[0]) + name[match.end() :]
            return left + ended + right
    return f"{left}/{name}{right}"


def _in_case_of(word: str, like: str) -> str:
    """Return `word` in upper case if `like` is in upper case; else unchanged."""
    return word.upper() if like.isupper() else word
