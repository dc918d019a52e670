"""`think-addon http://localhost:8000`: start mitmproxy with the addon in front of a server. Its
checks of options and key (`check_options`, `export_key`) serve `launch` and `doctor` too.
"""

import argparse
import ipaddress
import os
import platform
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import converter
from converter.addon.exchange import settings
from converter.addon.servers.server_key import KEY_VARIABLE, server_key
from converter.extras.command.addresses import (
    LOCAL,
    USUAL_PORTS,
    CommandError,
    UsageError,
    certificates_folder,
    server_address,
    usable_port,
)

ADDON = Path(converter.__file__).parent.parent / "think_addon.py"
"""The addon's script, which mitmproxy loads."""
ANNOUNCEMENT = Path(__file__).with_name("announcement.py")
"""The script that prints the proxy's address; mitmproxy loads it after the addon's."""
PORT, WEB_PORT = 8080, 8081
"""The usual ports of the proxy and of mitmweb's pages."""
PROGRAMS = {"web": "mitmweb", "dump": "mitmdump", "console": "mitmproxy"}
"""Flag of `think-addon`, without `--` -> mitmproxy's program. mitmweb has a web page, mitmdump only
prints log lines, and mitmproxy has a screen in the terminal.
"""
_FLAGS = {
    "listen_port": "port",
    "listen_host": "host",
    "web_port": "web_port",
    "web_host": "web_host",
}
"""Option of mitmproxy -> the flag of `think-addon` that sets the option: `listen_port` is set by
`--port`.
"""
_DESCRIPTION = """\
Start the proxy in front of a model server, or do one of these; each has --help of its own:

  think-addon claude ...      start Claude Code on a local model; also codex, opencode, aider, llm,
                              `run -- PROGRAM ...`; `env NAME` prints what they are started with
  think-addon doctor [URL]    say what the server is, how its model thinks, which options follow
  think-addon record COMMAND  keep, show, check and serve recordings"""
"""The beginning of `think-addon --help`."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line that starts the proxy."""
    options = (f"  think_{option.name:<12} {option.help_text}" for option in settings.OPTIONS)
    parser = argparse.ArgumentParser(
        "think-addon",
        usage="%(prog)s [URL] [options] [-- options of mitmproxy]",
        description=_DESCRIPTION,
        epilog="\n".join(["options for --set (mitmproxy's own are taken too):", *options]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    ports = ", ".join(map(str, USUAL_PORTS))
    about = f"the server, such as http://localhost:8000; else local ports are tried: {ports}"
    parser.add_argument("url", nargs="?", metavar="URL", help=about)
    shown = parser.add_mutually_exclusive_group()
    parser.set_defaults(interface="web")
    for interface, meaning in (
        ("web", "look at the flows in a page: mitmweb (the default)"),
        ("dump", "nothing but log lines: mitmdump"),
        ("console", "look at the flows in this terminal: mitmproxy"),
    ):
        shown.add_argument(
            f"--{interface}", dest="interface", action="store_const", const=interface, help=meaning
        )
    parser.add_argument("--port", help=f"where clients connect ({PORT}, or the next free one)")
    parser.add_argument("--web-port", help=f"where the page is ({WEB_PORT}, or the next free one)")
    parser.add_argument("--host", default=LOCAL, help=f"address to listen at ({LOCAL})")
    parser.add_argument("--web-host", default=LOCAL, help=f"address of the page ({LOCAL})")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes, with --dump only (1)"
    )
    parser.add_argument("--print", action="store_true", help="print thinking and answers here")
    parser.add_argument(
        "--key", help=f"the server's API key; better in {KEY_VARIABLE}, unseen by ps"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an option"
    )
    programs = f"think-addon {converter.__version__}, mitmproxy {version('mitmproxy')}"
    versions = f"{programs}, Python {platform.python_version()}, in {ADDON.parent}"
    parser.add_argument("--version", action="version", version=versions)
    parser.add_argument("--end-with-input", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the proxy as the command line describes, until it ends; return the exit status."""
    chosen, more = parse_arguments(arguments)
    if chosen.end_with_input:
        threading.Thread(target=_end_with_input, daemon=True).start()
    if not ADDON.exists():
        raise CommandError(f"think_addon.py is missing beside {ADDON.parent / 'converter'}")
    check_options([*chosen.set, *set_options(more)])
    export_key(chosen.key)
    passed_on = mitmproxy_arguments(chosen, more)
    warn_if_open(chosen, more)
    check_folder(passed_on)
    if chosen.workers != 1:
        from converter.extras.command import workers  # noqa: PLC0415 (--help is to come at once)

        if chosen.interface != "dump":
            raise UsageError("--workers needs --dump: a page shows the flows of one process only")
        try:
            # Only the first process loads the announcement, so that it is printed once.
            return workers.run_workers(chosen.workers, passed_on, ["-s", str(ANNOUNCEMENT)])
        except ValueError as error:
            raise UsageError(str(error)) from None
    # This import takes a second. It comes late so that --help and errors are printed at once.
    programs = import_module("mitmproxy.tools.main")
    getattr(programs, PROGRAMS[chosen.interface])([*passed_on, "-s", str(ANNOUNCEMENT)])
    return 0


def _end_with_input() -> None:
    """Wait until standard input is closed, then end this process by SIGTERM.

    Standard input is a pipe from the launcher (`launch`), which started this proxy for a client. It
    closes when the launcher ends, even by a kill.
    """
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def export_key(key: str | None) -> None:
    """Put the server's key into this process's environment, from which the addon reads it. `None`
    leaves the environment as it is. Raises UsageError if the environment's key cannot stand in an
    HTTP header.
    """
    if key is not None:
        os.environ[KEY_VARIABLE] = key
    try:
        server_key()
    except ValueError as error:
        raise UsageError(str(error)) from None


def check_options(written: Sequence[str]) -> None:
    """Raise UsageError if one of the `NAME=VALUE` texts in `written` has an unknown option of the
    addon, a text that cannot be read, or no value for an option that needs one. mitmproxy, which
    starts after this check, would print a traceback in place of one line. Values of numbers are not
    checked here.
    """
    options = {option.name: option for option in settings.OPTIONS}
    for name, equals, value in (word.partition("=") for word in written):
        if not settings.is_addon_option(name):
            continue
        option = options.get(name.removeprefix(settings.PREFIX))
        if not option:
            raise UsageError(settings.unknown_option_error(name))
        if not equals and option.type in (str, int):
            raise UsageError(f"expected {name}=VALUE for --set, got {name!r}")
        if equals and option.type in (str, Sequence[str]):
            try:
                settings.read({option.name: value if option.type is str else [value]})
            except ValueError as error:
                raise UsageError(str(error)) from None


def check_folder(arguments: Sequence[str]) -> None:
    """Raise CommandError if mitmproxy has no certificates yet and cannot write them, as in a
    container without a home folder. mitmproxy itself would end in a traceback.
    """
    folder = certificates_folder(arguments)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK) or (folder / "mitmproxy-ca.pem").exists()
    except OSError:
        writable = False
    if not writable:
        raise CommandError(f"{folder} cannot be written: choose a folder by --set confdir=DIR")


def parse_arguments(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the parsed command line of `think-addon`, and the arguments after `--`, which go to
    mitmproxy unchanged. `--set listen_port=9000` is read as `--port 9000` (`_FLAGS`).
    """
    at = arguments.index("--") if "--" in arguments else len(arguments)
    chosen, more = parser().parse_args(arguments[:at]), list(arguments[at + 1 :])
    pairs = [option.partition("=") for option in chosen.set]
    chosen.set = ["".join(pair) for pair in pairs if pair[0] not in _FLAGS]
    for name, _, value in pairs:
        if name in _FLAGS:
            setattr(chosen, _FLAGS[name], value)
    return chosen, more


def set_options(arguments: Sequence[str]) -> list[str]:
    """Return the `NAME=VALUE` after each `--set` in these arguments."""
    return [value for word, value in pairwise(arguments) if word == "--set"]


def unset_defaults(defaults: Mapping[str, str], options: Sequence[str]) -> list[str]:
    """Return `--set` arguments for the default options, except for options that stand in `options`
    (`NAME=VALUE`): the user has set them, and mitmproxy refuses a second value for one option.
    """
    names = {option.partition("=")[0] for option in options}
    rows = (f"{name}={value}" for name, value in defaults.items() if name not in names)
    return [word for row in rows for word in ("--set", row)]


def mitmproxy_arguments(chosen: argparse.Namespace, more: Sequence[str] = ()) -> list[str]:
    """Return the arguments for mitmweb, mitmdump or mitmproxy. `more`, the user's arguments after
    `--`, come last. Raises CommandError if there is no server or no port to use.
    """
    port = usable_port("--port", chosen.port, PORT, chosen.host)
    page, defaults = list[str](), {"think_print": "true"} if chosen.print else {}
    if chosen.interface == "dump":
        defaults["flow_detail"] = "0"  # mitmdump's own lines would repeat the addon's log lines.
    if chosen.interface == "web":
        defaults["web_open_browser"] = "false"
        page_host = chosen.web_host
        web_port = usable_port("--web-port", chosen.web_port, WEB_PORT, page_host, taken=port)
        page = ["--web-host", page_host, "--web-port", str(web_port)]
    url = chosen.url or import_module("converter.extras.command.link").find_local_server()
    mode = ["-s", str(ADDON), "--mode", f"reverse:{server_address(url)}"]
    listening = ["--listen-host", chosen.host, "--listen-port", str(port)]
    options = [word for option in chosen.set for word in ("--set", option)]
    ours = unset_defaults(defaults, [*chosen.set, *set_options(more)])
    return [*mode, *listening, *page, *ours, *options, *more]


def warn_if_open(chosen: argparse.Namespace, more: Sequence[str] = ()) -> None:
    """Print a warning if other machines can use the proxy, and thus the server, unauthenticated."""
    try:
        is_local = ipaddress.ip_address(chosen.host).is_loopback
    except ValueError:
        is_local = chosen.host == "localhost"
    if not is_local and not any("proxyauth" in word for word in (*chosen.set, *more)):
        warning = "whoever reaches this machine can use the server"
        print(f"think-addon: it listens at {chosen.host}: {warning}", file=sys.stderr)
