"""`head_of` decides by the head of a text whether the text may be a call (`Head`). The head is the
text up to the tool's name and the mark behind it. `Expectations` has the facts about a reply's
calls that are known before it comes, such as the offered tools.

`{"name": "f"` is a complete head of a body in JSON, `<function=f>` of a body with tags. A candidate
begins if its head is complete, or is the beginning of an object in which other keys stand before
the name (`{"arguments": {`). If the head is cut off (`{"na`), more text decides. If no offered tool
has the name in a complete head, the candidate only looks like a call and becomes text. If the text
behind the opener of a call cannot be a head, no candidate begins there.
"""

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass

from converter.core.calls.arguments import ARGUMENT_KEYS
from converter.core.calls.names import offered_name
from converter.core.calls.schema_values import Schemas
from converter.core.reading.families import CLOSERS, behind_closers
from converter.core.reading.mark_search import beginnings
from converter.core.reading.tool_calls.bodies import (
    HEADER,
    NAME_KEYS,
    OTHER_KEYS,
    Header,
    Json,
    Keyed,
    Python,
)
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.wire.bounds import MOST_CALLS

HEADER_LIMIT = 384
"""The most characters of a header (`Header`), which has a name, an id and special tokens. If more
come without its end, the text is no head of a call.
"""
NAME_LIMIT = 256
"""The most characters of a key or name for whose end the reading waits (`Head.WAITING`). No API
allows longer names of tools.
"""


@dataclass(frozen=True, slots=True)
class Expectations:
    """Facts about the calls of a reply that are known before the reply comes."""

    tools: Schemas
    """Name of an offered tool -> the schema of its parameters."""
    id_prefix: str = "call_"
    """The beginning of the id of a call for which the model wrote no id; its number follows."""
    choice: int = 0
    """The index, among the reply's choices, of the choice to which the calls belong."""
    most: int = MOST_CALLS
    """How many calls the reply may have at most."""
    in_sentences: bool = True
    """True if a call in the middle of a sentence counts as soon as it has the closer that its form
    needs. False for the engine that reads thoughts (`ThoughtCalls`): there the text behind the call
    decides (`COUNTED` in `engine.states`).
    """


class Head(enum.IntEnum):
    """The state of a head. If a mark belongs to several forms, the form counts whose head has the
    state that stands first in this list.
    """

    NAMED = enum.auto()
    """The head is complete and has the name of an offered tool."""
    WAITING = enum.auto()
    """The head is not complete: more text is needed."""
    UNNAMED = enum.auto()
    """The head is the beginning of an object without a name so far, such as `{"arguments": {`. The
    name may stand behind the arguments.
    """
    UNOFFERED = enum.auto()
    """The head is complete, but no offered tool has its name, or calls are not read."""
    NONE = enum.auto()
    """The text is not the head of a call."""


_OBJECT = re.compile(r"\s*+(?:\[\s*+)*+\{\s*+")
"""The pattern of the beginning of an object, `{`, or of a list of objects, `[{`."""
_OBJECT_BEGUN = re.compile(r"\s*+(?:\[\s*+)*+\Z")
"""The pattern of text that may become a match of `_OBJECT`: blanks and `[`."""
_KEY = re.compile(
    r"""\s*+,?\s*+(?:"([^"\\]{0,64}+)"|'([^'\\]{0,64}+)'|([A-Za-z_]\w{0,63}+))\s*+:\s*+"""
)
"""The pattern of a key with its colon, and of a comma before it. One of three groups has the key:
between `"`, between `'`, without quotes.
"""
_KEY_BEGUN = re.compile(r"""\s*+,?\s*+(?:["'][^"'\\]{0,64}+["']?\s*+|\w{0,64}+\s*+)?\Z""")
"""The pattern of text that may become a match of `_KEY`: it ends within the key or before the
colon.
"""
_MEMBER = re.compile(r"""\s*+(?:,\s*+)?["'\w}]""")
"""The pattern of the beginning of any further member of an object, or of its closing brace."""
_STRING_OR_WORD = re.compile(r""""((?:[^"\\]|\\.)*+)"|'((?:[^'\\]|\\.)*+)'|[\w.+-]++(?=\s*+[,}])""")
"""The pattern of a complete value: a string, whose content is in one of two groups, or a word or
number with a comma or brace behind it.
"""
CALL = re.compile(r"\s*+([A-Za-z_][\w.-]*+)\s*+\(")
"""The pattern of a call's beginning in Python's syntax, `f(`. Its group is the name."""
_CALL_BEGUN = re.compile(r"\s*+(?:[A-Za-z_][\w.-]*+\s*+)?\Z")
"""The pattern of text that may become a match of `CALL`: a name without `(`."""
_WORD = re.compile(r"\s*+([\w.:/-]++)(\s*+)")
"""The pattern of a bare name, in its first group, and of the blanks behind it."""
_UNOPENED_KEY = re.compile(r"\A\s*+[\w.:/-]++\s*+(?:\w++\s*+)?")
"""The pattern of a bare name and a key of which the model left out the opening mark: `f city`."""
_WORD_BEGUN = re.compile(r"\s*+[\w.:/-]*+\Z")
"""The pattern of blanks, or of a bare name that may go on."""
_TAG = re.compile(r"""(?:"[^"\n]{0,256}+"|'[^'\n]{0,256}+'|[^"'\n<>])*+""")
"""The pattern of the text within a tag. Only quoted text in it may have `<` and `>`."""
_GEMMA = re.compile(r"([^{(\n<]{0,256}+)([{(]?)")
"""The pattern of a name and, in its second group, the bracket behind it: `f{` or `f(`. That group
is empty if the bracket has not come, or other text stands there.
"""
_NO_HEADER = re.compile(r"[^\w\s.:<>|\[\]｜▁`/=-]")
"""The pattern of a character that no header (`Header`) contains."""


def head_of(row: CallRow, text: str, tools: Schemas | None, last: bool = False) -> Head:
    """Return the state of the head with which the body `text` of a possible call begins.

    Args:
        row: the form of the call.
        text: the text from the body's beginning on, as far as it has come.
        tools: name of an offered tool -> the schema of its parameters. `None` if calls are not
            read; then a complete head with a name is UNOFFERED, whatever the name.
        last: True if no more text comes. In most forms an incomplete head is WAITING even then;
            but if calls may have no closer (`Keyed.may_lack_closer`), it is read as if the closer
            had come.
    """
    # The first mark is removed from the text, but not the first bracket of JSON or Python:
    # `_object_head` and `_python_head` read it themselves.
    has_bracket = isinstance(row.body, Json | Python)
    begun = [""] if has_bracket else [it for it in row.body.starts if text.startswith(it)]
    if not begun:
        return Head.WAITING if any(it.startswith(text) for it in row.body.starts) else Head.NONE
    text = text[len(max(begun, key=len)) :]
    head = _head_behind_mark(row, text, tools)
    if head is Head.WAITING and last and isinstance(row.body, Keyed) and row.body.may_lack_closer:
        # A call of this form may have no closer: read the head as if the closer had come.
        return _head_behind_mark(row, text + row.body.body_closers[0], tools)
    return head


def _head_behind_mark(row: CallRow, text: str, tools: Schemas | None) -> Head:
    """Return the state of a head. `text`: the head as far as it has come, without its first mark
    (`<function=`, one of the body's `starts`).
    """
    match row.body:
        case Json() as body:
            return _object_head(text, tools, body.only_call_keys, body.name_is_key)
        case Header() as body:
            return _header_head(row, body, text, tools)
        case Keyed() as body:
            return _keyed_head(row, body, text, tools)
        case Python() as body:
            return _python_head(body, text, tools)
    name, bracket = _GEMMA.findall(text)[0]
    if bracket:
        return _named_head(name, tools)
    return Head.WAITING if len(name) == len(text) else Head.NONE


def _named_head(written: str, tools: Schemas | None) -> Head:
    """Return the state of a complete head: NAMED if its name means an offered tool, else UNOFFERED.
    If calls are not read (`tools` is None), return NONE for an empty name, else UNOFFERED.

    `written`: the name as the model wrote it.
    """
    if tools is None:
        return Head.UNOFFERED if written else Head.NONE
    return Head.NAMED if offered_name(written, tools) else Head.UNOFFERED


def _object_head(text: str, tools: Schemas | None, strict: bool, name_is_key: bool = False) -> Head:
    """Return the state of a head that is the beginning of a JSON object, or of a list of objects.
    `strict`: True if the object may have no keys but those of a call, such as `name` and
    `arguments` (`Json.only_call_keys`). `name_is_key`: True if its key is the tool's name
    (`Json.name_is_key`).
    """
    match = _OBJECT.match(text)
    if not match:
        return Head.WAITING if _OBJECT_BEGUN.match(text) else Head.NONE
    offset, other = match.end(), Head.NONE if strict else Head.UNNAMED
    while key := _KEY.match(text, offset):
        name, offset = key[1] or key[2] or key[3] or "", key.end()
        if name_is_key:
            return _named_head(name, tools)
        if name in NAME_KEYS and text[offset : offset + 1] == "{":
            # `{"function": {"name": "f"}}`, as in chat completions: look for the name in the inner
            # object.
            offset += 1
        elif name in (*NAME_KEYS, *OTHER_KEYS) and (value := _STRING_OR_WORD.match(text, offset)):
            if name in NAME_KEYS:
                return _named_head(value[1] or value[2] or "", tools)
            offset = value.end()
        else:
            return _member_head(name, text[offset:], other)
    if _KEY_BEGUN.match(text, offset):
        return Head.WAITING
    return other if _MEMBER.match(text, offset) else Head.NONE


def _member_head(key: str, value: str, other: Head) -> Head:
    """Return the state of a head whose object has no complete name before the value of `key`.

    - `{"name": "ge`: WAITING, because the rest of the name may come.
    - `{"arguments": {`: UNNAMED, because the object is a call, and its name may stand behind the
      arguments.
    - `{"city": "Os`: the state `other`, because any object may have this key.

    `value`: the text behind the key and its colon, as far as it has come. `other`: NONE if the form
    is strict, so that a call has no such key; else UNNAMED.
    """
    if key in NAME_KEYS or key in OTHER_KEYS:
        begins = value[:1] in ("", '"', "'") or key in OTHER_KEYS
        return Head.WAITING if begins and len(value) < NAME_LIMIT else other
    return Head.UNNAMED if key in ARGUMENT_KEYS else other


def _header_head(row: CallRow, body: Header, text: str, tools: Schemas | None) -> Head:
    """Return the state of a head that is a header with the name (`Header`): `f<|message|>`."""
    # In a form without an opener and a first mark, `f[ARGS]{`, any word of a sentence could begin a
    # header. Therefore only an offered name with `[` behind it begins one.
    if not row.opens and "" in body.starts and tools is not None:
        name, bracket, _ = text.partition("[")
        if name not in tools or not bracket:
            begun = not bracket and any(tool.startswith(name) for tool in tools)
            return Head.WAITING if begun else Head.NONE
    ends = [offset for end in ("{", *row.ends) if (offset := text.find(end)) >= 0]
    header = text[: min(ends, default=len(text))]
    if ends:
        name = body.name_in(header, alone=not text.startswith("{", len(header)))
        return _named_head(name, tools) if name else Head.NONE
    unfit = _NO_HEADER.search(header) or len(header) > HEADER_LIMIT
    return Head.NONE if unfit else Head.WAITING


def _head_by_marks(marks: Sequence[str], text: str, offset: int) -> Head:
    """Return the state of a head in which one of `marks` must stand at `offset`, or behind blanks
    and closers of thoughts there: NAMED if the mark stands there, WAITING if the text ends with the
    beginning of such a mark, else NONE.
    """
    offset = behind_closers(text, offset)
    if text.startswith(tuple(marks), offset):
        return Head.NAMED
    return Head.WAITING if text[offset:] in beginnings(*marks, *CLOSERS) else Head.NONE


def _keyed_head(row: CallRow, body: Keyed, text: str, tools: Schemas | None) -> Head:
    """Return the state of a head of a body with keys and values: `<function=f>` or the bare name
    `f`, with the first key or a closer behind it.
    """
    # MiniMax-M3 may leave out the `<` before a key. `stem` is the mark before a key without `<`.
    keys = (body.stem,) if body.nested_values else body.key_openers
    nexts = tuple(filter(None, (*keys, *body.body_closers, "{", *row.ends)))
    if body.bare:
        nexts = (*nexts, *body.value_closers, body.name_separator)
        return _bare_name_head(body, text, tools, nexts)
    written = _TAG.match(text, 0, 2 * NAME_LIMIT)
    tag = written[0] if written else ""
    end = len(tag)
    if not text.startswith(body.key_closer, end):
        begun = body.key_closer.startswith(text[end:]) or text[end : end + 1] in ("'", '"')
        return Head.WAITING if begun and len(tag) < 2 * NAME_LIMIT else Head.NONE
    match = HEADER.fullmatch(tag)
    goes_on = _head_by_marks(nexts, text, end + len(body.key_closer))
    if not match or goes_on is not Head.NAMED:
        return goes_on if match else Head.NONE
    return _named_head(match[1], tools)


def _bare_name_head(body: Keyed, text: str, tools: Schemas | None, nexts: Sequence[str]) -> Head:
    """Decide whether `text` begins with a bare name and one of the marks `nexts`; return the
    `Head`. The mark before the first key may be missing: `f city</arg_key>`.
    """
    match = _WORD.match(text)
    if not match or match.end() == len(text):
        waits = _WORD_BEGUN.match(text.rstrip()) and len(text) <= NAME_LIMIT
        return Head.WAITING if waits else Head.NONE
    goes_on = _head_by_marks([*filter(None, nexts)], text, match.end())
    if goes_on is Head.NAMED:
        return _named_head(match[1], tools)
    if goes_on is Head.NONE and any(match[1].startswith(tool) for tool in tools or ()):
        # In `f city</arg_key>` or `fcity</arg_key>` the model left out the mark `<arg_key>` before
        # the first key.
        behind = _UNOPENED_KEY.sub("", text, count=1)
        if behind.startswith(body.key_closer):
            return Head.NAMED
        if body.key_closer.startswith(behind):
            return Head.WAITING
    return goes_on


def _python_head(body: Python, text: str, tools: Schemas | None) -> Head:
    """Return the state of a head in Python's syntax, `[f(` or `f(`, or of the beginning of JSON
    objects, which models write in such forms too.
    """
    inner = text.lstrip()
    if "[" in body.starts:
        if not inner.startswith(tuple(body.starts)):
            return Head.NONE if inner else Head.WAITING
        inner = inner.removeprefix("[").lstrip()
    elif inner.startswith("["):
        inner = inner[1:].lstrip()
    if inner.startswith("{"):
        return _object_head(inner, tools, body.object_body.only_call_keys)
    if match := CALL.match(inner):
        return _named_head(match[1], tools)
    waits = _CALL_BEGUN.match(inner) and len(inner) <= NAME_LIMIT
    return Head.WAITING if waits else Head.NONE
