"""The body of a reply as it is held, up to a limit."""

from typing import Self

from converter.shell.layers.guard import ReceiveBuffer
from converter.wire.bounds import BODY_LIMIT


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
