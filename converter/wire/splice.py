"""Frames for a client that differ in their words only, and in a number where frames are numbered.

One frame that was written in full teaches the pieces around its words; the next ones are put
together of these and of JSON strings as the server wrote them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from converter.wire import json_text

_DIGITS = b"0123456789"


@dataclass(frozen=True, slots=True)
class Seam:
    """A frame around its words: they go between each two `pieces`, their number behind `counter`,
    which stands in the first one, if it is not empty.
    """

    pieces: tuple[bytes, ...]
    counter: bytes = b""

    @property
    def places(self) -> int:
        """The number of places that hold the words."""
        return len(self.pieces) - 1

    def gives(self, frame: bytes, text: str) -> bool:
        """Tell whether a frame says this text in this way."""
        return _without_number(frame, self.counter) == quoted(text).join(self.pieces)

    def write(self, words: Sequence[bytes], first: int) -> bytes:
        """Return a frame for each of the words, JSON without its quotation marks. `first`: the
        number of the first frame.
        """
        if self.counter:
            begin, counter, behind = self.pieces[0].partition(self.counter)
            begin += counter
            ends = Seam((behind, *self.pieces[1:]))
            frames = (ends.write([word], 0) for word in words)
            return b"".join([b"%b%d%b" % (begin, at, end) for at, end in enumerate(frames, first)])
        if self.places == 1:
            head, tail = self.pieces[0] + b'"', b'"' + self.pieces[1]
            return head + (tail + head).join(words) + tail
        return b"".join([(b'"' + word + b'"').join(self.pieces) for word in words])


def splice_of(frame: bytes, text: str, counter: bytes = b"") -> Seam:
    """Return the frame around its text."""
    return Seam(tuple(_without_number(frame, counter).split(quoted(text))), counter)


def quoted(text: str) -> bytes:
    """Return the text as frames hold it."""
    return json_text.write(text)


def _without_number(frame: bytes, counter: bytes) -> bytes:
    if not counter:
        return frame
    begin, name, rest = frame.partition(counter)
    return begin + name + rest.lstrip(_DIGITS)
