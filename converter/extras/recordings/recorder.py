"""Keep exchanges as recordings while mitmproxy runs: each one with `think_record`, a chosen one
with the command `think.record`.

A flow is copied on mitmproxy's loop, which is quick. Then flows are read, redacted and written one
after another in a thread.
"""

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.addon.files import FileError, make_folder
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.keep.notes import METADATA
from converter.addon.log_lines import LONGEST_LINE, announce, path_of
from converter.addon.mitmproxy_internals import value_of
from converter.addon.watcher import Watcher
from converter.core.wire.bounds import Bound
from converter.core.wire.printable import bounded
from converter.extras.recordings import flow_file, recording_work
from converter.extras.recordings.library import Expectation, Library
from converter.extras.recordings.recording import RecordingError
from converter.extras.recordings.recording_work import NothingToKeepError, Order
from converter.extras.recordings.wire_steps import WireStep, steps_of

MOST_RECORDINGS = Bound(
    200,
    "recordings",
    "recordings that wait to be written",
    "scrubbing takes longer than a fast server's small replies",
    "not kept, with a line in the log",
)

_log = logging.getLogger(__name__)

_OWN_RECORDINGS = Path(__file__).resolve().parents[3] / "recordings"
"""The project's own, in a checkout: a person's are not put among them unasked."""


class Recorder(Watcher):
    """An addon of its own. What it was given is written when mitmproxy ends at the latest."""

    name = "think-recorder"

    def __init__(self) -> None:
        self._worker: ThreadPoolExecutor | None = None
        self._waiting = set[Future[Path]]()

    def ended(self, seen: FlowRecord) -> None:
        """Keep an exchange that is over, if all are kept."""
        folder = str(value_of("think_record") or "")
        if folder and len(self._waiting) >= MOST_RECORDINGS:
            _log.error("think: no recording: %s wait to be written", MOST_RECORDINGS)
        elif folder:
            self._hand_over(seen.flow, Order(str(Path(folder).expanduser())))

    def keep(self, flow: HTTPFlow, name: str, expected: Expectation | None = None) -> Future[Path]:
        """Keep a flow under a name, and what it should read; the file is there when the future is
        done. Raises RecordingError.
        """
        folder = Path(str(ctx.options.think_record) or usual_folder()).expanduser().absolute()
        path = Library(folder).path(name)
        if path.exists():
            raise RecordingError(f"{path} is there already")
        flow_file.from_flow(flow, name)  # says at once when there is nothing to keep
        make_folder(folder)
        future = self._hand_over(flow, Order(str(folder), name, expected))
        future.add_done_callback(_announce)
        return future

    def keep_expected(
        self, flow: HTTPFlow, name: str, thinking: str | None, text: str | None, why: str
    ) -> Future[str]:
        """Keep a flow under a name, and what it should read, if that is given; the future tells
        where it was kept. Raises RecordingError.
        """
        asks = thinking is not None or text is not None
        kept = self.keep(flow, name, Expectation(thinking, text, why) if asks else None)
        answer = Future[str]()

        def tell(written: Future[Path]) -> None:
            if error := written.exception():
                answer.set_exception(error)
            else:
                answer.set_result(told(written.result()))

        kept.add_done_callback(tell)
        return answer

    def redacted(self, flow: HTTPFlow) -> Future[HTTPFlow]:
        """Return a flow as its recording would show it; see `recording_work.redacted_flow`."""
        self._worker = self._worker or ThreadPoolExecutor(1, "think-recorder")
        return self._worker.submit(recording_work.redacted_flow, _copied(flow))

    def steps(self, flow: HTTPFlow) -> tuple[Sequence[WireStep], str]:
        """Return the steps of a reply that is complete; see `wire_steps.steps_of`."""
        return steps_of(flow)

    def done(self) -> None:
        """Finish the recordings that wait."""
        if self._worker:
            self._worker.shutdown(wait=True)
            self._worker = None

    def _hand_over(self, flow: HTTPFlow, order: Order) -> Future[Path]:
        self._worker = self._worker or ThreadPoolExecutor(1, "think-recorder")
        future = self._worker.submit(recording_work.keep, _copied(flow), order)
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        future.add_done_callback(partial(_log_failure, flow))
        return future


def usual_folder() -> Path:
    """Return where a recording goes when nobody has said."""
    folder = Path("recordings").resolve()
    return folder.with_name("captures") if folder == _OWN_RECORDINGS else folder


def told(path: Path) -> str:
    """Return where a recording was kept, and the command that comes next, on a line each."""
    return f"kept {path}\nnext: {Library(path.parent).command('check', path.stem)}"


def _copied(flow: HTTPFlow) -> HTTPFlow:
    """Return a copy without what other addons have noted, which may be anything."""
    copied: HTTPFlow = flow.copy()
    copied.id = flow.id  # it stands in ids that were made for the exchange
    copied.metadata = {name: copied.metadata[name] for name in {METADATA} & copied.metadata.keys()}
    return copied


def _announce(written: Future[Path]) -> None:
    if not written.exception():
        announce(f"recording: {told(written.result()).replace('\n', '; ')}")


def _log_failure(flow: HTTPFlow, written: Future[Any]) -> None:
    """A recording that cannot be kept costs a line of the log."""
    error = written.exception()
    fault = bounded(str(error), LONGEST_LINE)
    if isinstance(error, NothingToKeepError):
        _log.info("recording: none of %s: %s", path_of(flow.request), fault)
    elif isinstance(error, FileError):
        _log.error("think: no recording: %s", fault)
    elif error:
        _log.error("think: no recording, by a fault of the addon", exc_info=error)
