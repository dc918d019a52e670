"""`remove_folds` removes folded thoughts (`<details>` blocks) from the earlier turns of a request.

A folded thought is the `<details>` block that `folding` puts into an answer. The client sends it
back with the conversation, and the model must not get it.
"""

from collections.abc import Mapping

from converter.core.model.raw_messages import content_of, map_messages, map_parts, role_of
from converter.core.reading.folding import without_folds


def remove_folds(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return the request `body` without folded thoughts (`<details>` blocks); `body` itself if it
    has none.
    """
    return map_messages(body, _turn_without_folds)


def _turn_without_folds(turn: object) -> object:
    """Return a turn without its folded thoughts (`<details>` blocks). Only turns of the role
    `assistant` can have them.
    """
    if not isinstance(turn, dict) or role_of(turn) != "assistant":
        return turn
    content = content_of(turn)
    if isinstance(content, str):
        return {**turn, "content": without_folds([content])}
    return map_parts(turn, _part_without_folds)


def _part_without_folds(part: object) -> object:
    """Return one part of a turn's content, without folded thoughts in its `text`."""
    if isinstance(part, dict) and isinstance(text := part.get("text"), str):
        return {**part, "text": without_folds([text])}
    return part
