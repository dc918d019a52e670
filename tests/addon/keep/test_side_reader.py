"""A reply that still comes, read once however often it is looked at."""

from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.addon.keep.side_reader import SideReader
from converter.core.model.conversation import TextBlock, ThinkingBlock
from tests.support.addon_flows import EVENT_STREAM, ask, response, running, streaming, wait
from tests.support.frames import text


def test_both_sides_are_read_as_they_come() -> None:
    with running() as (addon, _):
        flow = ask(addon, streaming())
        record = RUNNING_RECORDS[flow.id]
        record.sides.keeps_bodies = True
        flow.response = response(EVENT_STREAM)
        wait(addon.responseheaders(flow))
        tap = flow.response.stream
        assert callable(tap)
        got, sent = SideReader(record), SideReader(record, of_server=True)
        for number, frame in enumerate(text("<think>a</think>", "b")):
            tap(frame)
            for reader in (got, sent):
                parts = [part for turn in reader.transcript().turns for part in turn.parts]
                assert [type(part) for part in parts][:1] == [ThinkingBlock]
                assert sum(isinstance(part, TextBlock) for part in parts) == number
        tap(b"")
        got.close()
        assert got.transcript() == got.transcript()
