"""`Recorder`, an addon, keeps exchanges as recordings while mitmproxy runs: all (option
`think_record`), or a chosen one (command `think.record`). The page has it keep, redact and replay
exchanges. `recording_work.py` does the work.

mitmproxy's loop only copies a flow, which is quick. One thread then reads, redacts and writes the
flows, one after another.
"""

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mitmproxy import command, ctx, exceptions
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow

from converter.addon.files import FileError, make_folder
from converter.addon.http_messages import content_of
from converter.addon.keep.flow_record import FlowRecord, notes_of, summary_of
from converter.addon.keep.notes import METADATA
from converter.addon.log_lines import LONGEST_LINE, announce, method_and_path, path_of
from converter.addon.mitmproxy_internals import value_of
from converter.addon.watcher import Watcher
from converter.core.wire.bounds import Bound
from converter.core.wire.printable import bounded
from converter.extras.recordings import flow_file, recording_work
from converter.extras.recordings.library import Expectation, Library
from converter.extras.recordings.recording import RecordingError

type WireStep = tuple[float | None, bytes, bytes]
"""The seconds from the request to a chunk of the server, the chunk, and the client's bytes for it.
The time is None for bytes that belong to no single chunk, such as those at the end of a reply.
"""

MOST_RECORDINGS = Bound(
    200, "recordings", "recordings that wait to be written", "not kept, with a line in the log"
)
"""A bound is needed: a fast server's small replies may come faster than they can be redacted."""

_log = logging.getLogger(__name__)
_THREAD_NAME = "think-recorder"
"""The name of the thread that writes the recordings."""

KEY, KEY_CONTEXTS = "t", ["flowlist", "flowview"]
"""The key, and the views of mitmproxy's console in which this key asks for a name and keeps the
chosen flow. mitmproxy 12.2 itself does not use the key there.
"""


class Recorder(Watcher):
    """The addon that writes recordings: of all exchanges (`think_record`), or of a chosen one by
    the command `think.record` in mitmproxy's or mitmweb's command bar, or by the key `KEY` in
    mitmproxy's console. When mitmproxy ends, all recordings that wait are written first.
    """

    name = "think-recorder"

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, _THREAD_NAME)
        self._waiting = set[Future[str]]()

    def ended(self, seen: FlowRecord) -> None:
        """Keep a finished exchange if `think_record` names a folder, and fewer than
        `MOST_RECORDINGS` wait to be written.
        """
        folder = str(value_of("think_record") or "")
        if folder and len(self._waiting) >= MOST_RECORDINGS:
            _log.error("think: an exchange is not recorded: %s wait to be written", MOST_RECORDINGS)
        elif folder:
            self._submit_recording(seen.flow, Path(folder).expanduser())

    def keep(
        self,
        flow: HTTPFlow,
        name: str,
        thinking: str | None = None,
        text: str | None = None,
        why: str = "",
    ) -> Future[str]:
        """Keep a flow as the recording `name`. `thinking` and `text`: the thinking and the text
        that the client should have got, None for a text that is not compared; `why`: the user's
        reason for this expectation.

        The future's result is a text of two lines for the user: the recording's path, and a command
        that checks it. The future has the error if the recording cannot be redacted or written. The
        method itself raises RecordingError for a flow that has no reply or cannot be recorded for
        another reason, and for a name that another recording has or that no recording may have.
        """
        folder = Path(str(ctx.options.think_record) or "recordings").expanduser().absolute()
        path = Library(folder).path(name)
        if path.exists():
            raise RecordingError(f"{path} is there already")
        # Called only for its error: a flow that cannot be recorded raises here, not in the thread.
        flow_file.from_flow(flow, name)
        make_folder(folder)
        expects = thinking is not None or text is not None
        expected = Expectation(thinking, text, why) if expects else None
        future = self._submit_recording(flow, folder, name, expected)
        future.add_done_callback(_announce_recording)
        return future

    def running(self) -> None:
        """Bind `KEY` to `think.record` in mitmproxy's console, unless the user has bound it."""
        keys = getattr(ctx.master, "keymap", None)
        if keys and not any(keys.get(context, KEY) for context in [*KEY_CONTEXTS, "global"]):
            line = "console.command think.record @focus"
            keys.add(KEY, line, KEY_CONTEXTS, "Keep this flow as a recording")

    @command.command("think.record")  # type: ignore[untyped-decorator]
    def record(self, *flow_and_name: str) -> None:
        """Keep a flow as a recording, without secrets, in the folder of think_record or
        ./recordings; with a name only, the last reply.
        """
        if len(flow_and_name) not in (1, 2):
            raise exceptions.CommandError("expected a name, or a flow and a name")
        *named, name = flow_and_name
        if named:
            # As in mitmproxy's other commands, `@focus`, `@marked` or a filter chooses the flow.
            [filter_text] = named
            flows = ctx.master.commands.call("view.flows.resolve", filter_text)
            if len(flows) != 1:
                fault = f"expected one flow, got {len(flows)} by {filter_text!r}"
                raise exceptions.CommandError(fault)
            flow = flows[0]
        else:
            flow = _last_reply()
        if flow.live:
            raise exceptions.CommandError("this flow is still running")
        if not isinstance(flow, HTTPFlow):
            raise exceptions.CommandError(f"a {flow.type} flow is no exchange with a model")
        try:
            self.keep(flow, name)
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: `~user` has no home.
            # mitmproxy's console (12.2) ends at an exception that is no CommandError.
            raise exceptions.CommandError(" ".join(str(error).split())) from None
        if not named:
            announce(f"recording: the last reply, {method_and_path(flow.request)}")

    def redacted_flow(self, flow: HTTPFlow) -> Future[HTTPFlow]:
        """Return a future of the flow, redacted as a recording of it would be. The recorder's
        thread redacts the flow.
        """
        return self._worker.submit(recording_work.redacted_flow, _copy_flow(flow))

    def wire_steps(self, flow: HTTPFlow) -> tuple[Sequence[WireStep], str]:
        """Return the steps of a complete reply (each chunk, with the bytes that the client got for
        it), and a note for the person who reads them; the note is empty if nothing is to be said.

        A flow does not hold the client's bytes for each chunk, so the reply is rewritten again. If
        the result differs from the bytes that the client got, the note says so. If the flow cannot
        be recorded, there is one step with all of the client's bytes, and the note says why.
        """
        got, began = content_of(flow.response), int(flow.request.timestamp_start)
        try:
            recording = flow_file.from_flow(flow.copy(), "reply")
            replay = replace(recording, reply_id=flow.id, created_at=began).replayed_as_received()
        except RecordingError as error:
            return [(None, got, got)], f"Only the client's bytes are kept: {error}"
        steps: list[WireStep] = [
            (step.chunk.at_seconds, step.chunk.data, step.client_bytes) for step in replay.steps
        ]
        steps += [(None, b"", replay.end)] if replay.end and not replay.broke_off else []
        other = "The client got other bytes than these, which the addon would write now."
        return steps, "" if replay.body == got else other

    def done(self) -> None:
        """Write the recordings that wait, and end the thread. After a reload of the script, another
        thread writes the exchanges that end later.
        """
        self._worker.shutdown(wait=True)
        self._worker = ThreadPoolExecutor(1, _THREAD_NAME)

    def _submit_recording(
        self, flow: HTTPFlow, folder: Path, name: str = "", expected: Expectation | None = None
    ) -> Future[str]:
        """Have the recorder's thread write a flow as a recording. Return a future, whose result has
        two lines: the recording's path, and a command that checks it. `folder`, `name` and
        `expected` are parameters of `recording_work.keep`.
        """
        future = self._worker.submit(_write_recording, _copy_flow(flow), folder, name, expected)
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        future.add_done_callback(partial(_log_failure, flow))
        return future


def _last_reply() -> Flow:
    """Return the flow of the last reply that the addon has rewritten. Raises CommandError if there
    is none.
    """
    commands = ctx.master.commands
    # mitmdump has no list of flows, and so lacks the command that looks flows up. There the error
    # below is raised.
    kept = "view.flows.resolve" in commands.commands
    flows: Sequence[Flow] = commands.call("view.flows.resolve", "@all") if kept else ()
    over = [flow for flow in flows if isinstance(flow, HTTPFlow) and not flow.live]
    ended = [flow for flow in over if summary_of(notes_of(flow))]
    if not ended:
        raise exceptions.CommandError("no reply is there yet")
    return max(ended, key=lambda flow: flow.timestamp_created)


def _write_recording(flow: HTTPFlow, folder: Path, name: str, expected: Expectation | None) -> str:
    """Write a flow as a recording, and its expectation if `expected` is not None. Return two lines
    for the user: `kept PATH`, and `next: COMMAND`, a command that checks the recording.
    """
    path = recording_work.keep(flow, folder, name, expected)
    return f"kept {path}\nnext: {Library(path.parent).command_line('check', path.stem)}"


def _copy_flow(flow: HTTPFlow) -> HTTPFlow:
    """Return a copy of a flow with only this addon's metadata: values of other addons may be of
    types that a flow file cannot hold.
    """
    copied: HTTPFlow = flow.copy()
    # `copy` sets another id. The redaction needs the flow's own id, which is a part of the ids that
    # the addon made for calls.
    copied.id = flow.id
    copied.metadata = {name: copied.metadata[name] for name in {METADATA} & copied.metadata.keys()}
    return copied


def _announce_recording(future: Future[str]) -> None:
    """Log the path of a recording that has been written, and a command that checks it."""
    if not future.exception():
        announce(f"recording: {future.result().replace('\n', '; ')}")


def _log_failure(flow: HTTPFlow, future: Future[Any]) -> None:
    """Log the error if a flow could not be written as a recording."""
    error = future.exception()
    fault = bounded(str(error), LONGEST_LINE)
    if isinstance(error, RecordingError):
        _log.info("recording: %s is not recorded: %s", path_of(flow.request), fault)
    elif isinstance(error, FileError):
        _log.error("think: an exchange is not recorded: %s", fault)
    elif error:
        _log.error("think: an exchange is not recorded, by a fault of the addon", exc_info=error)
