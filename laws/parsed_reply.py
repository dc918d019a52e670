"""A server's words as values: pieces, choices, and all of a reply."""

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
    """A piece of a choice, in order. `kind`: text, thinking, raw (text in which nobody looks for
    tags) or call.
    """

    kind: str
    text: str = ""
    block: int = 0


@dataclass
class ParsedChoice:
    """One choice. `thoughts`: all the thinking under each name it came by; `others`: the values of
    fields that are no words.
    """

    pieces: list[Piece] = field(default_factory=list)
    thoughts: dict[str, str] = field(default_factory=dict)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    others: dict[str, list[object]] = field(default_factory=dict)
    finish: str | None = None

    def joined(self, *kinds: str) -> str:
        """Return all that pieces of these kinds say."""
        return "".join(piece.text for piece in self.pieces if piece.kind in kinds)

    def first(self, kind: str) -> str:
        """Return the first piece of this kind that is not empty."""
        return next((piece.text for piece in self.pieces if piece.kind == kind and piece.text), "")

    @property
    def cut_call(self) -> bool:
        """Tell whether the last call lacks its end, though no limit cut the reply off."""
        last = "".join([call["arguments"] for call in self.calls.values()][-1:])
        return bool(last.strip()) and is_open(last) and self.finish in WHOLE

    def add_thought(self, name: str, text: str, block: int = 0) -> None:
        """Add thinking; what a second name says is taken for the same once more."""
        self.thoughts[name] = self.thoughts.get(name, "") + text
        if name == next(iter(self.thoughts)):
            self.pieces.append(Piece("thinking", text, block))

    def take_for_answer(self) -> None:
        """Make text of thinking where there is nothing else and the model stopped by itself."""
        if self.finish == "stop" and not self.calls and not self.joined("text", "raw").strip():
            self.pieces = [replace(piece, kind="text") for piece in self.pieces]
            self.thoughts = {}

    def thoughts_lost_in(self, other: "ParsedChoice", markup: Sequence[str] = ()) -> list[str]:
        """Return the names of thinking whose words the other does not have under them. `markup`:
        a call's, which ends the thought and is none of its words.
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
    """A reply. `done`: the server said that it is complete; `error`: it said that it failed;
    `unread`: frames that nobody reads.
    """

    choices: dict[int, ParsedChoice] = field(default_factory=dict)
    heads: dict[str, list[object]] = field(default_factory=dict)
    usage: Json = field(default_factory=dict)
    done: bool = False
    error: bool = False
    unread: int = 0
    comments: int = 0

    def choice(self, index: int | None = None) -> ParsedChoice:
        """Return one choice; the one that came first, if none is named."""
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
        """Tell whether nothing is missing: the end was said, or a finish, and no error."""
        return (
            not self.error
            and bool(self.choices)
            and (self.done or self.choice().finish is not None)
        )
