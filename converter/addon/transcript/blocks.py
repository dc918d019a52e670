"""Turn the messages of a request, and blocks and items of a reply, into the turns and parts of a
transcript. `converter.core.dialects.message_walk` reads the blocks of any dialect; each block
becomes one or several parts. No function raises.
"""

from collections.abc import Callable, Iterable, Iterator

from converter.addon.transcript.turns import Field, Media, Part, Raw, ShownTurn
from converter.core.dialects import message_walk
from converter.core.dialects.message_walk import Piece, Unread
from converter.core.model.conversation import (
    Data,
    Document,
    Image,
    Linked,
    MediaSource,
    RedactedThinking,
    Sound,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from converter.core.wire.checked import Fields
from converter.core.wire.printable import in_json, json_of, size_of

type Split = Callable[[str], list[Part]]
"""Cuts an assistant's text into parts of thinking and of text, at the marks of thoughts."""


def parts_of(content: object) -> list[Part]:
    """Return the parts of a message's content. `content`: a string, a list of blocks, or any other
    JSON value.
    """
    return _parts_of_pieces(message_walk.read_content(content))


def part_of(block: object) -> list[Part]:
    """Return the parts of one block of a message's content, in the JSON of any dialect."""
    return _parts_of_pieces(message_walk.read_block(block))


def parts_of_item(item: object) -> list[Part]:
    """Return the parts of one item in the input or output of the Responses API."""
    return _parts_of_pieces(message_walk.read_item(item).pieces)


def turns_of(messages: object, split: Split = lambda text: [TextBlock(text)]) -> list[ShownTurn]:
    """Return the turns of a request. `messages`: the JSON value of its messages or input: a text, a
    list of messages and items, or anything else.

    `split` cuts an assistant's text into thinking and text, at the marks of a thought. It is called
    only for messages that have no thinking in a field. Successive messages of one speaker become
    one turn if `message_walk.JOINED` has the speaker.
    """
    turns: list[tuple[str, list[Part]]] = []
    for item in message_walk.walk_items(messages):
        parts = _parts_of_pieces(item.pieces)
        has_thinking = any(isinstance(part, ThinkingBlock) for part in parts)
        if item.is_message and item.speaker in message_walk.MODEL_ROLES and not has_thinking:
            parts = [
                shown
                for part in parts
                for shown in (
                    split(part.text)
                    if isinstance(part, TextBlock) and not part.stood_in
                    else [part]
                )
            ]
        if turns and item.speaker in message_walk.JOINED and turns[-1][0] == item.speaker:
            turns[-1][1].extend(parts)
        else:
            turns.append((item.speaker, parts))
    return [ShownTurn(role, tuple(parts)) for role, parts in turns]


def text_of_parts(parts: Iterable[Part]) -> str:
    """Return the parts of a tool's result as one text. A picture becomes a line: `[image image/png
    12.3 kB]`.
    """
    return "\n".join(map(_text_of_part, parts))


def _text_of_part(part: Part) -> str:
    """Return one part of a tool's result as text, as `text_of_parts` describes it."""
    match part:
        case TextBlock() | Raw() | ThinkingBlock():
            return part.text
        case Media():
            return f"[{part.kind} {part.line}]"
        case Field():
            return f"{part.name}: {json_of(part.value)}"
        case _:
            return str(part)


def _parts_of_pieces(pieces: Iterable[Piece]) -> list[Part]:
    """Return the parts of several blocks, one after another. `pieces`: the blocks, as
    `message_walk` yields them.
    """
    return [part for piece in pieces for part in _parts_of_piece(piece)]


def _parts_of_piece(piece: Piece) -> Iterator[Part]:
    """Yield the parts of one block: one part; for a document, perhaps several."""
    match piece.block:
        case Unread("", value):
            yield Raw(in_json(value))
        case Unread(name, value):
            yield Field(name, value)
        case ThinkingBlock() | ToolUse() | TextBlock() as block:
            yield block
        case ToolResult(id_, _, failed, name):
            text = text_of_parts(_parts_of_pieces(piece.inner))
            yield ToolResult(id_, (TextBlock(text),), is_error=failed, name=name)
        case RedactedThinking(data):
            yield ThinkingBlock("", note=f"only its vendor can read it, {size_of(data)} bytes")
        case Image() | Sound() as block:
            yield _media_of_block(block)
        case Document() as block:
            yield from _document_parts(block, piece.fields or Fields({}))


def _media_of_block(block: Image | Sound) -> Media:
    """Return a picture or sound as a part."""
    if isinstance(block, Image):
        return _media_of_source("image", block.source)
    source = block.source
    return Media("audio", source.media_type.removeprefix("audio/"), size_of(source.base64))


def _media_of_source(kind: str, source: MediaSource, title: str = "") -> Media:
    """Return a picture or document as a part. `kind`: its kind, such as `image`. `source`: its
    data, its link, or the id of its file.
    """
    match source:
        case Data(media_type, data):
            return Media(kind, media_type, size_of(data), title=title, data=data)
        case Linked(url):
            return Media(kind, address=url, title=title)
        case stored:
            return Media(kind, address=stored.file_id, title=title)


def _document_parts(read: Document, block: Fields) -> Iterator[Part]:
    """Yield the parts of a document: the document, the texts and pictures within it, and the text
    of its field `context`. `block`: the JSON from which the document was read.
    """
    kind = str(block.values.get("type")).removeprefix("input_").removesuffix("_url")
    if isinstance(read.content, tuple):
        source = block.values.get("source")
        form = source if isinstance(source, dict) else {}
        yield Media(kind, str(form.get("media_type") or ""), title=read.title)
        stood_in = "" if form.get("type") == "content" else kind
        for inner in read.content:
            if isinstance(inner, TextBlock):
                yield TextBlock(inner.text, stood_in)
            else:
                yield _media_of_block(inner)
    else:
        yield _media_of_source(kind, read.content, read.title)
    if read.context:
        yield TextBlock(read.context, "context")
