"""The addons of this extra: the page, put into mitmweb's own server."""

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
"""The script of `think-addon`, which prints the page's address itself, among the others."""


class MountedPage:
    """The place of the page in mitmweb. Its parts are imported there alone: they take a megabyte,
    and mitmdump and mitmproxy's console have no use for them.
    """

    name = "think-page"

    def __init__(self, client: UpstreamClient) -> None:
        self._client = client
        self._unmount: Callable[[], None] | None = None

    def running(self) -> None:
        """Add the page to mitmweb's own server, and say where it is."""
        app = getattr(ctx.master, "app", None)
        if app is None or self._unmount:
            return
        from converter.extras.page import handlers  # noqa: PLC0415
        from converter.extras.page.addon import Page, address  # noqa: PLC0415
        from converter.extras.page.listed import Listed  # noqa: PLC0415

        web: Any = ctx.master  # whatever has an app is mitmweb
        self._unmount = handlers.mount(app, Page(self._client, Listed(web.view)))
        if ANNOUNCEMENT not in {Path(script).name for script in ctx.options.scripts}:
            _log.info("think: watch it think at %s", address(str(web.web_url)))

    def done(self) -> None:
        """The script is loaded anew, or mitmproxy ends."""
        if self._unmount:
            self._unmount()
            self._unmount = None


def addons(services: ExtraServices) -> list[object]:
    """Return the addons."""
    return [KeptExchanges(), MountedPage(services.client)]
