"""What mitmproxy replays: a request sent again is a new exchange, a reply given again was rewritten
before.
"""

from mitmproxy.addons.serverplayback import ServerPlayback
from mitmproxy.http import HTTPFlow

from converter.recordings.notes import METADATA
from converter.shell.hooks import replays
from converter.shell.mitmproxy_internals import is_replayed_by_the_server
from tests.support.addon_flows import CHAT, EVENT_STREAM, request, response, streaming
from tests.support.frames import stream
from tests.support.kept_flows import kept, watched


def sent_again() -> HTTPFlow:
    flow = kept(streaming(), response(EVENT_STREAM), *stream("<think>a</think>", "b"))
    flow.is_replay = "request"
    return flow


def test_what_was_said_of_the_last_reply_is_taken_back() -> None:
    flow = sent_again()
    assert flow.comment
    replays.forget(flow)
    assert (flow.comment, flow.marked, METADATA in flow.metadata, flow.modified()) == (
        "",
        "",
        False,
        False,
    )


def test_what_a_person_noted_stays() -> None:
    flow = sent_again()
    flow.comment, flow.marked = "mine", ":grapes:"
    replays.forget(flow)
    assert (flow.comment, flow.marked) == ("mine", ":grapes:")


def test_a_flow_that_is_not_sent_again_keeps_all() -> None:
    flow = kept(streaming(), response(EVENT_STREAM), *stream("<think>a</think>", "b"))
    replays.forget(flow)
    assert METADATA in flow.metadata


def test_server_replay_has_a_reply_to_what_it_was_given() -> None:
    flow = kept(request(CHAT), response(), b"{}")
    with watched() as there:
        playback = ServerPlayback()
        there.add(playback)
        assert not is_replayed_by_the_server(flow)
        playback.load_flows([flow])
        assert is_replayed_by_the_server(flow)
        assert not is_replayed_by_the_server(request("/other"))
