"""A conversation made shorter: the model sums it up, and the summary is an opaque item that stands
for the conversation from then on.

Codex 0.169 asks for it with an item `compaction_trigger` when its provider is called OpenAI, and
ends the session unless exactly one item `compaction` comes back. Under another name it asks for a
summary in words of its own.
"""

from collections.abc import Iterable

from converter.core.dialects.responses import thoughts
from converter.core.dialects.responses.output_items import with_id
from converter.core.model.conversation import TextBlock

ITEM = "compaction"
TRIGGER = "compaction_trigger"
PROMPT = (
    "Your next message will stand in place of this conversation. Sum up all that is needed to go "
    "on with the work: what was asked for, what was done and found out (files, commands, results, "
    "decisions and their reasons), and what is left to do. Write the summary and nothing else."
)
HEAD = "Summary of the conversation so far:\n\n"
NONE = "the model wrote no summary of the conversation, or only a part of one"


def request(body: object) -> object:
    """Return the body of a request to `/responses/compact` as one that asks by an item."""
    if not isinstance(body, dict):
        return body
    turns = body.get("input")
    items = [{"role": "user", "content": turns}] if isinstance(turns, str) else turns or []
    if not isinstance(items, list):
        return body
    return {**body, "input": [*items, {"type": TRIGGER}], "stream": False, "store": False}


def users(items: Iterable[object]) -> tuple[dict[str, object], ...]:
    """Return the messages of users, which a compacted conversation keeps."""
    return tuple(item for item in items if isinstance(item, dict) and item.get("role") == "user")


def item(name: str, summary: str) -> dict[str, object]:
    """Return the item that holds a summary."""
    return {"id": f"cmp_{name}", "type": ITEM, "encrypted_content": thoughts.encode(summary)}


def summaries(output: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """Return the items that hold a summary."""
    return [item for item in output if item["type"] == ITEM]


def answer(
    response: dict[str, object], repeated: Iterable[dict[str, object]], name: str
) -> dict[str, object]:
    """Return the answer of `/responses/compact`."""
    messages = [with_id(item, f"{name}_in{at}") for at, item in enumerate(repeated)]
    output = response["output"]
    return {
        "id": response["id"],
        "object": "response.compaction",
        "created_at": response["created_at"],
        "output": [*messages, *(summaries(output) if isinstance(output, list) else ())],
        "usage": response["usage"],
    }


def read(sealed: str) -> TextBlock | None:
    """Return the summary in an item's content; None for one that another server made."""
    text = thoughts.decode(sealed)
    return None if text is None else TextBlock(HEAD + text)
