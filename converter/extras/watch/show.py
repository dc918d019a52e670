"""`Show`: the addon of the command `think.show`, which logs a conversation as text, or copies it to
the clipboard. `converter.addon.transcript` writes the text.
"""

import logging

from mitmproxy import command, exceptions
from mitmproxy.addons.export import pyperclip  # type: ignore[attr-defined]  # mitmproxy needs it
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow

from converter.addon.keep.shown_flow import transcript_of
from converter.addon.transcript import terminal
from converter.core.dialects.table import find_endpoint

_log = logging.getLogger(__name__)


class Show:
    """The addon that has the command `think.show`."""

    name = "think-show"

    @command.command("think.show")  # type: ignore[untyped-decorator]
    def show(self, flow: Flow, target: str = "log") -> None:
        """Write the flow's conversation, thinking set apart, to the event log, or copy it if the
        target is "clipboard".
        """
        if target not in ("log", "clipboard"):
            raise exceptions.CommandError(f"expected log or clipboard, got {target!r}")
        endpoint = isinstance(flow, HTTPFlow) and find_endpoint(
            flow.request.method, flow.request.path
        )
        if not isinstance(flow, HTTPFlow) or not endpoint or not endpoint[0].is_request:
            raise exceptions.CommandError("this flow is no conversation with a model")
        shown = terminal.write(*transcript_of(flow))
        if target == "log":
            _log.info("conversation:\n%s", shown.rstrip("\n"))
            return
        try:
            pyperclip.copy(shown)
        except pyperclip.PyperclipException as error:
            raise exceptions.CommandError(
                f"there is no clipboard: {' '.join(str(error).split())}"
            ) from None
