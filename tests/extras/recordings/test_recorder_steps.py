"""The frames of both sides: all bytes, in the chunks in which they came, whether it runs or not."""

from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.extras.page.open_page import WINDOW, running_steps, window_values
from converter.extras.recordings.recorder import Recorder
from tests.support.addon_flows import CHAT, EVENT_STREAM, MESSAGES, request, response, streaming
from tests.support.frames import stream
from tests.support.kept_flows import kept, pass_on, saved, watched

steps_of = Recorder().wire_steps
FRAMES = stream("<think>a</thi", "nk>", "b")


def test_each_chunk_has_what_went_out_for_it() -> None:
    flow = kept(streaming(CHAT), response(EVENT_STREAM), *FRAMES)
    assert flow.response
    for steps, note in (steps_of(flow), steps_of(saved(flow))):
        assert [came for _, came, _ in steps if came] == FRAMES
        assert b"".join(went for _, _, went in steps) == flow.response.content
        assert note == ""
        assert steps[1][2] == b"" or b"reasoning_content" in steps[1][2]


def test_names_and_times_of_the_addons_own_are_the_clients() -> None:
    body = {"model": "small", "input": "Hi", "stream": True}
    flow = kept(request("/v1/responses", body), response(EVENT_STREAM), *FRAMES)
    for each in (flow, saved(flow)):
        steps, note = steps_of(each)
        assert note == ""
        assert f"resp_{flow.id}".encode() in b"".join(went for _, _, went in steps)


def test_a_running_reply_has_the_same_steps_as_when_it_is_over() -> None:
    with watched() as there:
        flow = there.begin(streaming(MESSAGES), response(EVENT_STREAM))
        running = RUNNING_RECORDS[flow.id].sides
        pass_on(flow, *FRAMES[:3])
        first = running_steps(running, 0)
        pass_on(flow, *FRAMES[3:])
        steps = [*first, *running_steps(running, len(first))]
        assert steps == running_steps(running, 0)
        pass_on(flow, b"")
        there.end(flow)
    complete, _ = steps_of(flow)
    assert [step[1:] for step in complete if step[1]] == [step[1:] for step in steps]


def test_a_window_has_a_limit_and_bytes_that_are_no_text_are_escaped() -> None:
    steps = [(0.5, b"\xff", b"a")] * (WINDOW + 1)
    assert window_values(steps[WINDOW:], WINDOW, WINDOW + 1, "a note") == {
        "from": WINDOW,
        "total": WINDOW + 1,
        "rows": [[0.5, "\\xff", "a"]],
        "note": "a note",
    }
    assert len(window_values(steps, 0, WINDOW + 1)["rows"]) == WINDOW  # type: ignore[arg-type]
