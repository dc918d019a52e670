"""`tag_at_beginning` finds a tag at the beginning of a reply that seems to begin a thought
(`<ponder>`). If no family has the tag, the log names the option with which it can be read.

The tag's name must have a word such as "think" in it, because answers in HTML or XML begin with
tags too.
"""

import re

type Pair = tuple[str, str]

_NAME = r"[A-Za-z][\w:.-]{0,40}"
"""The pattern of the name in a tag."""
_OPENER = re.compile(rf"\s*(?P<left><\|?|\[|◁)(?P<name>{_NAME})(?P<right>\|?>|\]|▷)")
"""The pattern of a tag at the beginning of a text, with its brackets as groups `left`, `right`."""
_BRACKETS = {("<", ">"), ("<|", "|>"), ("[", "]"), ("◁", "▷")}
"""The pairs of opening and closing brackets that belong together in a tag."""
_THINKING_WORD = re.compile(
    r"think|thought|reflect|ponder|ruminat|deliberat|scratchpad|monolog|reason(ing)?\Z|\Acot\Z",
    re.IGNORECASE,
)
"""The pattern of a word in a tag's name that shows that the tag begins a thought."""
_OPPOSITES = {"begin": "end", "start": "end", "open": "close"}
"""word in an opener's name -> the word in its place in the closer's name."""


def tag_at_beginning(text: str) -> Pair | None:
    """Return the tag at the beginning of a text, and the closer that probably belongs to it:
    `<|begin_of_thought|>Hm` -> `("<|begin_of_thought|>", "<|end_of_thought|>")`. Return `None` if
    there is no tag, or if its name has no word such as "think".
    """
    match = _OPENER.match(text)
    if not match or (match["left"], match["right"]) not in _BRACKETS:
        return None
    left, name, right = match.groups()
    if not _THINKING_WORD.search(name):
        return None
    opener, closer = match[0].lstrip(), f"{left}/{name}{right}"
    for begin, end in _OPPOSITES.items():
        if word := re.search(begin, name, re.IGNORECASE):
            in_case = end.upper() if word[0].isupper() else end
            return opener, left + name[: word.start()] + in_case + name[word.end() :] + right
    return opener, closer
