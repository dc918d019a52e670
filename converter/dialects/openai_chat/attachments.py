"""Images and documents as a chat-completions server can read them."""

from collections.abc import Iterable, Iterator

from converter.conversation import (
    Block,
    Data,
    Document,
    Image,
    Link,
    Stored,
    Text,
)

NOT_READABLE = "[{} was attached, but this server can only be given text and images]"
NOT_REACHABLE = "[{} was attached as a stored file, which this server cannot reach]"


def part_of(block: Text | Image) -> dict[str, object]:
    """Return the part of a message that holds a text or an image."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": _url(block)}}


def _url(image: Image) -> str:
    match image.source:
        case Data(media_type, content):
            return f"data:{media_type};base64,{content}"
        case Link(url):
            return url
        case Stored(file_id):
            return file_id


def readable(blocks: Iterable[Block], links: bool) -> Iterator[Text | Image]:
    """Yield the blocks as text and images this server can be given; in place of others, words that
    say so. `links`: it fetches images by their links.
    """
    for block in blocks:
        match block:
            case Text():
                yield block
            case Image(Stored(file_id)):
                yield Text(NOT_REACHABLE.format(f"the image {file_id}"))
            case Image(Link(url)) if not links:
                yield Text(f"[image: {url}]")
            case Image():
                yield block
            case Document():
                yield from _document(block, links)


def _document(block: Document, links: bool) -> Iterator[Text | Image]:
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
