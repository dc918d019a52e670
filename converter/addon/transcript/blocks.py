"""A request's turns as people read them, of any dialect, never raising.

Messages, items of an input or reply, and blocks of a content are read part by part by the readers
of the dialects' requests, all in one table. An object without a reader is shown as it came, and
fields that a reader passed over are shown beside its parts, so nothing is lost on odd data.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial

from converter.addon.transcript.turns import Field, Media, Part, Raw, ShownTurn
from converter.core.dialects.reasoning_fields import is_said, thoughts_of, words_of
from converter.core.dialects.table import block_readers
from converter.core.model.conversation import (
    Block,
    Data,
    Document,
    Image,
    Linked,
    RedactedThinking,
    RequestError,
    Sound,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from converter.core.wire.checked import Fields
from converter.core.wire.printable import in_json, size_of

type Split = Callable[[str], list[Part]]
type Reader = Callable[[Fields], Iterable[Part]]

READERS = block_readers()
SERVICE = frozenset({"type", "cache_control", "signature", "index"})
"""Fields that steer a server and say nothing to a person."""
_DEPTH = 8
"""A tool result holds documents, which hold blocks; nothing is known to nest deeper."""
_LONGEST_ROLE = 200
_THINKERS, _RESULTS = ("assistant", "model"), ("tool", "function")
"""Roles of the model's own messages, and of its tools'."""
_ASSISTANT, _TOOL, _UNKNOWN = "assistant", "tool", "?"
_HEAD = frozenset({"id", "status"})
"""Fields of every item that say nothing to a person."""
_GIVEN = ("arguments", "input", "action", "operation", "code", "queries")
"""Where a call holds its arguments, by the kind of call."""
_NAMES = ("server_label", "namespace", "name")
"""The names in a call: the tool's source, and the tool."""


def parts_of(content: object, depth: int = _DEPTH) -> list[Part]:
    """Return the parts of a content: a string, a list of blocks, or anything in its place. `depth`:
    the levels that are read, one in the other.
    """
    if not isinstance(content, list) or not depth:
        return _odd(content)
    return [
        part
        for block in content
        for part in (part_of(block, depth) if isinstance(block, dict) else _odd(block))
    ]


def part_of(block: object, depth: int = _DEPTH) -> list[Part]:
    """Return the parts of one block."""
    return _told(block, partial(_block, depth=depth))


def _told(value: object, read: Reader, silent: Set[str] = frozenset()) -> list[Part]:
    """Return the parts of an object, and its unread fields that are not `silent`. An object of
    another shape than its reader expects is shown as it came.
    """
    try:
        fields = Fields(value)
        parts = list(read(fields))
    except (RequestError, RecursionError):
        return [Raw(in_json(value))]
    for name, left_over in fields.unread():
        if name not in SERVICE | silent and is_said(left_over):
            parts.append(Field(name, left_over))
    return parts


def plain(parts: list[Part]) -> str:
    """Return the parts of a tool result as one text, pictures as a line."""
    return "\n".join(_words(part) for part in parts)


def json_of(value: object) -> str:
    """Return the JSON text of arguments: some send it as a string, some as the object itself."""
    return value if isinstance(value, str) else in_json(value)


def _odd(value: object) -> list[Part]:
    if isinstance(value, str):
        return [TextBlock(value)]
    return [] if value is None else [Raw(in_json(value))]


def _block(block: Fields, depth: int) -> Iterator[Part]:
    kind = str(block.values.get("type") or "")
    if kind.endswith("tool_result"):
        yield _result(block, "tool_use_id", depth=depth - 1)
    elif kind.endswith("tool_use"):
        block.value("caller")
        yield _call(block, block)
    elif kind == "thinking":
        yield _thinking(block)
    elif kind in READERS:
        place = kind if kind == "refusal" else ""
        yield from _shown(READERS[kind](block), block, place)
    else:
        raise block.error("type", "Not known")


def _call(call: Fields, inner: Fields, otherwise: str = "") -> ToolUse:
    """Read a call of any dialect. `inner`: holds its name and arguments; `otherwise`: names a call
    that has no name.
    """
    names = [name for field in _NAMES if (name := inner.optional(field, str))]
    place = next((name for name in _GIVEN if inner.values.get(name) is not None), "")
    own, called = (call.optional(field, str) for field in ("id", "call_id"))
    given = json_of(inner.value(place)) if place else ""
    return ToolUse(called or own or "", ".".join(names) or otherwise, given)


def _result(result: Fields, call: str, content: str = "content", depth: int = _DEPTH) -> ToolResult:
    """Read a tool's result of any dialect. `call` and `content`: the names of its fields."""
    given = result.value(content)
    text = plain(parts_of([given] if isinstance(given, dict) else given, depth))
    id_, name = (result.optional(field, str) or "" for field in (call, "name"))
    failed = result.optional("is_error", bool) or result.values.get("status") == "failed"
    return ToolResult(id_, (TextBlock(text),), is_error=failed, name=name)


def _thinking(block: Fields) -> ThinkingBlock:
    value = block.value("thinking")
    words = words_of(value)
    if value and not words:
        raise block.error("thinking", "Input should be text")
    block.value("closed")  # Mistral's
    return ThinkingBlock(words)


def _shown(read: Block, block: Fields, place: str) -> Iterator[Part]:
    """Return the parts that a read block is to a person; `place` is that of its text."""
    match read:
        case TextBlock(text):
            yield TextBlock(text, place)
        case RedactedThinking(data):
            yield ThinkingBlock("", note=f"only its vendor can read it, {size_of(data)} bytes")
        case Image(source):
            yield _media("image", source)
        case Sound(Data(media_type, data)):
            yield Media("audio", media_type.removeprefix("audio/"), size_of(data))
        case Document():
            yield from _document(read, block)


def _media(kind: str, source: Source, title: str = "") -> Media:
    match source:
        case Data(media_type, data):
            return Media(kind, media_type, size_of(data), title=title, data=data)
        case Linked(place):
            return Media(kind, place=place, title=title)
        case stored:
            return Media(kind, place=stored.file_id, title=title)


def _document(read: Document, block: Fields) -> Iterator[Part]:
    kind = block.required("type", str).removeprefix("input_").removesuffix("_url")
    if isinstance(read.content, tuple):
        source = block.value("source")
        form = source if isinstance(source, dict) else {}
        yield Media(kind, str(form.get("media_type") or ""), title=read.title)
        place = "" if form.get("type") == "content" else kind
        for inner in read.content:
            yield from _shown(inner, block, place)
    else:
        yield _media(kind, read.content, read.title)
    if read.context:
        yield TextBlock(read.context, "context")


def _words(part: Part) -> str:
    match part:
        case TextBlock() | Raw() | ThinkingBlock():
            return part.text
        case Media():
            return f"[{part.kind} {part.words}]"
        case Field():
            return f"{part.name}: {json_of(part.value)}"
        case _:
            return str(part)


def _as_it_is(text: str) -> list[Part]:
    return [TextBlock(text)]


def turns_of(given: object, split: Split = _as_it_is) -> list[ShownTurn]:
    """Return the turns of an input: a text, a list of messages and items, or whatever stands in its
    place. `split` sets thinking apart that stands in the text of an assistant, if no field brings
    any.
    """
    if isinstance(given, str):
        return [ShownTurn("user", (TextBlock(given),))]
    turns: list[tuple[str, list[Part]]] = []
    for item in given if isinstance(given, list) else [given] if is_said(given) else []:
        role, parts = _item(item, split)
        if turns and role in (_ASSISTANT, _TOOL) and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        else:
            turns.append((role, parts))
    return [ShownTurn(role, tuple(parts)) for role, parts in turns]


def parts_of_item(item: object) -> list[Part]:
    """Return the parts of one item."""
    return _item(item, _as_it_is)[1]


def _item(item: object, split: Split) -> tuple[str, list[Part]]:
    """Return an item's speaker, and its parts."""
    fields = item if isinstance(item, dict) else {}
    kind, role = str(fields.get("type") or "message"), fields.get("role")
    if kind == "message" and isinstance(role, str) and 0 < len(role) <= _LONGEST_ROLE:
        return role, _told(item, partial(_message, role=role, split=split), _HEAD)
    speaker, read = next(row for ending, row in _ITEMS.items() if kind.endswith(ending))
    return speaker, _told(item, read, _HEAD)


def _message(message: Fields, role: str, split: Split) -> Iterator[Part]:
    message.value("role")
    if role in _RESULTS:
        yield _result(message, "tool_call_id")
        return
    thoughts = thoughts_of(message.values)
    parts = [
        ThinkingBlock(words) for name, words in thoughts.items() if message.value(name) and words
    ]
    content = parts_of(message.value("content"))
    native = bool(thoughts) or any(isinstance(part, ThinkingBlock) for part in content)
    own = split if role in _THINKERS and not native else _as_it_is
    yield from parts
    for part in content:
        yield from own(part.text) if isinstance(part, TextBlock) and not part.place else [part]
    if refusal := message.value("refusal"):
        yield from part_of({"type": "refusal", "refusal": refusal})
    yield from _calls(message)


def _calls(message: Fields) -> Iterator[Part]:
    calls, legacy = message.value("tool_calls"), message.value("function_call")
    each = calls if isinstance(calls, list) else [calls] if is_said(calls) else []
    for call in [*each, *([{"function": legacy}] if is_said(legacy) else [])]:
        yield from _told(call, _entry)


def _entry(entry: Fields) -> Iterator[Part]:
    yield _call(entry, entry.inner(str(entry.values.get("type") or "function")))


def _thought(item: Fields) -> Iterator[Part]:
    """Read a thought: raw or as a summary; a sealed one only where it has no words."""
    raw, summary, sealed = map(item.value, ("content", "summary", "encrypted_content"))
    words = words_of(raw) or words_of(summary)
    hidden = isinstance(sealed, str) and sealed and not words
    yield ThinkingBlock(words, note=f"sealed, {size_of(sealed)} bytes" if hidden else "")


def _item_call(item: Fields) -> Iterator[Part]:
    yield _call(item, item, str(item.values["type"]).removesuffix("_call"))


def _item_result(item: Fields) -> Iterator[Part]:
    yield _result(item, "call_id", "output")


def _no_reader(item: Fields) -> Iterator[Part]:
    raise item.error("type", "Not known")


_ITEMS: Mapping[str, tuple[str, Reader]] = {
    "reasoning": (_ASSISTANT, _thought),
    "_call": (_ASSISTANT, _item_call),
    "_output": (_TOOL, _item_result),
    "": (_UNKNOWN, _no_reader),
}
"""Readers of items that are no messages, by the ends of their types, and the speakers."""
