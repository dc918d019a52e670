"""Long lines broken for mitmweb's page, which wraps nothing: prose at blanks, code so that no piece
passes for a line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

WIDTH = 72
"""Columns: as many as the page has beside its list, 1280 pixels wide."""
GOES_ON = "~ "
"""What a piece begins with where its line would else be read as two: in code, and where a word had
to be cut.
"""
_PREFIX = re.compile(r"[ ]*+(?:# )?+")
_FENCE = re.compile(r"[ ]*+(?:# )?+[ ]*+(?:```|~~~)")
_BLOCK = re.compile(r"([ ]*+)(.*?): \|2?(?:  #.*)?")
_PROSE = (
    "text",
    "thinking",
    "refusal",
    "system",
    "developer",
    "user",
    "assistant",
    "model",
    "error",
    "document",
    "context",
)
"""Keys whose block is read as prose; all others hold what a tool was given or gave, JSON, or what
could not be read.
"""


def wrapped(written: str) -> str:
    """Return a transcript's text with its long lines broken; pieces begin as their line does, for
    the highlighter.

    An empty line gets a blank, because the page gives no height to one that has nothing in it.
    """
    body = written.removesuffix("\n")
    return "\n".join(_lines(body)) + written[len(body) :] if body else written


def _lines(body: str) -> Iterator[str]:
    place = _LinePlace()
    for line in body.split("\n"):
        place.enter(line)
        if len(line) > WIDTH:
            yield from _pieces(line, place)
        else:
            yield line or " "


@dataclass
class _LinePlace:
    """The place of a line. `inner`: what the lines of its block begin with; `code`: no prose;
    `fenced`: code within prose.
    """

    inner: str = ""
    code: bool = False
    fenced: bool = False

    def enter(self, line: str) -> None:
        """Go on to the next line."""
        if self.inner and line and not line.startswith(self.inner):
            self.inner, self.code, self.fenced = "", False, False
        if not self.inner and line.endswith(":"):
            self.fenced = False  # another thought begins
        if not self.inner and ": |" in line and (block := _BLOCK.fullmatch(line)):
            self.inner, self.code, self.fenced = (
                block[1] + "  ",
                block[2].partition(" ")[0] not in _PROSE,
                False,
            )
        elif ("```" in line or "~~~" in line) and _FENCE.match(line):
            self.fenced = not self.fenced


def _pieces(line: str, place: _LinePlace) -> Iterator[str]:
    """Yield a long line in pieces, broken at blanks; a word is only cut where it is too long."""
    prefix = _PREFIX.match(line)
    begin = prefix.end() if prefix else 0
    lead, code = line[:begin], place.code or place.fenced
    further = lead if place.inner or lead.endswith("# ") else lead + "  "
    while len(line) - begin > (room := max(WIDTH - len(lead), WIDTH // 2)):
        blank = line.rfind(" ", begin + 1, begin + room + 1)
        if line.startswith('":', blank - 2):  # JSON: a name stays with its value
            blank = (line.rfind(", ", begin, blank) + 1) or blank
        end = blank if blank > begin else begin + room
        yield lead + line[begin:end]
        lead = further + (GOES_ON if code or blank <= begin else "")
        begin = end + (blank > begin)
    yield lead + line[begin:]
