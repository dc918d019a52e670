"""The addon's hooks, called in mitmproxy's order for flows built by hand."""

import asyncio
import json
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from mitmproxy.http import HTTPFlow, Response
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import taddons, tflow, tutils

from tests.support.frames import stream
from think_addon import ThinkAddon

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
EVENT_STREAM = "text/event-stream; charset=utf-8"
JSON = "application/json"
THINKING = stream("<think>a</think>", "b")
BASIC = {"model": "small", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}

_RUNNERS: list[asyncio.Runner] = []


def wait[Result](hook: Coroutine[object, object, Result]) -> Result:
    """Run a hook to its end, in the one loop that all hooks of a running addon share."""
    return _RUNNERS[-1].run(hook)


@contextmanager
def running(**options: Any) -> Iterator[tuple[ThinkAddon, taddons.context]]:
    """Start the addon with options by their short names; it probes no server unless an option asks
    for that.
    """
    addon = ThinkAddon()
    with asyncio.Runner() as runner, taddons.context(addon) as context:
        _RUNNERS.append(runner)
        context.options.update(think_server="generic")
        context.options.update(**{f"think_{name}": value for name, value in options.items()})
        yield addon, context
        _RUNNERS.pop()


def request(path: str, body: object = BASIC, method: str = "POST", **headers: str) -> HTTPFlow:
    """A flow in reverse mode, before its first hook. Header names have `_` for `-`."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    built = tutils.treq(
        host="localhost", port=8000, method=method.encode(), path=path.encode(), content=raw
    )
    built.headers.clear()
    built.headers["content-length"] = str(len(raw))
    for name, value in headers.items():
        built.headers[name.replace("_", "-")] = value
    flow = tflow.tflow(req=built)
    flow.client_conn.proxy_mode = ProxyMode.parse("reverse:http://localhost:8000")
    return flow


def streaming(path: str = MESSAGES) -> HTTPFlow:
    return request(path, {**BASIC, "stream": True})


def ask(addon: ThinkAddon, flow: HTTPFlow) -> HTTPFlow:
    """Call the hooks of a request; return the flow."""
    begin(addon, flow)
    wait(addon.request(flow))
    return flow


def begin(addon: ThinkAddon, flow: HTTPFlow) -> None:
    """The hook of a request's head, which may have to ask for an address."""
    if begun := addon.requestheaders(flow):
        wait(_awaited(begun))


async def _awaited(begun: Awaitable[None]) -> None:
    await begun


def response(content_type: str = JSON, status: int = 200, **headers: str) -> Response:
    """The server's response before its body."""
    built = tutils.tresp(status_code=status, content=None)
    built.headers.clear()
    built.headers["content-type"] = content_type
    for name, value in headers.items():
        built.headers[name.replace("_", "-")] = value
    return built


def answer(addon: ThinkAddon, flow: HTTPFlow, sent: Response, body: bytes) -> list[bytes] | None:
    """The reply's hooks; the pieces that the tap let through, None when there was no tap."""
    return wait(_answer(addon, flow, sent, body))


async def _answer(
    addon: ThinkAddon, flow: HTTPFlow, sent: Response, body: bytes
) -> list[bytes] | None:
    flow.response = sent
    await addon.responseheaders(flow)
    assert flow.response
    tap = flow.response.stream
    pieces = [*tap(body), *tap(b"")] if callable(tap) else None
    if not tap:
        flow.response.raw_content = body
    await addon.response(flow)
    return (
        None
        if pieces is None
        else [piece if isinstance(piece, bytes) else bytes([piece]) for piece in pieces]
    )


def exchanged(flow: HTTPFlow, sent: Response, body: bytes, **options: Any) -> Response:
    """A whole exchange whose reply is not tapped: what the client gets."""
    with running(**options) as (addon, _):
        assert answer(addon, ask(addon, flow), sent, body) is None
    assert flow.response
    return flow.response


def part_of[Kind](addon: ThinkAddon, kind: type[Kind]) -> Kind:
    """An addon that the addon has brought along."""
    return next(each for each in addon.addons if isinstance(each, kind))
