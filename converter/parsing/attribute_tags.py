"""Tags with attributes, found as far as they have come: `<thinking thought="..." ...>`."""

import re

from converter.parsing.mark_search import Mark
from converter.parsing.thought import NAME
from converter.wire.bounds import ATTRIBUTE_LIMIT

_ATTRIBUTE = rf"""\s++{NAME}\s*+=\s*+(?:"[^"]*+"|'[^']*+')"""
_ATTRIBUTES = re.compile(
    rf"""(?:{_ATTRIBUTE})*+(?:\s*+(?P<end>/?>)"""
    rf"""|(?:\s++{NAME}\s*+(?:=\s*+(?:"[^"]*+|'[^']*+)?)?|\s*+/?)\Z)"""
)
ENDS = {">": Mark.WITH_ATTRIBUTES, "/>": Mark.WHOLE}
"""The effect of a tag by its end."""


def attribute_tag(buffer: str, begin: int, end: int) -> re.Match[str] | None:
    """Return the tag whose opener is `begin:end`, without `end` while it may go on; None: it is no
    such tag.
    """
    return _ATTRIBUTES.match(buffer, end - 1, begin + ATTRIBUTE_LIMIT)
