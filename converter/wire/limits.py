"""The error of a reply that would have the addon hold too much of it.

Each limit is a named constant beside what it bounds; `docs/faults.md` lists them all.
"""

BODY_LIMIT = 64 * 1024 * 1024
"""Bytes of a body that are held: of a reply that must be whole before it is rewritten, and of a
streamed one that is kept for people to look at. It is 1,000 times a long one, with room for
`logprobs`; a download beside the replies must not fill the memory.
"""
MOST_FAULTS = 10
"""Faults of one reply that are told apart."""


def fault_of(error: Exception) -> tuple[str, int]:
    """Return the words and the HTTP status of what ended a reply."""
    if isinstance(error, TooMuchError):
        return str(error), 502
    words = f"fault of the addon, please report it: {type(error).__name__}: {error}"
    return " ".join(words.split()), 500


class TooMuchError(Exception):
    """A reply says more of something than is held: the client gets an error with these words."""

    def __init__(self, what: str, limit: int, unit: str = "characters") -> None:
        super().__init__(f"the server's reply is not read on: {what} of more than {limit:,} {unit}")
