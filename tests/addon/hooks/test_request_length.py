"""The path of a Messages request from its hook to the server: its calls and their files."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import converter
from converter.addon.hooks.request_steps import RequestSteps
from converter.addon.keep.flow_record import RUNNING_RECORDS, FlowRecord
from tests.support.addon_flows import begin, running, streaming, wait

type Profile = Callable[[FrameType, str, object], None]
MOST_CALLS, MOST_FILES = 144, 22
CONVERTER = f"{Path(converter.__file__).parent}/"
EXTRAS = f"{CONVERTER}extras/"


def passed() -> list[tuple[str, str]]:
    """The calls of functions and methods with a name, in the addon and the core. Of what runs
    beside the request, such as a question to the server, nothing counts; extras may be deleted.
    """
    calls = list[tuple[str, str]]()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(CONVERTER) and not code.co_filename.startswith(EXTRAS)
        if event == "call" and ours and "<" not in code.co_name:
            calls.append((code.co_filename.removeprefix(CONVERTER), code.co_qualname))

    with running() as (addon, _):
        for counts in (False, True):  # what is found out once is known the second time
            flow = streaming()
            begin(addon, flow)
            record = RUNNING_RECORDS.pop(flow.id)
            wait(_taken(addon._requests, record, note if counts else None))
    return calls


async def _taken(steps: RequestSteps, record: FlowRecord, note: Profile | None) -> None:
    """Take a request; `note` hears of it alone."""
    sys.setprofile(note)
    try:
        await steps.run(record)
    finally:
        sys.setprofile(None)


def test_a_messages_request_passes_few_calls_in_few_files() -> None:
    calls = passed()
    assert len(calls) <= MOST_CALLS, "\n".join(map(" ".join, calls))
    assert len({file for file, _ in calls}) <= MOST_FILES, {file for file, _ in calls}
