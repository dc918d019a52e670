"""A dialect in sixty lines, to show what one takes: a stream of objects such as
`{"told": "thinking", "text": "hm"}`, or all of them in one list.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from converter.core.dialects.dialect import Answers, Dialect, Endpoint, Label, Purpose, Requests
from converter.core.dialects.wire_form import WireForm
from converter.core.model.conversation import Conversation, RequestError, Turn
from converter.core.model.conversation import TextBlock as Words
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    Start,
    Text,
    Thinking,
    ToolCall,
    WordKind,
)
from converter.core.wire import json_text
from converter.core.wire.sse import Frame, write_frame

type Told = dict[str, object]
type Fields = Mapping[str, object]


class ToyDecoder:
    """Objects in, events out."""

    def __init__(self) -> None:
        self._begun = False

    def feed(self, frame: Frame) -> list[Event]:
        said = json_text.read(frame.data or b"{}")
        told = said.get("told") if isinstance(said, dict) else None
        entries: list[Any] = told if isinstance(told, list) else [said]
        first: list[Event] = [] if self._begun else [Start("toy-1", "toy")]
        self._begun = True
        return [*first, *(event for entry in entries for event in _events(entry))]

    def repeat(self, _: Text | Thinking | ToolCall) -> bool:
        return True


def _events(entry: Fields) -> list[Event]:
    match entry:
        case {"told": "thinking", "text": str(text)}:
            return [Thinking(text)]
        case {"told": "text", "text": str(text)}:
            return [Text(text)]
        case {"told": "call", "name": str(name), "text": str(text)}:
            return [ToolCall(0, "call_1", name, text)]
        case {"told": "end", "text": str(why)}:
            return [Finish(why), End()]
        case _:
            return []


class ToyEncoder:
    """Events in, objects out; `whole`: in one list, at the end."""

    in_blocks = False

    def __init__(self, whole: bool) -> None:
        self._whole = whole
        self._told: list[Told] = []
        self.notes: list[str] = []
        self.failure = ""

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:  # noqa: ARG002
        told = [entry for event in events if (entry := self._entry(event))]
        self._told += told
        return [] if self._whole else [write_frame(json_text.write(entry)) for entry in told]

    def _entry(self, event: Event) -> Told | None:
        match event:
            case Thinking() | Text():
                kind = "thinking" if isinstance(event, Thinking) else "text"
                return {"told": kind, "text": event.text}
            case ToolCall():
                return {"told": "call", "name": event.name, "text": event.arguments}
            case Finish():
                return {"told": "end", "text": event.reason}
            case Failure():
                self.failure = event.message
                return {"told": "error", "text": event.message}
            case _:
                return None

    def spliced(self, kind: WordKind, text: str, frames: int) -> int:  # noqa: ARG002
        """Nothing is counted."""
        return 0

    def ping(self) -> list[bytes]:
        return []

    def close(self) -> list[bytes]:
        return [json_text.write({"told": self._told})] if self._whole else []


def _read(body: object, *_: object) -> Conversation:
    if not isinstance(body, dict) or not isinstance(body.get("ask"), str):
        raise RequestError("ask", "expected a string")
    asked = Turn("user", (Words(body["ask"]),))
    return Conversation(model="toy", turns=(asked,), stream=bool(body.get("stream")))


TOY = Dialect(
    "toy",
    Label("Toy", shown_by=("x-toy",)),
    WireForm(
        decoder=lambda _: ToyDecoder(),
        encoder=lambda _, whole: ToyEncoder(whole),
        recognises=lambda said: "told" in said,
    ),
    Requests(_read, "/toy", {"ask": "12 * 7"}),
    Answers(
        error_body=lambda message, _kind, _status: {"told": "error", "text": message},
        error_reply=lambda status, body, _: (status, {"told": "error", "text": str(body)}),
        own=lambda asked, _: (200, {"told": "end", "text": asked.path}),
    ),
    (
        Endpoint("toy", Purpose.REPLY, "POST", "/toy", "toy"),
        Endpoint("toy", Purpose.OWN, "GET", "/toy/names"),
    ),
)
