"""The bounds of a live proxy: how much it holds of servers' answers, and of earlier requests.
`converter.core.wire.bounds` has those of a reply.
"""

from converter.core.wire.bounds import Bound

LONGEST_HEAD = Bound(64 << 10, "bytes", "a reply's head, a chunk's, and trailers")
"""h11 reads 16 KiB, nginx and browsers up to 256; mitmproxy reads on for ever."""
ANSWER_LIMIT = Bound(
    16 << 20,
    "bytes",
    "what a server says about itself, or a prompt's tokens",
    "it is as if the server had not answered",
)
"""The tokens of the longest prompt are some megabytes."""
KNOWN_TURNS = Bound(
    16,
    "requests",
    "long requests that the next one of their conversation repeats, with their bytes",
    "the oldest go",
)
"""Agents run side by side."""
KNOWN_TURNS_BYTES = Bound(
    16 << 20,
    "bytes",
    "long requests that are repeated, all together; one of small values counts for more",
    "the oldest go",
)
"""Some agents with full windows."""
LONGEST_PROMPT = Bound(
    1 << 20, "bytes", "a request that is compared with the one before it", "not compared"
)
"""A window of 200,000 tokens; others wait while it is compared."""

TABLE = [bound for bound in list(globals().values()) if isinstance(bound, Bound)]
