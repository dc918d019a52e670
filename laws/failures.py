"""`compare` raises BrokenLawError at the first fault of a reply; `Broken` reports a broken law."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

_AROUND = 60  # how many characters the error shows before and behind the first difference
_NOTHING = "(nothing)"  # stands for a missing event, if one list is shorter
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""The pattern of the end of a frame, two equal line ends: `\\n\\n`, but not `\\n\\r\\n`."""


class BrokenLawError(AssertionError):
    """Raised if a reply breaks a law. `variant`: the client and the case (`Anthropic client, whole,
    byte by byte`). `difference`: the first difference between the expected and the received events,
    or any other fault.
    """

    def __init__(self, variant: str, difference: str) -> None:
        super().__init__(f"{variant}: {difference}")
        self.variant = variant
        self.difference = difference


@dataclass(frozen=True)
class Broken:
    """A law that a recording breaks, as it is reported to people."""

    recording: str  # the recording's name
    law: str  # the law's number and title: `law 4 nothing lost`
    variant: str  # the client and the case, as in BrokenLawError
    difference: str  # the first difference, as in BrokenLawError

    def message(self, command: str) -> str:
        """Return the message for a person, with the command to run next as its last line."""
        return f"{self.recording} breaks {self.law}\n{self.variant}: {self.difference}\n{command}"


def compare(variant: str, expected: Sequence[object], got: Sequence[object]) -> None:
    """Raise BrokenLawError with the first event in which `got` differs from `expected`, if any."""
    for index, pair in enumerate(zip_longest(expected, got, fillvalue=_NOTHING)):
        if pair[0] != pair[1]:
            wanted, came = map(_text_of_event, pair)
            letters = enumerate(zip(wanted, came, strict=False))
            offset = next((at for at, (letter, other) in letters if letter != other), 0)
            raise BrokenLawError(
                variant,
                f"event {index}\n"
                f"  expected: {_around(wanted, offset)}\n"
                f"  got:      {_around(came, offset)}",
            )


def compare_bytes(variant: str, expected: bytes, got: bytes) -> None:
    """Raise BrokenLawError if two bodies differ. The error shows the first frame or JSON value that
    differs; if none does, the first 200 bytes of both bodies.
    """
    if expected != got:
        compare(variant, events_of(expected), events_of(got))
        raise BrokenLawError(
            variant,
            f"the same values, other bytes\n"
            f"  expected: {expected[:200]!r}\n"
            f"  got:      {got[:200]!r}",
        )


def events_of(body: bytes) -> list[str]:
    """Return lines to compare: of JSON `path: value` for each innermost value, else the frames."""
    try:
        return list(_lines(json.loads(body), ""))
    except (ValueError, RecursionError):
        return [frame.decode(errors="replace") for frame in _BLANK_LINE.split(body)]


def _lines(value: object, path: str) -> list[str]:
    """Return a line (`choices[0].index: 0`) for each innermost value. `path`: of `value` itself."""
    inner: dict[str, object] = {}
    if isinstance(value, dict):
        inner = {f"{path}.{name}" if path else name: field for name, field in value.items()}
    elif isinstance(value, list):
        inner = {f"{path}[{index}]": item for index, item in enumerate(value)}
    if not inner:
        return [f"{path}: {json.dumps(value, ensure_ascii=False)}"]
    return [line for inner_path, item in inner.items() for line in _lines(item, inner_path)]


def _text_of_event(event: object) -> str:
    """Return an event as text for the error; of a tuple, its members with blanks between them."""
    if isinstance(event, tuple):
        return " ".join(map(_text_of_part, event))
    return event if isinstance(event, str) else repr(event)


def _text_of_part(part: object) -> str:
    """Return a member of an event as text; a dict as JSON with sorted keys."""
    if isinstance(part, dict):
        return json.dumps(part, sort_keys=True, ensure_ascii=False, default=repr)
    return part if isinstance(part, str) and part.isidentifier() else repr(part)


def _around(text: str, offset: int) -> str:
    """Return up to `_AROUND` characters before and behind `offset`, in one line."""
    begin, end = max(0, offset - _AROUND), offset + _AROUND
    cut = ("..." if begin else "") + text[begin:end] + ("..." if end < len(text) else "")
    return cut.replace("\r", "\\r").replace("\n", "\\n")
