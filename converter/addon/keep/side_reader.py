"""Reads one side of an exchange (the client's or the server's bytes of a reply) as a transcript,
while the reply still comes.
"""

from converter.addon.keep.flow_record import FlowRecord
from converter.addon.transcript.accumulator import News
from converter.addon.transcript.reply import AS_WRITTEN, ReplyReader
from converter.addon.transcript.turns import Transcript
from converter.core.reading.reading import Expected


class SideReader:
    """Reads a running reply, as far as it has come. `of_server`: True to read the bytes that the
    server has sent, False for those that the client has got.

    Each byte is read once, however often the methods are called.
    """

    def __init__(self, record: FlowRecord, of_server: bool = False) -> None:
        self.record = record
        self._of_server = of_server
        self._read_bytes = 0
        self._reader = ReplyReader(AS_WRITTEN)
        if of_server:
            expected = record.awaited.expected if record.awaited else Expected()
            # Only these two facts are taken over, not the limits of thinking: a thought that the
            # addon cuts for the client is shown in full.
            shown = Expected(expected.initial, expected.model)
            self._reader = ReplyReader(record.exchange.settings, expected=shown)

    def news(self) -> list[News]:
        """Return what has come since the last call: the parts that began, and new text of the part
        that goes on.
        """
        sides = self.record.sides
        came = b"".join(sides.chunks) if self._of_server else sides.client_bytes or b""
        fresh = bytes(came[self._read_bytes :])
        self._read_bytes += len(fresh)
        return self._reader.feed(fresh) if fresh else []

    def close(self) -> list[News]:
        """End the reply, and return its last parts and texts."""
        return [*self.news(), *self._reader.close()]

    def transcript(self) -> Transcript:
        """Return the transcript of the reply so far."""
        self.news()
        return self._reader.transcript()
