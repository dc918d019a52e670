"""`ParsedReply` is a reply as `reply_parser` reads it: `ParsedChoice`s, made of `Piece`s."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from converter.core.wire.cut_json import is_open

type Json = dict[str, Any]
STOPPED = ("stop", "end_turn", "stop_sequence")  # finish reasons: the model ended by itself
CALLED = ("tool_calls", "function_call", "tool_use")  # finish reasons: the client is to run a call
WHOLE = (*STOPPED, *CALLED)  # finish reasons of replies that no limit or filter has cut off


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a choice, as one frame or block has it."""

    kind: str  # `text`, `thinking`, `call`, or `raw` for text in which tags do not count
    text: str = ""  # the characters of the piece; empty for a call
    block: int = 0  # of a thought: the index of its block in the reply; else 0


@dataclass
class ParsedChoice:
    """One choice of a reply; only chat completions may have several."""

    pieces: list[Piece] = field(default_factory=list)  # in the order in which they came
    thoughts: dict[str, str] = field(default_factory=dict)  # reasoning field -> all its thinking
    calls: dict[int, dict[str, str]] = field(default_factory=dict)  # index -> id, name, arguments
    others: dict[str, list[object]] = field(default_factory=dict)  # any other field -> its values
    finish: str | None = None  # the finish reason; None if there was none

    def joined(self, *kinds: str) -> str:
        """Return the text of all pieces of these kinds."""
        return "".join(piece.text for piece in self.pieces if piece.kind in kinds)

    def first_text(self, kind: str) -> str:
        """Return the text of the first piece of this kind that is not empty."""
        return next((piece.text for piece in self.pieces if piece.kind == kind and piece.text), "")

    @property
    def cut_call(self) -> bool:
        """True if the last call's arguments are incomplete JSON, though no limit cut the reply."""
        last = "".join([call["arguments"] for call in self.calls.values()][-1:])
        return bool(last.strip()) and is_open(last) and self.finish in WHOLE

    def add_thought(self, name: str, text: str, block: int = 0) -> None:
        """Add thinking to the reasoning field `name`. Only the first reasoning field of a choice
        adds pieces, because servers repeat the same thinking in a second field.
        """
        self.thoughts[name] = self.thoughts.get(name, "") + text
        if name == next(iter(self.thoughts)):
            self.pieces.append(Piece("thinking", text, block))

    def take_for_answer(self) -> None:
        """Turn thinking into text if the model ended the reply without any text or call."""
        if self.finish == "stop" and not self.calls and not self.joined("text", "raw").strip():
            self.pieces = [replace(piece, kind="text") for piece in self.pieces]
            self.thoughts = {}

    def thoughts_lost_in(self, other: "ParsedChoice", markup: Sequence[str] = ()) -> list[str]:
        """Return the names of the reasoning fields whose thinking is missing in `other`, the choice
        that a client got. `markup`: the text of calls at a thought's end, which `other` may lack.
        """
        return [
            name
            for name, text in self.thoughts.items()
            if text.removesuffix("".join(markup)) not in other.thoughts.get(name, "")
        ]

    def add_call(self, index: int, id_: object, name: object, arguments: object) -> None:
        """Append pieces of an id, a name and arguments to the call of this index."""
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

    choices: dict[int, ParsedChoice] = field(default_factory=dict)  # the choices by their index
    frame_fields: dict[str, list[object]] = field(default_factory=dict)
    """Field of the frames, except `choices`, `usage` and `error` -> each of its values, once."""
    usage: Json = field(default_factory=dict)  # name of a count (`output_tokens`) -> tokens
    done: bool = False  # True if the server reported the end of the reply
    error: bool = False  # True if the server reported an error
    unread: int = 0  # how many frames do not have the shape of the dialect
    comments: int = 0  # how many frames are comments

    def choice(self, index: int | None = None) -> ParsedChoice:
        """Return the choice of this index, or for None the first that came; add a missing one."""
        first = next(iter(self.choices), 0)
        return self.choices.setdefault(first if index is None else index, ParsedChoice())

    @property
    def output_tokens(self) -> int | None:
        """The reported count of output tokens; None if the server reported none."""
        return self.usage.get("completion_tokens", self.usage.get("output_tokens"))

    def reaches(self, limit: int) -> bool:
        """Return True if the output reaches `limit`, the request's limit of tokens (0: none). If
        the reply then ends in a thought, it was cut off, whatever finish reason the server reports.
        """
        return 0 < limit <= (self.output_tokens or 0)

    @property
    def complete(self) -> bool:
        """True if the first choice has a finish or the server reported the end, and no error."""
        return (
            not self.error
            and bool(self.choices)
            and (self.done or self.choice().finish is not None)
        )
