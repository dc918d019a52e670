"""A client's view of the rewriter's output, read in the plainest way."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.exchange.settings import Settings, read
from converter.core.dialects.table import ANTHROPIC, Dialect, Form
from converter.core.model.events import Event, Text, Thinking, ThinkingEnd
from laws.oracle_blocks import Block
from laws.strict_reader import frames_of, read_strictly

DEFAULTS = read()
AS_TEXT = read({"start": "text"})


def rewrite(
    pieces: Iterable[bytes],
    client: Dialect,
    server_form: Form,
    client_form: Form | None = None,
    settings: Settings = DEFAULTS,
) -> list[bytes]:
    """Return the client's bytes; a fault that the rewriter survived is still a fault."""
    rewriter = rewriter_of(settings, client, server_form, client_form)
    out = [piece for chunk in pieces for piece in rewriter.feed(chunk)] + rewriter.close()
    assert not [note for note in rewriter.notes if "fault of the addon" in note], rewriter.notes
    assert all(out), "an empty piece would end a chunked response"
    return out


def blocks_of(events: Sequence[Event]) -> list[Block]:
    """Return the parser's events as the blocks of a message."""
    blocks: list[Block] = []
    closed = True
    for event in events:
        assert isinstance(event, Text | Thinking | ThinkingEnd)
        kind = "text" if isinstance(event, Text) else "thinking"
        if isinstance(event, ThinkingEnd):
            assert not closed, "an end of no thought"
            blocks[-1] = Block("thinking", blocks[-1].text, event.thought_type, event.confidence)
            closed = True
        elif blocks and blocks[-1].kind == kind and (kind == "text" or not closed):
            blocks[-1] = Block(kind, blocks[-1].text + event.text)
        else:
            assert closed or kind == "thinking", "text before the thought's end"
            blocks.append(Block(kind, event.text))
            closed = kind == "text"
    assert closed, "a thought without an end"
    return blocks


@dataclass
class Choice:
    """One choice, folded. `texts`: each field of the message that is a string; `extras`: vendor
    fields.
    """

    texts: dict[str, str] = field(default_factory=dict)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    finish: str | None = None
    extras: dict[str, Any] = field(default_factory=dict)

    def add(self, choice: dict[str, Any]) -> None:
        """Add the choice of a frame or of a whole body."""
        delta = choice.get("delta") or choice.get("message") or {}
        for position, entry in enumerate(delta.get("tool_calls") or []):
            call = self.calls.setdefault(
                entry.get("index", position), {"id": "", "name": "", "arguments": ""}
            )
            function = entry["function"]
            for name, piece in (
                ("id", entry.get("id")),
                ("name", function.get("name")),
                ("arguments", function.get("arguments")),
            ):
                call[name] += piece or ""
        for name, value in delta.items():
            if isinstance(value, str) and name != "role":
                self.texts[name] = self.texts.get(name, "") + value
        self.finish = choice.get("finish_reason") or self.finish
        self.extras |= {
            name: value for name, value in {**delta, **choice}.items() if name.startswith("x_")
        }

    @property
    def shown(self) -> tuple[dict[str, str], dict[int, dict[str, str]], str | None]:
        """The parts that a client shows: texts, calls, the finish."""
        return {name: value for name, value in self.texts.items() if value}, self.calls, self.finish


@dataclass
class Completion:
    """A reply, folded."""

    choices: dict[int, Choice] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)
    usage: Any = None

    @property
    def shown(self) -> object:
        """The parts that a client shows."""
        return {index: choice.shown for index, choice in self.choices.items()}, self.usage


def completion_of(body: bytes, form: Form) -> Completion:
    """An OpenAI client's view."""
    completion = Completion()
    for value in bodies_of(body) if form is Form.STREAM else [json.loads(body)]:
        for choice in value.get("choices") or []:
            completion.choices.setdefault(choice["index"], Choice()).add(choice)
        completion.usage = value.get("usage") or completion.usage
        completion.extras |= {name: item for name, item in value.items() if name.startswith("x_")}
    return completion


def bodies_of(body: bytes) -> list[dict[str, Any]]:
    """The JSON of a stream's frames, without comments and `[DONE]`."""
    data = [
        frame.removeprefix(b"data: ") for frame in frames_of(body) if frame.startswith(b"data: ")
    ]
    return [json.loads(value) for value in data if value != b"[DONE]"]


def anthropic_message(
    body: bytes, server_form: Form, client_form: Form, settings: Settings = AS_TEXT
) -> dict[str, Any]:
    """An Anthropic client's view of what the server sent, read strictly: its message, or the error
    in its place.
    """
    out = b"".join(rewrite([body], ANTHROPIC, server_form, client_form, settings))
    if client_form is Form.WHOLE:
        message: dict[str, Any] = json.loads(out)
        return message
    reader = read_strictly(out)
    return reader.error or reader.message
