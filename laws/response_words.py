"""A server's words in a reply of the Responses API, read in the plainest way."""

from converter.core.dialects.reasoning_fields import thinking_in
from laws.heard import Heard, Json, Piece, ServerWords

_THOUGHTS = {
    "response.reasoning_text.delta": "content",
    "response.reasoning_summary_text.delta": "summary",
}
_TEXTS = ("response.output_text.delta", "response.refusal.delta")
_FINISHES = {"max_output_tokens": "length", "content_filter": "content_filter"}
_LAST = ("response.completed", "response.incomplete", "response.failed")


class ResponseWords:
    """Feed the events of a stream, or one whole response."""

    def __init__(self) -> None:
        self.words = ServerWords()
        self._items: dict[object, int] = {}
        self._said: set[int] = set()

    def feed(self, event: Json) -> None:
        """Read one event. Raises one of the errors of a wrong shape."""
        heard, kind = self.words.choice(), event.get("type")
        if event.get("object") == "response":
            for number, item in enumerate(event["output"]):
                self._item(heard, number, item)
            self._end(heard, event)
        elif kind in _LAST:
            self._end(heard, event["response"])
        elif "delta" in event:
            self._delta(heard, self._number(event, event.get("item_id")), event)
        elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            self._item(heard, self._number(event, event["item"].get("id")), event["item"])
        elif kind == "response.output_item.done":
            number = self._number(event, event["item"].get("id"))
            if number not in self._said:
                self._item(heard, number, event["item"])
        else:
            self.words.error = self.words.error or bool(event.get("error"))

    def _number(self, event: Json, name: object) -> int:
        """Return a number for an item: of the server's, or for its name."""
        known = self._items.setdefault(event.get("output_index", name), len(self._items))
        return int(event.get("output_index", known))

    def _delta(self, heard: Heard, number: int, event: Json) -> None:
        self._said.add(number)
        if event["type"] in _TEXTS:
            heard.pieces.append(Piece("text", event["delta"]))
        elif name := _THOUGHTS.get(event["type"]):
            heard.add_thought(name, event["delta"], number)
        elif event["type"] == "response.function_call_arguments.delta":
            heard.add_call(number, "", "", event["delta"])

    def _item(self, heard: Heard, number: int, item: Json) -> None:
        match item.get("type"):
            case "message":
                heard.pieces += [Piece("text", thinking_in([part])) for part in item["content"]]
            case "reasoning":
                for name in _THOUGHTS.values():
                    if words := thinking_in(item.get(name) or []):
                        heard.add_thought(name, words, number)
            case "function_call":
                self._said.add(number)
                heard.add_call(number, item["call_id"], item["name"], item.get("arguments"))

    def _end(self, heard: Heard, response: Json) -> None:
        reason = (response.get("incomplete_details") or {}).get("reason")
        ended = "tool_calls" if heard.calls else "stop"
        ended = "length" if response.get("status") == "incomplete" else ended
        heard.finish = _FINISHES.get(str(reason), ended)
        self.words.usage |= response.get("usage") or {}
        self.words.done = True
        self.words.error = self.words.error or bool(response.get("error"))
