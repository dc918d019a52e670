"""A broken prompt is reported with the reply, unless the server reports that its cache held."""

from collections.abc import Mapping
from pathlib import Path

from mitmproxy.http import HTTPFlow

from converter.addon.keep.flow_record import BEFORE, notes_of, summary_of
from converter.extras.prompt_cache.watcher import PromptCache
from tests.support.addon_flows import CHAT, answer, ask, part_of, request, response, running
from tests.support.frames import whole
from think_addon import ThinkAddon

FIRST = {"role": "user", "content": "Hi"}
MORE = [{"role": "assistant", "content": "b"}, {"role": "user", "content": "More"}]


def exchange(addon: ThinkAddon, system: str, *more: Mapping[str, object]) -> HTTPFlow:
    messages = [{"role": "system", "content": system}, FIRST, *more]
    flow = ask(addon, request(CHAT, {"model": "small", "messages": messages}))
    answer(addon, flow, response(), whole("b"))
    return flow


def test_a_broken_prompt_is_reported_and_counted(tmp_path: Path) -> None:
    with running(record=str(tmp_path)) as (addon, _):
        first = exchange(addon, "Be brief.")
        second = exchange(addon, "Be long.", *MORE)
        assert second.metadata[BEFORE] == first.id
        assert "the cached prompt was broken at message 0 (system)" in second.comment
        assert summary_of(notes_of(second))["prefix_broken"] == 1
        assert not part_of(addon, PromptCache)._followed


def test_a_prompt_that_goes_on_says_nothing() -> None:
    with running() as (addon, _):
        exchange(addon, "Be brief.")
        second = exchange(addon, "Be brief.", *MORE)
    assert BEFORE not in second.metadata
    assert "broken" not in second.comment


def test_a_clients_own_request_breaks_nothing() -> None:
    """Claude Code sums its session up without its tools, which no user can change."""
    summary = {"role": "user", "content": "Your task is to create a detailed summary of all."}
    with running() as (addon, _):
        exchange(addon, "Be brief.")
        second = exchange(addon, "Sum up.", *MORE[:1], summary)
    assert BEFORE not in second.metadata
