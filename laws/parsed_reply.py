"""A parsed reply: its choices, and the pieces of each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from converter.core.wire.cut_json import is_open

type Json = dict[str, Any]
STOPPED = ("stop", "end_turn", "stop_sequence")
CALLED = ("tool_calls", "function_call", "tool_use")
WHOLE = (*STOPPED, *CALLED)
"""Finishes of a reply that no limit and no filter cut off."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a choice, in order."""

    kind: str  # text, thinking, call, or raw: text in which nobody looks for tags
    text: str = ""
    block: int = 0


@dataclass
class ParsedChoice:
    """One choice of a reply."""

    pieces: list[Piece] = field(default_factory=list)
    # all the thinking of each reasoning field, by the field's name
    thoughts: dict[str, str] = field(default_factory=dict)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    # the values of all fields that hold neither text nor thinking nor calls
    others: dict[str, list[object]] = field(default_factory=dict)
    finish: str | None = None

    def joined(self, *kinds: str) -> str:
        """Return the text of all pieces of these kinds."""
        return "".join(piece.text for piece in self.pieces if piece.kind in kinds)

    def first(self, kind: str) -> str:
        """Return the first piece of this kind that is not empty."""
        return next((piece.text for piece in self.pieces if piece.kind == kind and piece.text), "")

    @property
    def cut_call(self) -> bool:
        """True if the last call lacks its end, though no limit cut the reply off."""
        last = "".join([call["arguments"] for call in self.calls.values()][-1:])
        return bool(last.strip()) and is_open(last) and self.finish in WHOLE

    def add_thought(self, name: str, text: str, block: int = 0) -> None:
        """Add thinking. A second reasoning field repeats the first, so it adds no piece."""
        self.thoughts[name] = self.thoughts.get(name, "") + text
        if name == next(iter(self.thoughts)):
            self.pieces.append(Piece("thinking", text, block))

    def take_for_answer(self) -> None:
        """Turn thinking into text if it is all of a reply that the model ended by itself."""
        if self.finish == "stop" and not self.calls and not self.joined("text", "raw").strip():
            self.pieces = [replace(piece, kind="text") for piece in self.pieces]
            self.thoughts = {}

    def thoughts_lost_in(self, other: "ParsedChoice", markup: Sequence[str] = ()) -> list[str]:
        """Return the names of the reasoning fields whose thinking is not in `other`. `markup`: the
        text of a call that ends the thought, and is no part of it.
        """
        return [
            name
            for name, text in self.thoughts.items()
            if text.removesuffix("".join(markup)) not in other.thoughts.get(name, "")
        ]

    def add_call(self, index: int, id_: object, name: object, arguments: object) -> None:
        """Add a piece of a call."""
        call = self.calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        written = (
            arguments if isinstance(arguments, str) or not arguments else json.dumps(arguments)
        )
        for key, piece in (("id", id_), ("name", name), ("arguments", written)):
            call[key] += str(piece or "")
        self.pieces.append(Piece("call"))


@dataclass
class ParsedReply:
    """A reply as its server sent it, or as a client received it."""

    choices: dict[int, ParsedChoice] = field(default_factory=dict)
    # the values of all fields beside choices, usage and error, by the field's name
    heads: dict[str, list[object]] = field(default_factory=dict)
    usage: Json = field(default_factory=dict)
    done: bool = False  # the server reported that the reply is complete
    error: bool = False  # the server reported that the reply failed
    unread: int = 0  # frames that are not of the dialect's shape
    comments: int = 0

    def choice(self, index: int | None = None) -> ParsedChoice:
        """Return the choice of this index; the choice that came first without an index."""
        first = next(iter(self.choices), 0)
        return self.choices.setdefault(first if index is None else index, ParsedChoice())

    @property
    def output(self) -> int | None:
        """The count of tokens that were written, None where the server counts none."""
        return self.usage.get("completion_tokens", self.usage.get("output_tokens"))

    def reaches(self, limit: int) -> bool:
        """Return True if the count reaches the limit that was sent. A reply that ends in a thought
        is cut off then, whatever its server calls the end.
        """
        return 0 < limit <= (self.output or 0)

    @property
    def complete(self) -> bool:
        """True if the reply has its end or a finish, and no error."""
        return (
            not self.error
            and bool(self.choices)
            and (self.done or self.choice().finish is not None)
        )
