"""Commands for mitmproxy's and mitmweb's command bar: show and keep what models have said."""

import logging
from collections.abc import Sequence

from mitmproxy import command, ctx, exceptions
from mitmproxy.addons.export import pyperclip  # type: ignore[attr-defined]  # comes along
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow

from converter.addon.keep.flow_record import notes_of, summary_of
from converter.addon.keep.shown_flow import transcript_of
from converter.addon.log_lines import announce, in_a_line
from converter.addon.transcript import terminal
from converter.core.dialects.table import find
from converter.extras.recordings.recorder import Recorder
from converter.extras.recordings.recording import RecordingError

_log = logging.getLogger(__name__)

KEY, KEY_CONTEXTS = "t", ["flowlist", "flowview"]
"""What asks for a name and keeps the chosen flow, in mitmproxy's console; it does nothing there by
itself (12.2).
"""


class Commands:
    """An addon of its own: the commands, and a key for one of them."""

    name = "think-commands"

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def running(self) -> None:
        """Offer the key, unless the user has one of their own there."""
        keys = getattr(ctx.master, "keymap", None)
        if keys and not any(keys.get(context, KEY) for context in [*KEY_CONTEXTS, "global"]):
            line = "console.command think.record @focus"
            keys.add(KEY, line, KEY_CONTEXTS, "Keep this flow as a recording")

    @command.command("think.show")  # type: ignore[untyped-decorator]
    def show(self, flow: Flow, target: str = "log") -> None:
        """Write the flow's conversation, thinking set apart, to the event log; with the target
        "clipboard", copy it.
        """
        if target not in ("log", "clipboard"):
            raise exceptions.CommandError(f"expected log or clipboard, got {target!r}")
        endpoint = isinstance(flow, HTTPFlow) and find(flow.request.method, flow.request.path)
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

    @command.command("think.record")  # type: ignore[untyped-decorator]
    def record(self, *flow_and_name: str) -> None:
        """Keep a flow as a recording, without secrets, in the folder of think_record or
        ./recordings; with a name only, the last reply.
        """
        if len(flow_and_name) not in (1, 2):
            raise exceptions.CommandError("expected a name, or a flow and a name")
        *named, name = flow_and_name
        flow = _one_flow(named[0]) if named else _last_reply()
        if flow.live:
            raise exceptions.CommandError("this flow is still running")
        if not isinstance(flow, HTTPFlow):
            raise exceptions.CommandError(f"a {flow.type} flow is no exchange with a model")
        try:
            self._recorder.keep(flow, name)
        except (RecordingError, OSError, ValueError, RuntimeError) as error:  # no such home, say
            # any other exception would end mitmproxy's console (12.2)
            raise exceptions.CommandError(" ".join(str(error).split())) from None
        if not named:
            announce(f"recording: the last reply, {in_a_line(flow)}")


def _one_flow(written: str) -> Flow:
    """Return the one flow that `@focus`, `@marked` or a filter finds."""
    flows: Sequence[Flow] = ctx.master.commands.call("view.flows.resolve", written)
    if len(flows) != 1:
        raise exceptions.CommandError(f"expected one flow, got {len(flows)} by {written!r}")
    return flows[0]


def _last_reply() -> Flow:
    """Return the flow of the last reply that the addon has rewritten."""
    commands = ctx.master.commands  # of mitmdump, which keeps no flows, without this one
    kept = "view.flows.resolve" in commands.commands
    flows: Sequence[Flow] = commands.call("view.flows.resolve", "@all") if kept else ()
    over = [flow for flow in flows if isinstance(flow, HTTPFlow) and not flow.live]
    ended = [flow for flow in over if summary_of(notes_of(flow))]
    if not ended:
        raise exceptions.CommandError("no reply is there yet")
    return max(ended, key=lambda flow: flow.timestamp_created)
