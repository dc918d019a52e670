"""`Recogniser` recognises a reply as a stream or a whole body, and finds its dialect.

The rules are elsewhere. `beginning_of` in `core/wire/beginnings.py` reads the first bytes. Each
dialect recognises its own JSON by `WireForm.recognises`; `recognise` in `table.py` asks them all.
"""

from functools import lru_cache

from converter.core.dialects.dialect import Dialect
from converter.core.dialects.table import FRAMINGS, recognise
from converter.core.dialects.wire_form import Form
from converter.core.wire import json_text
from converter.core.wire.beginnings import SNIFFED, FirstBytes, beginning_of
from converter.core.wire.bounds import BODY_LIMIT
from converter.core.wire.sse import FrameDecoder, LineDecoder


def is_stream(content_type: str, body: bytes = b"") -> bool:
    """Return True if a reply's first bytes are those of a stream, or if its `content-type` is that
    of a stream. Either is enough, because some servers send streams with a wrong type.
    """
    begins = bool(body) and any(form.begins.match(body) for form in FRAMINGS)
    return begins or _is_stream_type(content_type)


@lru_cache(maxsize=64)
def _is_stream_type(content_type: str) -> bool:
    """Return True if a `content-type` is that of a stream."""
    return any(form.is_named(content_type) for form in FRAMINGS)


def form_of(prefix: bytes, content_type: str = "", *, last: bool = False) -> Form | None:
    """Return the form of a reply; None while too few bytes have come. The `content-type` decides
    only if the bytes do not show the form: it may name a stream, else the reply is a whole body.

    Arguments:
        prefix: the first bytes of the body.
        last: True if no more bytes will come.
    """
    match beginning_of(prefix, last=last):
        case None:
            return None
        case FirstBytes.FIELD:
            return Form.STREAM
        case FirstBytes.JSON:
            bare = [framing for framing in FRAMINGS if framing.bare]
            lines = any(each.is_named(content_type) or each.begins.match(prefix) for each in bare)
            return Form.STREAM if lines else Form.WHOLE
        case FirstBytes.PAGE:
            return Form.WHOLE
        case _:
            return Form.STREAM if is_stream(content_type) else Form.WHOLE


class Recogniser:
    """Takes the bytes of a reply, and holds them until `release` is called.

    Attributes:
        form: the reply's form; None until it is recognised.
        dialect: the reply's dialect; None until it is recognised, which may be never.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._frames = FrameDecoder(BODY_LIMIT)  # a frame may hold a whole reply
        self._read_length = 0
        self.form: Form | None = None
        self.dialect: Dialect | None = None

    @property
    def held(self) -> bytes:
        """All bytes that have come; empty after `release` was called."""
        return bytes(self._held)

    def feed(self, chunk: bytes, content_type: str = "", *, last: bool = False) -> bool:
        """Take bytes, and return True if the dialect is recognised by now. A stream shows it by the
        first frame that any dialect recognises, a whole reply when all its bytes have come. `last`:
        True if no more bytes will come; after it a dialect that is still None stays unknown.
        """
        self._held += chunk
        if self.form is None:
            self.form = form_of(bytes(self._held[:SNIFFED]), content_type, last=last)
            if self.form is Form.STREAM and self._held.lstrip().startswith(b"{"):
                self._frames = LineDecoder(BODY_LIMIT)
        if self.dialect is None and self.form is Form.STREAM:
            unseen, self._read_length = bytes(self._held[self._read_length :]), len(self._held)
            frames = [*self._frames.feed(unseen), *(self._frames.close() if last else ())]
            read = (frame.data for frame in frames if frame.data is not None)
            dialects = (recognise(json_text.read_or_none(data)) for data in read)
            # The first frame that shows a dialect decides: later frames may fit several dialects.
            self.dialect = next(filter(None, dialects), None)
        elif self.dialect is None and last:
            self.dialect = recognise(json_text.read_or_none(self.held))
        return self.dialect is not None

    def release(self) -> bytes:
        """Return the bytes that came, and hold them no longer, because the caller reads the reply
        from here on.
        """
        held = self.held
        self._held.clear()
        return held
