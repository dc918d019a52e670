"""Sets the bounds of response heads, of servers' answers to probes, and of earlier requests that
are kept or compared. The bounds of a reply are in `converter.core.wire.bounds`.
"""

from converter.core.wire.bounds import Bound

LONGEST_HEAD = Bound(64 << 10, "bytes", "the head of a reply or of a chunk, and trailers")
"""A longer head is a fault of the server. For comparison: h11 accepts 16 KiB, nginx and browsers up
to 256 KiB, mitmproxy any length.
"""
ANSWER_LIMIT = Bound(
    16 << 20,
    "bytes",
    "a server's reply to a probe: about itself, or a prompt's tokens",
    "the reply counts as missing",
)
"""More than any answer that is needed: the longest one is the list of a long prompt's tokens, which
has some megabytes.
"""
KNOWN_TURNS = Bound(
    16,
    "requests",
    "bodies kept because the conversation's next request repeats them",
    "the oldest go",
)
"""The most requests whose parsed messages are kept. The next request of a conversation repeats such
messages, and need not be parsed as a whole. More than one request is kept, because several agents
may run at the same time.
"""
KNOWN_TURNS_BYTES = Bound(
    16 << 20,
    "bytes",
    "those bodies, all together; one with many small values counts for more",
    "the oldest go",
)
"""The most bytes of the requests that `KNOWN_TURNS` counts, all together. This is enough for some
agents whose context windows are full.
"""
LONGEST_PROMPT = Bound(
    1 << 20, "bytes", "a request that is compared with the conversation's last one", "not compared"
)
"""About the length of a prompt of 200,000 tokens. The extra `prompt_cache` compares two requests to
find where a cached prompt breaks. A longer request is not compared, because all other
requests wait while two are compared.
"""

TABLE = [bound for bound in list(globals().values()) if isinstance(bound, Bound)]
"""All bounds of this file, for the table in the documentation."""
