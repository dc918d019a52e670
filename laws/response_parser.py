"""Parse replies of the Responses API into a `ParsedReply`, for `reply_parser`. Events are taken in
any order; `response_view.py` refuses a stream that some client could not read.
"""

from converter.core.dialects.reasoning_fields import thinking_in
from laws.parsed_reply import Json, ParsedChoice, ParsedReply, Piece

_THOUGHT_FIELDS = {
    "response.reasoning_text.delta": "content",
    "response.reasoning_summary_text.delta": "summary",
}
"""Type of an event with a delta of thinking -> the field of a whole item with the same thinking."""
_TEXT_EVENTS = ("response.output_text.delta", "response.refusal.delta")
_FINISH_BY_REASON = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""The reason for which a response is incomplete -> the finish reason of a chat completion."""
_LAST_EVENTS = ("response.completed", "response.incomplete", "response.failed")


class ResponseParser:
    """Parses the events of a stream, or one whole response, into `reply`."""

    def __init__(self) -> None:
        self.reply = ParsedReply()
        self._items: dict[object, int] = {}  # an item's index or id -> how many items came before
        self._with_deltas: set[int] = set()  # indexes of calls, and of items with deltas

    def feed(self, event: Json) -> None:
        """Add an event, or a whole response object, to `reply`. Of an event of another type only an
        error is noted. If a field is missing, KeyError or the like is raised.
        """
        choice, kind = self.reply.choice(), event.get("type")
        if event.get("object") == "response":
            for item_index, item in enumerate(event["output"]):
                self._add_item(choice, item_index, item)
            self._add_end(choice, event)
        elif kind in _LAST_EVENTS:
            self._add_end(choice, event["response"])
        elif "delta" in event:
            self._add_delta(choice, self._item_index(event, event.get("item_id")), event)
        elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            self._add_item(choice, self._item_index(event, event["item"].get("id")), event["item"])
        elif kind == "response.output_item.done":
            item_index = self._item_index(event, event["item"].get("id"))
            if item_index not in self._with_deltas:
                self._add_item(choice, item_index, event["item"])
        else:
            self.reply.error = self.reply.error or bool(event.get("error"))

    def _item_index(self, event: Json, name: object) -> int:
        """Return `output_index`; if it is missing, how many items came before the item `name`."""
        item_index = self._items.setdefault(event.get("output_index", name), len(self._items))
        return int(event.get("output_index", item_index))

    def _add_delta(self, choice: ParsedChoice, item_index: int, event: Json) -> None:
        self._with_deltas.add(item_index)
        if event["type"] in _TEXT_EVENTS:
            choice.pieces.append(Piece("text", event["delta"]))
        elif name := _THOUGHT_FIELDS.get(event["type"]):
            choice.add_thought(name, event["delta"], item_index)
        elif event["type"] == "response.function_call_arguments.delta":
            choice.add_call(item_index, "", "", event["delta"])

    def _add_item(self, choice: ParsedChoice, item_index: int, item: Json) -> None:
        match item.get("type"):
            case "message":
                choice.pieces += [Piece("text", thinking_in([part])) for part in item["content"]]
            case "reasoning":
                for name in _THOUGHT_FIELDS.values():
                    if text := thinking_in(item.get(name) or []):
                        choice.add_thought(name, text, item_index)
            case "function_call":
                self._with_deltas.add(item_index)
                choice.add_call(item_index, item["call_id"], item["name"], item.get("arguments"))

    def _add_end(self, choice: ParsedChoice, response: Json) -> None:
        reason = (response.get("incomplete_details") or {}).get("reason")
        ended = "tool_calls" if choice.calls else "stop"
        ended = "length" if response.get("status") == "incomplete" else ended
        choice.finish = _FINISH_BY_REASON.get(str(reason), ended)
        self.reply.usage |= response.get("usage") or {}
        self.reply.done = True
        self.reply.error = self.reply.error or bool(response.get("error"))
