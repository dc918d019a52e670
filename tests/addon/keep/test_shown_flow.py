"""A flow as people read it."""

from pathlib import Path

from converter.addon.keep.shown_flow import (
    answer_of,
    backup_of,
    facts_of,
    reading_of,
    sent_of,
    transcript_of,
)
from converter.addon.transcript.reply import AS_WRITTEN
from converter.core.model.conversation import TextBlock, ThinkingBlock
from tests.support.addon_flows import CHAT, MESSAGES, answer, ask, request, response, running
from tests.support.frames import whole


def test_a_flow_shows_the_client_and_has_the_server_behind_it(tmp_path: Path) -> None:
    with running(record=str(tmp_path)) as (addon, _):
        flow = ask(addon, request(MESSAGES))
        assert sent_of(flow) is flow.request or sent_of(flow) is None  # nothing has come
        answer(addon, flow, response(), whole("<think>a</think>b"))
    sent, came = sent_of(flow), backup_of(flow)
    assert sent is not None
    assert came is not None
    assert (flow.request.path, sent.path) == (MESSAGES, CHAT)
    assert b"<think>" in (came.raw_content or b"")
    [turn] = answer_of(flow).turns
    assert [type(part) for part in turn.parts] == [ThinkingBlock, TextBlock]
    assert [each.role for each in transcript_of(flow)[0].turns] == ["user", "assistant"]
    assert facts_of(flow)["thoughts"] == 1
    assert reading_of(flow, of_server=False)[0] is AS_WRITTEN
    assert reading_of(flow, of_server=True)[0] is not AS_WRITTEN


def test_no_flow_has_no_facts() -> None:
    assert (sent_of(None), backup_of(None), facts_of(None)) == (None, None, {})
