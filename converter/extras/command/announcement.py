"""A mitmproxy script: once the proxy listens, say where it is and what to try.

It also ends the proxy when the terminal in which it was started is gone.
"""

import logging
import select
import sys
import threading
from collections.abc import Callable
from typing import Any

from mitmproxy import ctx
from mitmproxy.log import ALERT
from mitmproxy.proxy.mode_specs import ReverseMode

from converter.addon import extra_packages, start_lines
from converter.addon.servers.model_names import entries
from converter.addon.servers.server_key import server_key
from converter.core.dialects.model_facts import ModelFacts
from converter.core.dialects.table import DIALECTS
from converter.extras.command.addresses import CommandError
from converter.extras.command.doctor import facts_until_window
from converter.extras.command.link import (
    ServerLink,
    in_front_of,
    itself,
    key_words,
    wants_key,
)

SECONDS_TO_ANSWER = 2.0
BLANKS = "# Claude Code, Codex, llm show blank lines before answers: --set think_blanks=trim"
UNTOLD = ModelFacts()

logger = logging.getLogger(__name__)


def running() -> None:
    """mitmproxy's hook: everything listens now. Where it ends at once because of an error, that is
    its last word.
    """
    if failed():
        return
    if sys.stdout.isatty() and hasattr(select, "poll"):
        watch_terminal(sys.stdout.fileno(), ctx.master.shutdown)
    server = ReverseMode.parse(ctx.options.mode[0]).data
    options = ctx.options
    authority = options.ssl_verify_upstream_trusted_ca or ""
    model, facts = met(server, bool(options.ssl_insecure), authority)
    trimmed = str(ctx.options.think_blanks) == "trim"
    # with the token that opens it; mitmdump has none
    web: Any = getattr(ctx.master, "web_url", None)
    lines = announcement(server, proxy_address(), web and str(web), model, facts, trimmed)
    if hasattr(ctx.master, "keymap"):
        logger.log(ALERT, "Proxy: %s (in front of %s)", proxy_address(), server)
    else:
        print(lines, flush=True)


def failed() -> bool:
    """Tell whether mitmproxy is about to end because of an error at its start."""
    check: Any = ctx.master.addons.get("errorcheck")
    return bool(check and check.logger.has_errored)


def proxy_address() -> str:
    """Return where a client on this machine connects."""
    return start_lines.address(ctx.options.listen_host, ctx.options.listen_port)


def announcement(
    server: str,
    proxy: str,
    web: str | None,
    model: str,
    facts: ModelFacts = UNTOLD,
    trimmed: bool = False,
) -> str:
    """Return the words for the person who started the proxy. `trimmed`: no blank lines are left for
    agents to show.
    """
    lines = ["", f"Proxy:   {proxy}  (in front of {server})"]
    lines += [f"Model:   {model}  ({told})"] if (told := facts.line) else []
    page = extra_packages.load("page", "addon")  # a script's own `load` is a hook
    if web:  # the page has a link to mitmweb
        lines += [f"Watch:   {page.address(web)}" if page else f"mitmweb: {web}"]
    for dialect in DIALECTS:
        asked = start_lines.question(proxy, dialect, model)
        lines.append(f"\n# Ask in the {dialect.label.title} dialect:\n{asked}")
    starts = (line for _, line in start_lines.clients(proxy, model, facts.window))
    lines += ["\n# Or point a client here:", *starts]
    lines += [] if trimmed else [BLANKS]
    return "\n".join([*lines, "\nCtrl-C stops everything.\n"])


def met(server: str, insecure: bool = False, authority: str = "") -> tuple[str, ModelFacts]:
    """Return the server's first model and its facts; log a warning if no server answers yet, or if
    the server is another think-addon, whose replies are rewritten already.
    """
    link = ServerLink(server, server_key(), SECONDS_TO_ANSWER, insecure, authority)
    model = start_lines.UNKNOWN_MODEL
    try:
        reply = link.reply("/v1/models")
        if reply is None:
            logger.warning("%s does not answer yet", server)
        elif wants_key(reply):
            logger.warning("%s", key_words(server))
        if not (reply and (listed := reply.value())):
            return model, UNTOLD
        if behind := in_front_of(link):
            logger.warning("%s is %s: start it in front of %s", server, itself(behind), behind)
        model = start_lines.first_model(str(entry["id"]) for entry in entries(listed))
        return model, facts_until_window(link, model, listed)
    except CommandError as error:
        logger.warning("%s", error)
        return model, UNTOLD


def watch_terminal(file: int, end: Callable[[], object]) -> None:
    """Call `end` when the terminal, pipe or socket of a file descriptor has hung up.

    The signal that says so does not reach a child of GNU make when make leads the session, as in
    `tmux new -d 'make run'`: make waits for its children to end by themselves (4.3).
    """
    watch = select.poll()
    watch.register(file, 0)

    def wait() -> None:
        if any(happened & (select.POLLHUP | select.POLLERR) for _, happened in watch.poll()):
            end()

    threading.Thread(target=wait, daemon=True).start()
