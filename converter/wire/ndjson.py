"""Bytes to lines and back: a JSON object on each, cut wherever the network cut them."""

import re

from converter.wire.sse import Frame, FrameDecoder, Framing


class LineDecoder(FrameDecoder):
    """Bytes in, lines out, cut anywhere. `close` gives out a last line without its end."""

    ends = re.compile(rb"\n")
    longest = 1
    usual = b"\n"

    def parse(self, raw: bytes) -> Frame:
        """Return the line as a frame; one of blanks says nothing."""
        said = raw.strip()
        return Frame(raw, said or None, comment=not said)


def _write(data: bytes, _event: str) -> bytes:
    return data + b"\n"


NDJSON = Framing(
    "application/x-ndjson",
    LineDecoder,
    _write,
    re.compile(rb"\s*\{[^\n]*\}\r?\n\s*\{"),  # one JSON value has no such place
    (b"\n",),
    bare=True,
)
"""Lines of JSON."""
