"""A request that goes out again with the assistant's turn begun, for the server to go on with it:
how each kind of server takes one is in its row.
"""

from collections.abc import Mapping, Sequence

from converter.model.events import Text, Thinking
from converter.parsing.tag_matcher import for_model
from converter.servers.profiles import Server

_LIMITS = ("max_tokens", "max_completion_tokens")
_USUAL = "<think>", "</think>"

type Turn = Sequence[Text | Thinking]
"""All that the model has said, a thought at its end."""
type Marks = tuple[str, str]


def begun(
    body: Mapping[str, object],
    server: Server,
    turn: Turn,
    *,
    marks: Marks | None,
    inside: bool,
    made: int,
) -> dict[str, object]:
    """Return the request once more. `marks`: those of the model's thoughts, where they are known.
    `inside`: the prompt had opened the first one. `made`: tokens that are made already.
    """
    messages = body.get("messages")
    turns = messages if isinstance(messages, list) else []
    limits = {
        name: max(1, limit - made) for name in _LIMITS if type(limit := body.get(name)) is int
    }
    begun_part = _said(server, turn, marks or _marks_of(str(body.get("model") or "")), inside)
    message = {"role": "assistant", **begun_part}
    return {**body, **limits, **server.prefill, "messages": [*turns, message]}


def _said(server: Server, turn: Turn, marks: Marks, inside: bool) -> dict[str, object]:
    if server.continues == "reasoning" and isinstance(turn[0], Thinking):
        # After an empty string llama.cpp goes on with the thought; an empty part is an answer that
        # has begun, so that its template closes the thought.
        rest = _in_tags(turn[1:], marks) or [{"type": "text", "text": ""}]
        return {"reasoning_content": turn[0].text, "content": rest}
    text = _in_tags(turn, marks)
    opened = server.continues == "prompt" and inside
    return {"content": text.removeprefix(f"{marks[0]}\n") if opened else text}


def _in_tags(turn: Turn, marks: Marks) -> str:
    return "".join(
        part.text if isinstance(part, Text) else f"{marks[0]}\n{part.text}\n{marks[1]}\n\n"
        for part in turn
    )


def _marks_of(model: str) -> Marks:
    families = for_model(model)
    return (families[0].open, families[0].close) if families else _USUAL
