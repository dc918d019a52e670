"""The command `think.record` of mitmproxy's and mitmweb's command bar, and a key for it."""

from collections.abc import Sequence

from mitmproxy import command, ctx, exceptions
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow

from converter.addon.keep.flow_record import notes_of, summary_of
from converter.addon.log_lines import announce, in_a_line
from converter.extras.recordings.recorder import Recorder

KEY, KEY_CONTEXTS = "t", ["flowlist", "flowview"]
"""The key in mitmproxy's console that asks for a name and keeps the chosen flow; mitmproxy has no
use for the key there (12.2).
"""


class RecordCommand:
    """An addon of its own: the command and the key."""

    name = "think-record"

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def running(self) -> None:
        """Offer the key, unless the user has one of their own there."""
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
        flow = _one_flow(named[0]) if named else _last_reply()
        if flow.live:
            raise exceptions.CommandError("this flow is still running")
        if not isinstance(flow, HTTPFlow):
            raise exceptions.CommandError(f"a {flow.type} flow is no exchange with a model")
        try:
            self._recorder.keep(flow, name)
        except (OSError, ValueError, RuntimeError) as error:  # no such home, say
            # any other exception would end mitmproxy's console (12.2)
            raise exceptions.CommandError(" ".join(str(error).split())) from None
        if not named:
            announce(f"recording: the last reply, {in_a_line(flow.request)}")


def _one_flow(written: str) -> Flow:
    """Return the only flow that matches `@focus`, `@marked` or a filter. Raises CommandError."""
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
