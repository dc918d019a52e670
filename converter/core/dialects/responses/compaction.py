"""Requests, writes and reads a compaction: the model writes a summary of the conversation, which
from then on stands in place of the conversation. The client gets an item `compaction` with the
encoded summary, and sends this item back in its later requests.

Codex 0.169 requests a compaction with an item `compaction_trigger` if the provider in its settings
has the name OpenAI; it ends the session unless it gets exactly one item `compaction`. If the
provider has another name, Codex requests a summary as the text of a usual reply.
"""

from collections.abc import Iterable

from converter.core.dialects.responses import thoughts
from converter.core.dialects.responses.output_items import shown_item
from converter.core.model.conversation import TextBlock
from converter.core.wire.checked import Fields

ITEM = "compaction"
"""Type of the item that has the summary of a conversation."""
TRIGGER = "compaction_trigger"
"""Type of the item with which a client requests a compaction."""
PROMPT = (
    "Your next message will stand in place of this conversation. Sum up all that is needed to go "
    "on with the work: what was asked for, what was done and found out (files, commands, results, "
    "decisions and their reasons), and what is left to do. Write the summary and nothing else."
)
"""Text of the user's turn that is added to the conversation, so that the model writes the summary.
"""
SUMMARY_HEAD = "Summary of the conversation so far:\n\n"
"""Beginning of the text block in which the model gets the summary in later requests."""
NO_SUMMARY = "the model wrote no summary of the conversation, or only a part of one"
"""The error's message for a request to `/responses/compact` that gave no summary."""


def trigger_request(body: object) -> object:
    """Return the body of a request to `/responses/compact` as a body for `/responses`, with an item
    `compaction_trigger` at the end of its input. The response is not streamed and not kept. A body
    of a wrong type, or with an `input` of a wrong type, is returned unchanged.
    """
    if not isinstance(body, dict):
        return body
    turns = body.get("input")
    items = [{"role": "user", "content": turns}] if isinstance(turns, str) else turns or []
    if not isinstance(items, list):
        return body
    return {**body, "input": [*items, {"type": TRIGGER}], "stream": False, "store": False}


def user_messages(items: Iterable[object]) -> tuple[dict[str, object], ...]:
    """Return the messages of the user among these items. The answer of `/responses/compact` has
    these messages, and behind them the summary of the conversation.
    """
    return tuple(item for item in items if isinstance(item, dict) and item.get("role") == "user")


def compaction_item(id_part: str, summary: str) -> dict[str, object]:
    """Return an item `compaction` with this summary. `id_part`: the item's id without its prefix:
    `7_0` -> `cmp_7_0`.
    """
    return {"id": f"cmp_{id_part}", "type": ITEM, "encrypted_content": thoughts.encode(summary)}


def compaction_items(output: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """Return the items `compaction` in the output of a response."""
    return [item for item in output if item["type"] == ITEM]


def compact_body(
    response: dict[str, object], repeated: Iterable[dict[str, object]], id_part: str
) -> dict[str, object]:
    """Return the body of the answer to a request to `/responses/compact`.

    Arguments:
        response: the response whose output has the item `compaction`.
        repeated: the user's messages, which come before the summary.
        id_part: the exchange's id, for the ids of messages: `7` -> `msg_7_in0`, `msg_7_in1`.
    """
    messages = [shown_item(item, f"{id_part}_in{at}") for at, item in enumerate(repeated)]
    output = response["output"]
    return {
        "id": response["id"],
        "object": "response.compaction",
        "created_at": response["created_at"],
        "output": [*messages, *(compaction_items(output) if isinstance(output, list) else ())],
        "usage": response["usage"],
    }


def read_summary(item: Fields) -> TextBlock | None:
    """Return the summary in the `encrypted_content` of an item `compaction`, as a text block. None
    if it cannot be read, because another server wrote the item, or because it is damaged.
    """
    text = thoughts.decode(item.optional("encrypted_content", str) or "")
    return None if text is None else TextBlock(SUMMARY_HEAD + text)
