"""The body of a reply as it is held, up to a limit."""

from typing import Self

from converter.shell.mitmproxy_internals import ReceiveBuffer

BODY_LIMIT = 64 * 1024 * 1024
"""Bytes of a body that are held: of a reply that must be whole before it is rewritten, and of a
streamed one that is kept for people to look at. It is 1,000 times a long one, with room for
`logprobs`; a download beside the replies must not fill the memory.
"""


class BodyBuffer(ReceiveBuffer):
    """The first bytes of a body: what would go on a full buffer is let go."""

    @property
    def fault(self) -> str:
        """The fault of a body that had to be whole and is longer; else nothing."""
        too_long = f"reply too long: more than {BODY_LIMIT >> 20} megabytes in one piece"
        return too_long if len(self) > BODY_LIMIT else ""

    def __iadd__(self, piece: bytes) -> Self:
        if len(self) <= BODY_LIMIT:
            super().__iadd__(piece)
        return self
