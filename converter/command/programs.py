"""mitmproxy's own programs, run in this process."""

from collections.abc import Sequence

from mitmproxy.tools import main

PROGRAMS = {"web": main.mitmweb, "dump": main.mitmdump, "console": main.mitmproxy}
"""By what shows the flows: a page, nothing but log lines, or the terminal."""


def run(interface: str, arguments: Sequence[str]) -> None:
    """Run until the user ends it; leaves by SystemExit when it cannot start."""
    PROGRAMS[interface](list(arguments))
