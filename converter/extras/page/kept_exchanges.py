"""`KeptExchanges`, an addon, writes finished exchanges to the file of `think_page=FILE`, and adds
the file's exchanges to mitmweb's list when mitmweb starts or the option changes. `exchange_file.py`
has the file itself.

An exchange is redacted as a recording is before it is written; without the extra `recordings`
nothing is written. An exchange that a person deletes from mitmweb's list is deleted from the file
too. If mitmweb clears its whole list, as it does before it opens another flow file, nothing is
deleted from the file.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mitmproxy import ctx
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow
from mitmproxy.io import tnetstring

from converter.addon.keep.flow_record import FlowRecord
from converter.addon.mitmproxy_internals import flow_list, value_of
from converter.addon.watcher import Watcher

if TYPE_CHECKING:
    # Imported for types only: mitmproxy's released binary of mitmdump lacks this module.
    from mitmproxy.addons.view import View

    from converter.extras.page.exchange_file import ExchangeFile

_log = logging.getLogger(__name__)


class KeptExchanges(Watcher):
    """The addon that writes finished exchanges to the file, and reads them at the start."""

    name = "think-page-file"

    def __init__(self) -> None:
        self._path = ""
        self._file: ExchangeFile | None = None
        self._view: View | None = None

    def running(self) -> None:
        """Add the file's exchanges to mitmweb's list. Warn if `think_page` names a file but the
        program has no list, as mitmdump.
        """
        self.configure({"think_page"})
        if value_of("think_page") and flow_list() is None:
            _log.warning("think: think_page: expected mitmweb, because it keeps mitmweb's list")

    def configure(self, updated: set[str]) -> None:
        """Close the old file when `think_page` has changed, open the new one, and add those of its
        exchanges to mitmweb's list that the list lacks. An error is logged. Do nothing in a program
        without a list.
        """
        view, option = flow_list(), str(value_of("think_page") or "")
        if "think_page" not in updated or option == self._path or view is None:
            return
        self.done()
        self._path, path = option, Path(option).expanduser()
        if not option:
            return
        # Imported here, because SQLite takes a megabyte of memory and most proxies have no such
        # file.
        from converter.extras.page.exchange_file import ExchangeFile  # noqa: PLC0415

        try:
            file = ExchangeFile(path)
            flows = _read(file.flows())
        except OSError as error:
            _log.error("think: think_page: expected a file of exchanges, got %s: %s", path, error)
            return
        view.add([flow for flow in flows if view.get_by_id(flow.id) is None])
        view.sig_store_remove.connect(self._removed)
        self._file, self._view = file, view

    def ended(self, seen: FlowRecord) -> None:
        """Redact a finished exchange in the thread of the extra `recordings`, then write it to the
        file. Without that extra nothing is written.
        """
        recorder = ctx.master.addons.get("think-recorder") if self._file else None
        if recorder and self._file:
            redacted: Future[HTTPFlow] = recorder.redacted_flow(seen.flow)
            redacted.add_done_callback(partial(self._write, self._file, seen.flow.id))

    def done(self) -> None:
        """Close the file. mitmproxy calls this hook at its end and before a reload."""
        if self._view:
            self._view.sig_store_remove.disconnect(self._removed)
        if self._file:
            self._file.close()
        self._path, self._file, self._view = "", None, None

    def _write(self, file: "ExchangeFile", name: str, redacted: Future[HTTPFlow]) -> None:
        """Write a redacted exchange to the file, unless mitmweb no longer lists it. If it could not
        be redacted, log why. `name`: the id of its flow.
        """
        if error := redacted.exception():
            _log.info("think: think_page: an exchange is not kept: %s", error)
            return
        flow, view = redacted.result(), self._view
        _change_or_log(
            lambda: file.keep(
                name,
                flow.timestamp_created,
                tnetstring.dumps(flow.get_state()),
                lambda: view is not None and view.get_by_id(name) is not None,
            )
        )

    def _removed(self, flow: Flow) -> None:
        """Delete from the file an exchange that a person has deleted from mitmweb's list."""
        if file := self._file:
            _change_or_log(lambda: file.forget(flow.id))


def _change_or_log(change: Callable[[], None]) -> None:
    """Call `change`, which changes the file; log an error if that fails."""
    try:
        change()
    except (OSError, ValueError) as error:  # ValueError: the text of a flow has a lone surrogate.
        _log.error("think: think_page: the file is not changed: %s", error)


def _read(flows: list[bytes]) -> list[HTTPFlow]:
    """Return the exchanges of the file as flows; log an error for each that cannot be read."""
    read = list[HTTPFlow]()
    for data in flows:
        try:
            state: Any = tnetstring.loads(data)
            flow = HTTPFlow.from_state(state)
            read += [flow] if isinstance(flow, HTTPFlow) else []
        except Exception as error:  # `from_state` checks no values, so any error may come.
            _log.error("think: think_page: an exchange cannot be read: %s", error)
    return read
