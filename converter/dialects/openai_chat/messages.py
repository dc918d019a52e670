"""The messages of a chat-completions request, in the order in which things were said.

The format allows less than a conversation holds. An assistant message is one string with its tool
calls last; a tool message is text only; and chat templates want things that servers do not check:
system text only at the head (Qwen3.5, Mistral), user and assistant by turns (Mistral, Gemma),
strings rather than lists of parts where there is only text. So turns of one role become one
message, and a part that no format can hold is said in words at its place.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from converter.model.conversation import (
    Block,
    Conversation,
    Data,
    Document,
    Image,
    Linked,
    Sound,
    Stored,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    Turn,
)
from converter.servers.chat_templates import Place
from converter.servers.profiles import GENERIC, Order, Server

type Sendable = TextBlock | Image | Sound
"""A part of a message that a server can be given."""

DETAILS = {"low": "low", "high": "high", "original": "high"}
"""How closely to look at an image, as chat completions word it: "auto" goes without saying,
and only the Responses API knows "original".
"""
NOT_READABLE = "[{} was attached, but this server can only be given text and images]"
NOT_REACHABLE = "[{} was attached as a stored file, which this server cannot reach]"


def part_of(block: Sendable) -> dict[str, object]:
    """Return the part of a message that holds a text, an image or a sound."""
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case Sound(Data(media_type, content)):
            kind = media_type.removeprefix("audio/")
            return {"type": "input_audio", "input_audio": {"data": content, "format": kind}}
        case Image(_, detail):
            fields = {"detail": DETAILS[detail]} if detail in DETAILS else {}
            return {"type": "image_url", "image_url": {"url": _url(block), **fields}}


def _url(image: Image) -> str:
    match image.source:
        case Data(media_type, content):
            return f"data:{media_type};base64,{content}"
        case Linked(place) | Stored(place):
            return place


def readable(blocks: Iterable[Block], links: bool) -> Iterator[Sendable]:
    """Yield the blocks as parts this server can be given; in place of others, words that say so.
    `links`: it fetches images by their links.
    """
    for block in blocks:
        match block:
            case TextBlock() | Sound():
                yield block
            case Image(Stored(file_id)):
                yield TextBlock(NOT_REACHABLE.format(f"the image {file_id}"))
            case Image(Linked(url)) if not links:
                yield TextBlock(f"[image: {url}]")
            case Image():
                yield block
            case Document():
                yield from _document(block, links)


def _document(block: Document, links: bool) -> Iterator[Sendable]:
    name = f'the document "{block.title}"' if block.title else "a document"
    match block.content:
        case Data(media_type, _):
            yield TextBlock(NOT_READABLE.format(f"{name} ({media_type})"))
        case Stored():
            yield TextBlock(NOT_REACHABLE.format(name))
        case Linked(url):
            yield TextBlock(NOT_READABLE.format(f"{name} ({url})"))
        case content:
            head = (
                "<document>",
                f"title: {block.title}" if block.title else "",
                f"context: {block.context}" if block.context else "",
            )
            yield TextBlock("\n".join(line for line in head if line))
            yield from readable(content, links)
            yield TextBlock("</document>")


type Message = dict[str, object]

# Claude Code puts such tags around what it tells the model inside user turns; models that have seen
# its traffic know them.
INLINE_SYSTEM = "<system-reminder>\n{}\n</system-reminder>"
# several templates skip a tool message without text, and the call then looks unanswered
NO_OUTPUT = "(no output)"
TOOL_ERROR = "[The tool reported an error.]"
BELOW = "[{}: in the next user message]"
ABOVE = "[{} from the result of tool call {}]"
NAMES: dict[type, str] = {Image: "image", Sound: "sound"}
"""Parts that a tool message cannot hold, with their names there."""


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """The choices for a written request: where earlier thoughts go, the first part of a turn, for
    which server.

    `server_parses`: the server takes the thinking out of the text itself (it was started with a
    reasoning parser).
    """

    history: Place = "tags"
    order: Order = "as-written"
    server: Server = GENERIC
    server_parses: bool = False


def write_messages(conversation: Conversation, settings: RequestSettings) -> list[Message]:
    """Return the messages, system text first. A last assistant turn stays last, for the server to
    continue; an empty one is left out.
    """
    system, turns = _split_system(conversation)
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    for role, run in groupby(turns, key=lambda turn: turn.role):
        blocks = tuple(block for turn in run for block in turn.blocks)
        write = _assistant if role == "assistant" else _user
        messages += write(blocks, settings)
    if len(messages) > 1 and messages[-1] == {"role": "assistant", "content": ""}:
        messages.pop()
    return messages


def _split_system(conversation: Conversation) -> tuple[str, list[Turn]]:
    """System text at the head, and the turns; a system turn further down becomes a user turn that
    says so, at its place.
    """
    turns = list(conversation.turns)
    texts = list(conversation.system)
    while turns and turns[0].role == "system":
        texts += _texts(turns.pop(0))
    return join_texts(texts), [_as_user(turn) if turn.role == "system" else turn for turn in turns]


def _texts(turn: Turn) -> list[str]:
    return [block.text for block in turn.blocks if isinstance(block, TextBlock)]


def _as_user(turn: Turn) -> Turn:
    words = join_texts(_texts(turn))
    return Turn("user", (TextBlock(INLINE_SYSTEM.format(words)),) if words else ())


def join_texts(texts: Iterable[str]) -> str:
    """The texts, a blank line between two of them unless one brings its own line break there; blank
    ones are left out.
    """
    joined = ""
    for text in texts:
        if text.strip():
            parted = not joined or joined.endswith("\n") or text.startswith("\n")
            joined += text if parted else f"\n\n{text}"
    return joined


# The assistant's side.


def _assistant(blocks: Sequence[Block], settings: RequestSettings) -> list[Message]:
    calls = [_tool_call(block) for block in blocks if isinstance(block, ToolUse)]
    of_tool_turns = settings.server.tool_turn_history if calls else ""
    field = of_tool_turns or settings.history
    message: Message = {"role": "assistant", "content": join_texts(_said(blocks, field))}
    thoughts = join_texts(block.text for block in blocks if isinstance(block, ThinkingBlock))
    if field not in ("tags", "drop") and (thoughts or of_tool_turns):
        message[field] = thoughts
    return [message | ({"tool_calls": calls} if calls else {})]


def _said(blocks: Iterable[Block], field: str) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, TextBlock):
            yield block.text
        elif isinstance(block, ThinkingBlock) and field == "tags" and block.text.strip():
            yield f"<think>{block.text}</think>"


def _tool_call(block: ToolUse) -> dict[str, object]:
    arguments = json.dumps(block.input, ensure_ascii=False)
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": arguments},
    }


# The user's side.


def _user(blocks: Sequence[Block], settings: RequestSettings) -> list[Message]:
    if settings.order == "tools-first":
        blocks = sorted(blocks, key=lambda block: not isinstance(block, ToolResult))
    messages: list[Message] = []
    for of_tools, run in groupby(
        _unfolded(blocks, settings.server.image_links),
        key=lambda block: isinstance(block, ToolResult),
    ):
        write = _tool_messages if of_tools else _user_message
        messages += write(run)
    return messages or [{"role": "user", "content": ""}]


def _unfolded(blocks: Iterable[Block], links: bool) -> Iterator[Sendable | ToolResult]:
    """The blocks as parts and tool results of text alone; the images and sounds of a run of results
    follow it.
    """
    waiting: list[Sendable] = []
    for block in blocks:
        if isinstance(block, ToolResult):
            content = tuple(readable(block.content, links))
            yield ToolResult(block.tool_use_id, content, block.is_error)
            for part in content:
                if name := NAMES.get(type(part)):
                    waiting += [TextBlock(ABOVE.format(name, block.tool_use_id)), part]
        else:
            yield from waiting
            waiting = []
            yield from readable((block,), links)
    yield from waiting


def _tool_messages(blocks: Iterable[Sendable | ToolResult]) -> list[Message]:
    return [_tool_message(block) for block in blocks if isinstance(block, ToolResult)]


def _tool_message(block: ToolResult) -> Message:
    texts = [
        part.text if isinstance(part, TextBlock) else BELOW.format(NAMES[type(part)])
        for part in block.content
    ]
    content = join_texts(texts) or NO_OUTPUT
    return {
        "role": "tool",
        "tool_call_id": block.tool_use_id,
        "content": f"{TOOL_ERROR}\n{content}" if block.is_error else content,
    }


def _user_message(blocks: Iterable[Sendable | ToolResult]) -> list[Message]:
    parts = [
        block
        for block in blocks
        if isinstance(block, (Image, Sound))
        or (isinstance(block, TextBlock) and block.text.strip())
    ]
    if not all(isinstance(part, TextBlock) for part in parts):
        return [{"role": "user", "content": [part_of(part) for part in parts]}]
    text = join_texts(part.text for part in parts if isinstance(part, TextBlock))
    return [{"role": "user", "content": text}] if text else []
