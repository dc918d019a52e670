"""Text of models, made safe and short enough to be shown to people.

Characters that act on a terminal are replaced by visible ones, and base64 by its size.
"""

import json
import re

ACTING = re.compile(
    # Control characters of ASCII and Latin-1, except TAB and LF.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    # Characters that reverse the direction of text or end a line: the text would look different.
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    # Lone surrogates, which UTF-8 does not allow, and three characters that YAML does not allow.
    "\ud800-\udfff\ufeff\ufffe\uffff]"
    # A CR only if no LF follows: it would write over its own line. One set with this look-around is
    # five times as fast as alternatives.
    "(?:(?<!\r)|(?!\n))"
)
"""A character that acts on a terminal, or that a reader of the text would not see."""
_DELETE = 0x7F
_DATA_URL = re.compile(r"data:([\w.+/-]{0,80});base64,([A-Za-z0-9+/=_-]{200,})")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{1000,}+")
"""A long run of base64. Because of the look-behind, `re` does not try again at each character of a
run that is too short, which would take quadratic time.
"""

_SHORT_TEXT = 72
_SHORT_JSON = 400
_LONGEST_READ = 500_000
"""How many characters of JSON are indented. Some millions would take a second."""


def visible(text: str) -> str:
    """Return the text with visible signs in place of the characters of `ACTING`: `␛` for ESC,
    `\\u202e` for U+202E. CRLF becomes LF.
    """
    return ACTING.sub(_spelled, text).replace("\r\n", "\n")


def one_line(text: str) -> str:
    """Return the visible text in one line, with `␊` and `␉` in place of LF and TAB."""
    return visible(text).replace("\n", "␊").replace("\t", "␉")


def encodable(value: object) -> str:
    """Return a value as text that can be encoded: `?` in place of each lone surrogate."""
    return str(value).encode(errors="replace").decode()


def shortened(text: str, longest: int) -> str:
    """Return the text, cut to `longest` characters, the last of which is then an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def bounded(text: str, longest: int) -> str:
    """Return text for a log or a comment: in one line, visible, at most `longest` characters."""
    return shortened(one_line(" ".join(text.split())), longest)


def without_data(text: str) -> str:
    """Return the text with the size in place of the base64 in each data URL."""
    return _DATA_URL.sub(_cut_url, text) if ";base64," in text else text


def without_base64(text: str) -> str:
    """Return JSON text with the size in place of long base64, in data URLs and elsewhere."""
    return _BASE64.sub(lambda match: f"[base64, {in_bytes(size_of(match[0]))}]", without_data(text))


def size_of(base64: str) -> int:
    """Return the number of bytes that base64 stands for."""
    return max(0, len(base64) * 3 // 4 - base64[-2:].count("="))


def trimmed(text: str) -> str:
    """Return the text without the line ends at its beginning and end. Models write blank lines
    around their thoughts.
    """
    return text.strip("\r\n")


def laid_out(arguments: str) -> str:
    """Return JSON text indented. Text stays as it is if it is not JSON, is longer than
    `_LONGEST_READ`, or has an object with one name twice.
    """
    try:
        return json.dumps(_exactly(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments


def object_of(arguments: str) -> dict[str, object] | None:
    """Return the object in JSON text; `None` for other values, and for text that `laid_out` leaves
    as it is.
    """
    try:
        value = _exactly(arguments)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def compact(value: object) -> str:
    """Return a value as JSON in one line, with blanks between its members."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError, TypeError):
        return "(nested too deeply to be shown)"


def fits(value: object) -> bool:
    """Return True if a value is short enough to be shown without indents: a text of one line, or a
    value whose JSON is short.
    """
    if isinstance(value, str):
        return len(value) <= _SHORT_TEXT and "\n" not in value
    return len(compact(value)) <= _SHORT_JSON


def in_json(value: object) -> str:
    """Return a value as JSON. An object or a list is indented if it has members and is not longer
    than `_LONGEST_READ`.
    """
    line = compact(value)
    try:
        holds_others = isinstance(value, (dict, list)) and value and len(line) <= _LONGEST_READ
        return json.dumps(value, ensure_ascii=False, indent=2) if holds_others else line
    except (ValueError, RecursionError, TypeError):
        return line


def json_of(value: object) -> str:
    """Return the JSON text of a call's arguments. `value` is the text itself, or an object."""
    return value if isinstance(value, str) else in_json(value)


def _exactly(text: str) -> object:
    """Return the value of JSON text. Raises ValueError for text that is not JSON or too long, and
    for an object with one name twice.
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
    """Return a number of bytes as text: `840 B`, `12.3 kB`, `5.0 MB`."""
    for unit, size in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
