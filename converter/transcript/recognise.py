"""The kind of a reply, told by its bytes: its dialect, and whether it is a stream. Its content
type helps where they do not say.
"""

import re

from converter.dialects.table import Dialect, Form, framings, recognise
from converter.exchange.exchange import is_stream
from converter.wire import json_text
from converter.wire.bounds import BODY_LIMIT
from converter.wire.ndjson import LineDecoder
from converter.wire.sse import Frame, FrameDecoder

_STREAM = re.compile(rb"(?:data|event|id|retry)?:")
HEAD = 4096
"""Bytes of a reply's beginning that tell a stream: blanks may come first."""
_LONGEST_NAME = len(b"event:")


def form_of(beginning: bytes, content_type: str = "", *, last: bool = False) -> Form | None:
    """Tell a stream from a whole reply; None while too little has come. `last`: that is all."""
    seen = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _STREAM.match(seen):
        return Form.STREAM
    if seen[:1] in (b"{", b"["):
        bare = [framing for framing in framings() if framing.bare]
        lines = any(each.is_named(content_type) or each.begins.match(seen) for each in bare)
        return Form.STREAM if lines else Form.WHOLE
    if len(seen) < _LONGEST_NAME and not last:
        return None
    return Form.STREAM if is_stream(content_type) else Form.WHOLE


def is_request(value: object) -> bool:
    """Tell a request from a reply."""
    if not isinstance(value, dict) or "choices" in value or "output" in value:
        return False
    return isinstance(value.get("messages"), list) or isinstance(value.get("input"), str | list)


class Recogniser:
    """Bytes of a reply in, until they tell its form and dialect; None while they have not."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._frames = FrameDecoder(BODY_LIMIT)  # a client is told a whole reply in one frame
        self._looked = 0
        self.form: Form | None = None
        self.dialect: Dialect | None = None

    @property
    def held(self) -> bytes:
        """All bytes so far, nothing once they were taken."""
        return bytes(self._held)

    def feed(self, chunk: bytes, content_type: str = "", *, last: bool = False) -> bool:
        """Take bytes; return whether the dialect is known. `last`: nothing more will come."""
        self._held += chunk
        if self.form is None:
            self.form = form_of(bytes(self._held[:HEAD]), content_type, last=last)
            if self.form is Form.STREAM and self._held.lstrip().startswith(b"{"):
                self._frames = LineDecoder(BODY_LIMIT)
        if self.dialect is None and self.form is Form.STREAM:
            self.dialect = next(filter(None, map(_dialect_of, self._new_frames(last))), None)
        elif self.dialect is None and last:
            self.dialect = recognise(json_text.read_or_none(self.held))
        return self.dialect is not None

    def take(self) -> bytes:
        """Return the bytes so far, for who reads the reply from now on."""
        held = self.held
        self._held.clear()
        return held

    def _new_frames(self, last: bool) -> list[Frame]:
        unseen, self._looked = bytes(self._held[self._looked :]), len(self._held)
        frames = self._frames.feed(unseen)
        return [*frames, *self._frames.close()] if last else frames


def _dialect_of(frame: Frame) -> Dialect | None:
    """Tell a dialect by a frame; None for one that could be of any."""
    return None if frame.data is None else recognise(json_text.read_or_none(frame.data))
