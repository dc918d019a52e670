"""Makes text and JSON of models safe and short enough to be shown to people: `visible` keeps the
lines of a text, `one_line` and `bounded` make one line of it, `in_json` writes a value as JSON.

Characters that act on a terminal are replaced by visible signs, and base64 by its size.
"""

import json
import re

ACTING = re.compile(
    # Control characters of ASCII and Latin-1, except TAB and LF.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    # Characters that reverse the direction of text or end a line, so that it looks different.
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    # Lone surrogates, which UTF-8 does not allow, and three characters that YAML does not allow.
    "\ud800-\udfff\ufeff\ufffe\uffff]"
    # But not the CR of CRLF. (At any other CR, a terminal writes over the line.) The pattern looks
    # at a character again after the set has matched it: five times as fast as alternatives (`|`).
    "(?:(?<!\r)|(?!\n))"
)
"""The pattern of a character that acts on a terminal, that people cannot see, or that UTF-8 or YAML
does not allow.
"""
_DELETE = 0x7F
"""The code of DEL, the last character of ASCII and a control character."""
_DATA_URL = re.compile(r"data:([\w.+/-]{0,80});base64,([A-Za-z0-9+/=_-]{200,})")
"""The pattern of a data URL with at least 200 characters of base64. Its groups are the media type
and the base64.
"""
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{1000,}+")
"""The pattern of 1,000 or more characters of base64 in a row. Without its look-behind, `re` would
try again at each character of a shorter row, which takes quadratic time.
"""

_SHORT_TEXT = 72
"""The most characters of a string that is shown on one line."""
_SHORT_JSON = 400
"""A value that is no string is shown on one line if its JSON has at most so many characters."""
_LONGEST_READ = 500_000
"""Only JSON with at most so many characters is shown with indents. To indent some millions would
take a second.
"""


def visible(text: str) -> str:
    """Return the text with visible signs in place of the characters of `ACTING`: `␛` for ESC,
    `\\u202e` for U+202E. CRLF becomes LF.
    """
    return ACTING.sub(_visible_sign, text).replace("\r\n", "\n")


def one_line(text: str) -> str:
    """Return the text on one line: as `visible` returns it, with `␊` in place of LF and `␉` in
    place of TAB.
    """
    return visible(text).replace("\n", "␊").replace("\t", "␉")


def encodable(value: object) -> str:
    """Return the text of a value, `str(value)`, so that UTF-8 can express it: `?` stands in place
    of each half of a surrogate pair.
    """
    return str(value).encode(errors="replace").decode()


def shortened(text: str, longest: int) -> str:
    """Return the text. If it has more than `longest` characters, return its beginning and an
    ellipsis, together `longest` characters.
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def bounded(text: str, longest: int) -> str:
    """Return the text for a log or a comment: on one line, with visible signs (`visible`), one
    blank between words, and at most `longest` characters.
    """
    return shortened(one_line(" ".join(text.split())), longest)


def without_data(text: str) -> str:
    """Return the text with the size in place of the base64 in each data URL that has much of it
    (`_DATA_URL`): `data:image/png;base64,[12.3 kB]`.
    """
    return _DATA_URL.sub(_cut_url, text) if ";base64," in text else text


def without_base64(text: str) -> str:
    """Return the text with the size in place of long base64: in data URLs as in `without_data`,
    elsewhere as `[base64, 12.3 kB]`.
    """
    return _BASE64.sub(lambda match: f"[base64, {in_bytes(size_of(match[0]))}]", without_data(text))


def size_of(base64: str) -> int:
    """Return the number of bytes that a text in base64 encodes."""
    return max(0, len(base64) * 3 // 4 - base64[-2:].count("="))


def trimmed(text: str) -> str:
    """Return the text without the line ends at its beginning and end, because models write blank
    lines around their thoughts.
    """
    return text.strip("\r\n")


def laid_out(arguments: str) -> str:
    """Return the JSON text `arguments` with line breaks and indents. Return it unchanged if it is
    not JSON, is longer than `_LONGEST_READ`, or has an object with the same key twice.
    """
    try:
        return json.dumps(_parsed(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments


def object_of(arguments: str) -> dict[str, object] | None:
    """Return the object in the JSON text `arguments`. Return `None` if it is another value or not
    JSON, is longer than `_LONGEST_READ`, or has an object with the same key twice.
    """
    try:
        value = _parsed(arguments)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def compact(value: object) -> str:
    """Return the JSON of a value on one line, with a blank behind each comma and colon. If JSON
    cannot express the value, return `(nested too deeply to be shown)`.
    """
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError, TypeError):
        return "(nested too deeply to be shown)"


def fits(value: object) -> bool:
    """Return True if a value is short enough to be shown on one line: a short string without line
    ends, or another value whose JSON is short (`_SHORT_TEXT`, `_SHORT_JSON`).
    """
    if isinstance(value, str):
        return len(value) <= _SHORT_TEXT and "\n" not in value
    return len(compact(value)) <= _SHORT_JSON


def in_json(value: object) -> str:
    """Return the JSON of a value: with line breaks and indents for an object or a list that is not
    empty, and not longer than `_LONGEST_READ`; on one line for any other value.
    """
    line = compact(value)
    try:
        holds_others = isinstance(value, (dict, list)) and value and len(line) <= _LONGEST_READ
        return json.dumps(value, ensure_ascii=False, indent=2) if holds_others else line
    except (ValueError, RecursionError, TypeError):
        return line


def json_of(value: object) -> str:
    """Return a call's arguments as JSON text. `value`: a text, which is returned unchanged; or an
    object, whose JSON is returned with line breaks and indents (`in_json`).
    """
    return value if isinstance(value, str) else in_json(value)


def _parsed(text: str) -> object:
    """Return the value of JSON text. Raises ValueError for text that is not JSON, is longer than
    `_LONGEST_READ`, or has an object with the same key twice.
    """
    if len(text) > _LONGEST_READ:
        raise ValueError
    return json.loads(text, object_pairs_hook=_object)


def _visible_sign(match: re.Match[str]) -> str:
    """Return the visible sign for the character that `ACTING` matched: `␛` for ESC."""
    code = ord(match[0])
    if code < ord(" "):
        return chr(0x2400 + code)
    if code == _DELETE:
        return "␡"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _cut_url(match: re.Match[str]) -> str:
    """Return the data URL that `_DATA_URL` matched, with the size in place of its base64."""
    return f"data:{match[1]};base64,[{in_bytes(size_of(match[2]))}]"


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the object with these keys and values. Raises ValueError if a key stands twice."""
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
