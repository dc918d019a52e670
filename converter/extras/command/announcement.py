"""A mitmproxy script: once the proxy listens, say where it is and what to try.

It also ends the proxy when the terminal in which it was started is gone.
"""

import logging
import select
import shutil
import sys
import threading
from collections.abc import Callable
from difflib import get_close_matches
from textwrap import wrap
from typing import Any

from mitmproxy import ctx
from mitmproxy.log import ALERT
from mitmproxy.proxy.mode_specs import ReverseMode

from converter.addon import extra_packages, start_lines
from converter.addon.mitmproxy_internals import undeclared_options
from converter.addon.servers.model_names import entries
from converter.addon.servers.server_key import server_key
from converter.core.dialects.model_facts import ModelFacts
from converter.core.dialects.table import DIALECTS
from converter.core.wire.printable import one_line
from converter.extras.command.addresses import CommandError
from converter.extras.command.clients import CLIENTS
from converter.extras.command.doctor import facts_until_window
from converter.extras.command.link import (
    ServerLink,
    in_front_of,
    itself,
    key_remedy,
    wants_key,
)

SECONDS_TO_ANSWER = 2.0
WIDTH = 80
"""Columns of the narrowest usual terminal."""
STOPS = "Ctrl-C stops everything."
UNTOLD = ModelFacts()

logger = logging.getLogger(__name__)


def running() -> None:
    """Print the announcement, as mitmproxy's hook for the moment when everything listens. After an
    error at the start print none, because mitmproxy ends at once.
    """
    for name in undeclared_options():
        alike = get_close_matches(name, ctx.options.keys(), 1, 0.7)
        meant = f"; did you mean {alike[0]}?" if alike else ""
        logger.error("no option %s%s", one_line(name), meant)
    if failed():
        return
    if sys.stdout.isatty() and hasattr(select, "poll"):
        watch_terminal(sys.stdout.fileno(), ctx.master.shutdown)
    server = ReverseMode.parse(ctx.options.mode[0]).data
    options = ctx.options
    authority = options.ssl_verify_upstream_trusted_ca or ""
    model, facts, fault = met(server, bool(options.ssl_insecure), authority)
    # with the token that opens it; mitmdump has none
    web: Any = getattr(ctx.master, "web_url", None)
    lines = announcement(server, proxy_address(), web and str(web), model, facts, fault)
    if hasattr(ctx.master, "keymap"):
        logger.log(ALERT, "Proxy: %s (in front of %s)", proxy_address(), server)
    else:
        print(lines, flush=True)


def failed() -> bool:
    """Return True if mitmproxy is about to end because of an error at its start."""
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
    fault: str = "",
) -> str:
    """Return the lines for the person who started the proxy. `fault`: why no model can be asked,
    empty where one can.
    """
    lines = ["", f"Proxy:   {proxy}  (in front of {server})"]
    about = fault or (f"{model}  ({facts.line})" if facts.line else "")
    lines += wrap(f"Model:   {about}", WIDTH, subsequent_indent=" " * 9) if about else []
    page = extra_packages.load("page", "addon")  # a script's own `load` is a hook
    if web:  # the page has a link to mitmweb
        lines += [f"Watch:   {page.address(web)}" if page else f"mitmweb: {web}"]
    if model == start_lines.UNKNOWN_MODEL:
        return "\n".join([*lines, f"\n{STOPS}\n"])
    for dialect in DIALECTS:
        question = start_lines.question(proxy, dialect, model)
        lines.append(f"\n# Ask in the {dialect.label.title} dialect:\n{question}")
    starts = (line for _, line in start_lines.clients(proxy, model, facts.window))
    return "\n".join([*lines, "\n# Or point a client here:", *starts, *_one_word(), f"\n{STOPS}\n"])


def _one_word() -> list[str]:
    """Return the line of the clients that are installed here and need no settings by hand."""
    names = [name for name, client in CLIENTS.items() if shutil.which(client.program)]
    first, *others = names or [""]
    also = f"  # or {', '.join(others)}" if others else ""
    return [f"think-addon {first}{also}"] if first else []


def met(server: str, insecure: bool = False, authority: str = "") -> tuple[str, ModelFacts, str]:
    """Return the server's first model, its facts, and why no model can be asked. Log this reason as
    a warning; log another where the server is a think-addon, whose replies are rewritten already.
    """
    link = ServerLink(server, server_key(), SECONDS_TO_ANSWER, insecure, authority)
    model, facts, fault = start_lines.UNKNOWN_MODEL, UNTOLD, ""
    try:
        reply = link.reply("/v1/models")
        listed = reply and reply.value()
        if reply is None:
            fault = f"{server} does not answer yet"
        elif wants_key(reply):
            fault = key_remedy(server, link.key)
        elif listed:
            if behind := in_front_of(link):
                logger.warning("%s is %s: start it in front of %s", server, itself(behind), behind)
            model = start_lines.first_model(str(entry["id"]) for entry in entries(listed))
            facts = facts_until_window(link, model, listed)
    except CommandError as error:
        fault = str(error)
    if fault:
        logger.warning("%s", fault)
    elif model == start_lines.UNKNOWN_MODEL:
        fault = f"{server} lists none: ask with the name that the server was started with"
    return model, facts, fault


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
