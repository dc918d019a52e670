"""A script for mitmdump beside the addon: GET /soak-probe returns counts of tasks and flows."""

import asyncio
import gc
import json

from mitmproxy.http import HTTPFlow, Response

from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.addon.layers.connection import LIVE_LAYERS


def request(flow: HTTPFlow) -> None:
    """Answer the probe in place of the server."""
    if flow.request.path != "/soak-probe":
        return
    gc.collect()
    held = {
        "tasks": len(asyncio.all_tasks()),
        "exchanges": len(RUNNING_RECORDS),
        "connections": len(LIVE_LAYERS),
        "flows": sum(isinstance(each, HTTPFlow) for each in gc.get_objects()),
    }
    flow.response = Response.make(200, json.dumps(held), {"connection": "close"})
