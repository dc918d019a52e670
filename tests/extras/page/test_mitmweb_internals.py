"""This mitmweb has the members that the page uses."""

import asyncio

from mitmproxy.options import Options
from mitmproxy.tools.web.master import WebMaster

from converter.extras.page import mitmweb_internals as mitmweb


class Hello(mitmweb.RequestHandler):
    """A handler of mitmweb's kind."""


def test_handlers_come_before_mitmwebs_own_and_go_again() -> None:
    asyncio.run(_add_and_remove())


async def _add_and_remove() -> None:
    app = WebMaster(Options(), with_termlog=False).app
    before = list(app.default_router.rules)
    remove = mitmweb.add_handlers(app, [("/think-test", Hello)])
    assert [*app.default_router.rules[:-2], app.default_router.rules[-1]] == before
    remove()
    assert app.default_router.rules == before


def test_a_page_has_been_sent_all_while_nothing_waits() -> None:
    asyncio.run(_send())


async def _send() -> None:
    class Socket(mitmweb.WebSocketEventBroadcaster):
        def __init__(self) -> None:
            self._send_queue: asyncio.Queue[bytes] = asyncio.Queue()

    socket = Socket()
    assert mitmweb.has_sent_all(socket)
    socket.send(b"news")
    assert not mitmweb.has_sent_all(socket)
