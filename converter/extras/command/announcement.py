"""A script that `start` passes to mitmproxy: once the proxy listens, it prints the proxy's address,
the server's first model and commands to try. `converter.addon.start_lines` writes the commands.

The script also ends the proxy when the terminal in which the proxy was started is closed.
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
from converter.addon.servers.model_names import model_entries
from converter.addon.servers.server_key import server_key
from converter.core.dialects.model_facts import ModelFacts
from converter.core.dialects.table import DIALECTS
from converter.core.wire.printable import one_line
from converter.extras.command.addresses import CommandError
from converter.extras.command.clients import CLIENTS
from converter.extras.command.doctor import facts_until_window
from converter.extras.command.link import (
    ServerLink,
    addon_at,
    find_server_behind,
    key_remedy,
    wants_key,
)

SECONDS_TO_ANSWER = 2.0
"""How long the server may take for each response to a probe, while a person waits for the lines."""
WIDTH = 80
"""The most columns of a printed line, so that it fits a terminal of usual width."""
STOPS = "Ctrl-C stops everything."
"""The last line of the announcement."""
NO_FACTS = ModelFacts()
"""The facts of a model about which the server reports nothing."""

logger = logging.getLogger(__name__)


def running() -> None:
    """Print the announcement; in mitmproxy's console, log the proxy's address instead. Log an error
    for each option of the command line that does not exist. mitmproxy calls this hook when the
    proxy listens.

    After an error at the start nothing is printed, because mitmproxy is about to end.
    """
    for name in undeclared_options():
        alike = get_close_matches(name, ctx.options.keys(), 1, 0.7)
        meant = f"; did you mean {alike[0]}?" if alike else ""
        logger.error("no option %s%s", one_line(name), meant)
    if has_failed_at_start():
        return
    if sys.stdout.isatty() and hasattr(select, "poll"):
        watch_terminal(sys.stdout.fileno(), ctx.master.shutdown)
    server = ReverseMode.parse(ctx.options.mode[0]).data
    options = ctx.options
    authority = options.ssl_verify_upstream_trusted_ca or ""
    model, facts, fault = probe(server, bool(options.ssl_insecure), authority)
    # mitmweb's `web_url` includes the token of its login; mitmdump has no such attribute.
    web: Any = getattr(ctx.master, "web_url", None)
    proxy = start_lines.proxy_url(options.listen_host, options.listen_port)
    if hasattr(ctx.master, "keymap"):
        logger.log(ALERT, "Proxy: %s (in front of %s)", proxy, server)
    else:
        print(announcement_text(server, proxy, web and str(web), model, facts, fault), flush=True)


def has_failed_at_start() -> bool:
    """Return True if mitmproxy is about to end because of an error at its start."""
    check: Any = ctx.master.addons.get("errorcheck")
    return bool(check and check.logger.has_errored)


def announcement_text(
    server: str,
    proxy: str,
    web: str | None,
    model: str,
    facts: ModelFacts = NO_FACTS,
    fault: str = "",
) -> str:
    """Return the lines for the person who started the proxy: addresses, model and commands to try.
    There are no commands if the model is unknown.

    `server`, `proxy`: the URLs of server and proxy. `web`: mitmweb's URL, None without mitmweb.
    `model`: the model that the commands name; `facts`: the model's facts that the server reports.
    `fault`: why no model can be asked, empty if a model can be asked.
    """
    lines = ["", f"Proxy:   {proxy}  (in front of {server})"]
    about = fault or (f"{model}  ({facts.line})" if facts.line else "")
    lines += wrap(f"Model:   {about}", WIDTH, subsequent_indent=" " * 9) if about else []
    # `load` is not imported by name, because mitmproxy would call it as this script's hook `load`.
    page = extra_packages.load("page", "addon")
    if web:  # The page's address replaces mitmweb's, because the page links to mitmweb.
        lines += [f"Watch:   {page.page_address(web)}" if page else f"mitmweb: {web}"]
    if model == start_lines.UNKNOWN_MODEL:
        return "\n".join([*lines, f"\n{STOPS}\n"])
    for dialect in DIALECTS:
        question = start_lines.curl_line(proxy, dialect, model)
        lines.append(f"\n# Ask in the {dialect.label.title} dialect:\n{question}")
    lines.append("\n# Or point a client here:")
    lines += [line for _, line in start_lines.client_lines(proxy, model, facts.window)]
    # One line for all installed clients: `think-addon claude  # or codex`.
    if installed := [name for name, client in CLIENTS.items() if shutil.which(client.program)]:
        also = f"  # or {', '.join(installed[1:])}" if installed[1:] else ""
        lines.append(f"think-addon {installed[0]}{also}")
    return "\n".join([*lines, f"\n{STOPS}\n"])


def probe(server: str, insecure: bool = False, authority: str = "") -> tuple[str, ModelFacts, str]:
    """Ask the server for its models. Return its first model (`UNKNOWN_MODEL` if none is known),
    the model's facts, and a fault: the reason why the commands that the announcement prints will
    not work, empty if they will.

    Log the fault as a warning, unless it is only that the server lists no models. Log another
    warning if the server is itself a think-addon, because its replies are rewritten already.

    `insecure`: True if any certificate of the server is accepted. `authority`: the file of the
    certificate authority to trust; empty for the public authorities.
    """
    link = ServerLink(server, server_key(), SECONDS_TO_ANSWER, insecure, authority)
    model, facts, fault = start_lines.UNKNOWN_MODEL, NO_FACTS, ""
    try:
        reply = link.response("/v1/models")
        listed = reply and reply.value()
        if reply is None:
            fault = f"{server} does not answer yet"
        elif wants_key(reply):
            fault = key_remedy(server, link.api_key)
        elif listed:
            if behind := find_server_behind(link):
                logger.warning(
                    "%s is %s: start it in front of %s", server, addon_at(behind), behind
                )
            model = start_lines.first_model(str(entry["id"]) for entry in model_entries(listed))
            facts = facts_until_window(link, model, listed)
    except CommandError as error:
        fault = str(error)
    if fault:
        logger.warning("%s", fault)
    elif model == start_lines.UNKNOWN_MODEL:
        fault = f"{server} lists none: ask with the name that the server was started with"
    return model, facts, fault


def watch_terminal(file: int, end: Callable[[], object]) -> None:
    """Call `end`, which ends the program, when the terminal, pipe or socket of the file descriptor
    `file` is closed.

    A handler of SIGHUP is not enough. In `tmux new -d 'make run'` only make gets the signal when
    the terminal closes; GNU make 4.3 does not pass it on to its child, the proxy, but waits until
    the child ends.
    """
    watch = select.poll()
    watch.register(file, 0)

    def wait() -> None:
        """Wait until the system reports that the other side of `file` is closed; call `end`."""
        if any(happened & (select.POLLHUP | select.POLLERR) for _, happened in watch.poll()):
            end()

    threading.Thread(target=wait, daemon=True).start()
