"""The addons of the extra `page`: `MountedPage`, which adds the page at /think to mitmweb, and
`KeptExchanges` (`kept_exchanges.py`), which keeps exchanges in the file of `think_page`.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mitmproxy import ctx

from converter.addon.probes.upstream_client import UpstreamClient
from converter.addon.watcher import ExtraServices
from converter.extras.page.kept_exchanges import KeptExchanges

_log = logging.getLogger(__name__)
ANNOUNCEMENT = "announcement.py"
"""The file name of a script that the command `think-addon` loads into mitmproxy. The script prints
the page's address, so if it is loaded the address is not logged again.
"""


class MountedPage:
    """The addon that adds the page to mitmweb.

    The page's modules take a megabyte of memory and are imported in mitmweb only, because mitmdump
    and mitmproxy's console have no page.
    """

    name = "think-page"

    def __init__(self, upstream_client: UpstreamClient) -> None:
        self._upstream_client = upstream_client
        self._unmount: Callable[[], None] | None = None

    def running(self) -> None:
        """Add the page to mitmweb's own server, and log the page's address unless the script
        `ANNOUNCEMENT` prints it.
        """
        app = getattr(ctx.master, "app", None)
        if app is None or self._unmount:
            return
        from converter.extras.page import handlers  # noqa: PLC0415
        from converter.extras.page.addon import Page, page_address  # noqa: PLC0415
        from converter.extras.page.listed import ListRows  # noqa: PLC0415

        # `Any`, because only mitmweb's master has the attributes `view` and `web_url`.
        web: Any = ctx.master
        self._unmount = handlers.mount(app, Page(self._upstream_client, ListRows(web.view)))
        if ANNOUNCEMENT not in {Path(script).name for script in ctx.options.scripts}:
            _log.info("think: watch it think at %s", page_address(str(web.web_url)))

    def done(self) -> None:
        """Remove the page from mitmweb's server. mitmproxy calls this hook when it ends, and before
        it reloads the addon.
        """
        if self._unmount:
            self._unmount()
            self._unmount = None


def addons(services: ExtraServices) -> list[object]:
    """Return the addon that keeps the file of exchanges, and the addon that adds the page."""
    return [KeptExchanges(), MountedPage(services.upstream_client)]
