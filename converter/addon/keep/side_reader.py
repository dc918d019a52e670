"""A running reply, as people read it."""

from converter.addon.keep.flow_record import FlowRecord
from converter.addon.transcript.accumulator import News
from converter.addon.transcript.reply import AS_WRITTEN, ReplyReader
from converter.addon.transcript.turns import Transcript
from converter.core.reading.reading import Expected


class SideReader:
    """One side of a running reply. Each byte is read once, however often somebody looks."""

    def __init__(self, record: FlowRecord, of_server: bool = False) -> None:
        self.record = record
        self._of_server = of_server
        self._read = 0
        self._reader = ReplyReader(AS_WRITTEN)
        if of_server:
            expected = record.awaited.expected if record.awaited else Expected()
            # without limits, so that thoughts are shown in full
            shown = Expected(expected.initial, expected.model)
            self._reader = ReplyReader(record.exchange.settings, expected=shown)

    def news(self) -> list[News]:
        """Return the news since the last call."""
        sides = self.record.sides
        came = b"".join(sides.chunks) if self._of_server else sides.got or b""
        fresh = bytes(came[self._read :])
        self._read += len(fresh)
        return self._reader.feed(fresh) if fresh else []

    def close(self) -> list[News]:
        """Return the last news of a reply that is over."""
        return [*self.news(), *self._reader.close()]

    def transcript(self) -> Transcript:
        """Return the transcript of all that has come."""
        self.news()
        return self._reader.transcript()
