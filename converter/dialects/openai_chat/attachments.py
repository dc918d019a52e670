"""Images and documents as a chat-completions server can read them."""

from collections.abc import Iterable, Iterator

from converter.model.conversation import Block, Data, Document, Image, Link, Sound, Stored, Text

type Part = Text | Image | Sound
"""A part of a message that a server can be given."""

DETAILS = {"low": "low", "high": "high", "original": "high"}
"""How closely to look at an image, as chat completions word it: "auto" is what goes without saying,
and only the Responses API knows "original".
"""
NOT_READABLE = "[{} was attached, but this server can only be given text and images]"
NOT_REACHABLE = "[{} was attached as a stored file, which this server cannot reach]"


def part_of(block: Part) -> dict[str, object]:
    """Return the part of a message that holds a text, an image or a sound."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Sound(Data(media_type, content)):
            kind = media_type.removeprefix("audio/")
            return {"type": "input_audio", "input_audio": {"data": content, "format": kind}}
        case Image(_, detail):
            said = {"detail": DETAILS[detail]} if detail in DETAILS else {}
            return {"type": "image_url", "image_url": {"url": _url(block), **said}}


def _url(image: Image) -> str:
    match image.source:
        case Data(media_type, content):
            return f"data:{media_type};base64,{content}"
        case Link(place) | Stored(place):
            return place


def readable(blocks: Iterable[Block], links: bool) -> Iterator[Part]:
    """Yield the blocks as parts this server can be given; in place of others, words that say so.
    `links`: it fetches images by their links.
    """
    for block in blocks:
        match block:
            case Text() | Sound():
                yield block
            case Image(Stored(file_id)):
                yield Text(NOT_REACHABLE.format(f"the image {file_id}"))
            case Image(Link(url)) if not links:
                yield Text(f"[image: {url}]")
            case Image():
                yield block
            case Document():
                yield from _document(block, links)


def _document(block: Document, links: bool) -> Iterator[Part]:
    name = f'the document "{block.title}"' if block.title else "a document"
    match block.content:
        case Data(media_type, _):
            yield Text(NOT_READABLE.format(f"{name} ({media_type})"))
        case Stored():
            yield Text(NOT_REACHABLE.format(name))
        case Link(url):
            yield Text(NOT_READABLE.format(f"{name} ({url})"))
        case content:
            head = (
                "<document>",
                f"title: {block.title}" if block.title else "",
                f"context: {block.context}" if block.context else "",
            )
            yield Text("\n".join(line for line in head if line))
            yield from readable(content, links)
            yield Text("</document>")
