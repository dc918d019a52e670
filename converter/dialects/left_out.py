"""Fields of chat completions that other dialects have no place for."""

from converter.model.events import Opaque

_SILENT = {
    "role",
    "logprobs",
    "stop_reason",
    "matched_stop",
    "token_ids",
    "annotations",
    "native_finish_reason",
}
"""Fields of chat completions that other dialects say otherwise, or that nobody reads."""


def left_out(event: Opaque) -> set[str]:
    """Return the names of fields that say something and have no place in another dialect.

    The frame's own fields beside its choices (timings, provider, ...) are not among them: they are
    about the reply, not of it.
    """
    silent = {*_SILENT, *event.told}
    return {
        name
        for name, value in {**event.outer, **event.inner}.items()
        if name not in silent and value
    }
