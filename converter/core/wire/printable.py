"""Model text made fit to be shown: nothing in it acts on a terminal, and unreadable data is cut to
a few words.
"""

import json
import re

ACTING = re.compile(
    # control characters, C1 among them
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    # they turn or break lines, so that text reads as it is not
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"  # no UTF-8 has the first, no YAML the others
    "(?:(?<!\r)|(?!\n))"  # a lone CR writes over its line
)
"""One set, and a look behind a CR: five times as fast as branches."""
_DELETE = 0x7F
_DATA_URL = re.compile(r"data:([\w.+/-]{0,80});base64,([A-Za-z0-9+/=_-]{200,})")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{1000,}+")
"""The look-behind keeps the search linear: within a run that is too short nothing is tried again.
"""

_SHORT_TEXT = 72
_SHORT_JSON = 400
_LONGEST_READ = 500_000
"""Characters of JSON that are laid out, because laying out takes a second for some millions."""


def visible(text: str) -> str:
    """Return the text with all that acts on a terminal or a reader spelled out: `␛[2J`, `\\u202e`.
    Lines end with LF.
    """
    return ACTING.sub(_spelled, text).replace("\r\n", "\n")


def one_line(text: str) -> str:
    """Return the text in one line."""
    return visible(text).replace("\n", "␊").replace("\t", "␉")


def encodable(value: object) -> str:
    """Return a text that can be sent, because a name in JSON may hold half a character."""
    return str(value).encode(errors="replace").decode()


def shortened(text: str, longest: int) -> str:
    """Return the text, or its beginning with an ellipsis: at most so many characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def bounded(text: str, longest: int) -> str:
    """Return text that a log or a comment may hold: one line, nothing raw, bounded."""
    return shortened(one_line(" ".join(text.split())), longest)


def without_data(text: str) -> str:
    """Return the text with data URLs cut to a few words."""
    return _DATA_URL.sub(_cut_url, text) if ";base64," in text else text


def without_base64(text: str) -> str:
    """Return raw JSON with long base64 cut to its size."""
    return _BASE64.sub(lambda match: f"[base64, {in_bytes(size_of(match[0]))}]", without_data(text))


def size_of(base64: str) -> int:
    """Return how many bytes stand in so much base64."""
    return max(0, len(base64) * 3 // 4 - base64[-2:].count("="))


def trimmed(text: str) -> str:
    """Return the text without line ends at both ends, because models write blank lines around
    thoughts.
    """
    return text.strip("\r\n")


def laid_out(arguments: str) -> str:
    """Return JSON in lines; text that is no JSON, repeats a name or is too long stays as it is."""
    try:
        return json.dumps(_exactly(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments


def object_of(arguments: str) -> dict[str, object] | None:
    """Return the object that arguments are; None for all that `laid_out` leaves as it came."""
    try:
        value = _exactly(arguments)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def compact(value: object) -> str:
    """Return a value as JSON in one line, with blanks where it can be broken."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError, TypeError):
        return "(nested too deeply to be shown)"


def fits(value: object) -> bool:
    """Return True if a value reads well in one line: a text as it is, any other value as JSON,
    which is broken at blanks where it is shown.
    """
    if isinstance(value, str):
        return len(value) <= _SHORT_TEXT and "\n" not in value
    return len(compact(value)) <= _SHORT_JSON


def in_json(value: object) -> str:
    """Return a value as JSON, indented when it holds others and is of a size that people read."""
    line = compact(value)
    try:
        holds_others = isinstance(value, (dict, list)) and value and len(line) <= _LONGEST_READ
        return json.dumps(value, ensure_ascii=False, indent=2) if holds_others else line
    except (ValueError, RecursionError, TypeError):
        return line


def json_of(value: object) -> str:
    """Return the JSON text of arguments: some send it as a string, some as the object itself."""
    return value if isinstance(value, str) else in_json(value)


def _exactly(text: str) -> object:
    """Return the value of JSON. Raises ValueError where a name is repeated, or the text is too
    long.
    """
    if len(text) > _LONGEST_READ:
        raise ValueError
    return json.loads(text, object_pairs_hook=_object)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < ord(" "):
        return chr(0x2400 + code)
    if code == _DELETE:
        return "␡"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _cut_url(match: re.Match[str]) -> str:
    return f"data:{match[1]};base64,[{in_bytes(size_of(match[2]))}]"


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError
    return value


def in_bytes(count: int) -> str:
    """Return a size for people: `840 B`, `12.3 kB`, `5.0 MB`."""
    for unit, size in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
