"""A mitmproxy script that changes options while the proxy runs, as mitmweb's options editor does.

A test posts a JSON object of options and their values to /set-options; a refusal is a 400 with
mitmproxy's own words.
"""

import json

from mitmproxy import ctx, http
from mitmproxy.exceptions import OptionsError

PATH = "/set-options"


def requestheaders(flow: http.HTTPFlow) -> None:
    """The addon, loaded first, has requests that are not its own pass unread: this one is to be
    read.
    """
    if flow.request.path == PATH:
        flow.request.stream = False


def request(flow: http.HTTPFlow) -> None:
    if flow.request.path == PATH:
        flow.response = http.Response.make(*_change(flow.request.get_text() or ""))


def _change(wanted: str) -> tuple[int, str]:
    try:
        ctx.options.update(**json.loads(wanted))
    except OptionsError as error:
        return 400, str(error)
    return 200, ""
