"""A client of one connection, which it keeps as long as it may, with a verdict on each reply."""

import asyncio
import json
from typing import Any

from laws.response_view import as_message, read_response
from tests.faults.judge import (
    CUT,
    FAILED,
    FULL,
    STREAMS,
    Received,
    Verdict,
    WrongError,
    failure,
    whole_reply,
)
from tests.soak.plans import Plan
from tests.soak.server import closed
from tests.support.clients import ANTHROPIC, OPENAI

SECONDS = 120
"""Limit of a reply, many times what it takes on a busy machine."""
_WHOLE = {"openai": OPENAI.read_whole, "anthropic": ANTHROPIC.read_whole}


class SoakClient:
    """Sends the requests of plans, one after another."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def complaint(self, plan: Plan) -> str:
        """Send a plan's request; return the fault of the reply, empty if there is none."""
        try:
            async with asyncio.timeout(SECONDS):
                received = await self._hear(plan)
            return complaint(plan, verdict(plan, received))
        except TimeoutError:
            await self.close()
            return "no end, after seconds"
        except (OSError, asyncio.IncompleteReadError) as error:
            await self.close()
            return f"HTTP broke off: {error!r}"
        except (WrongError, AssertionError) as error:
            return str(error)

    async def close(self) -> None:
        if self._writer:
            await closed(self._writer)
        self._reader = self._writer = None

    async def _hear(self, plan: Plan) -> Received:
        body = plan.request
        head = f"POST {plan.path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        if self._writer is None:
            opened = await asyncio.open_connection("127.0.0.1", self._port)
            self._reader, self._writer = opened
        self._writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        assert self._reader
        received, keeps = await _received(self._reader)
        if not keeps:
            await self.close()
        return received


async def _received(reader: asyncio.StreamReader) -> tuple[Received, bool]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    pairs = [line.partition(":") for line in lines[1:] if line]
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    status, kind = int(lines[0].split()[1]), headers.get("content-type", "")
    keeps = headers.get("connection", "").lower() != "close"
    if "chunked" in headers.get("transfer-encoding", ""):
        return Received(status, kind, await _chunks(reader)), keeps
    length = int(headers.get("content-length", 0))
    return Received(status, kind, await reader.readexactly(length)), keeps


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body


def verdict(plan: Plan, received: Received) -> Verdict:
    """Return the verdict on a reply. Raises WrongError."""
    if plan.dialect == "responses":
        return _of_responses(plan, received)
    if received.status >= 400:
        return failure(received, plan.dialect)
    if plan.stream and received.kind.startswith("text/event-stream"):
        return STREAMS[plan.dialect](received)
    return whole_reply(_WHOLE[plan.dialect])(received)


def _of_responses(plan: Plan, received: Received) -> Verdict:
    if received.status >= 400:
        return Verdict(FAILED, error=json.loads(received.body)["error"]["message"])
    response = read_response(received.body) if plan.stream else json.loads(received.body)
    message = as_message(response)
    thinking, text = _text_of(message, "thinking"), _text_of(message, "text")
    error = (message.get("error") or {}).get("message", "")
    return Verdict(CUT if error else FULL, (thinking, text), error)


def _text_of(message: dict[str, Any], kind: str) -> str:
    return "".join(block[kind] for block in message["content"] if block["type"] == kind)


def complaint(plan: Plan, came: Verdict) -> str:
    """Return the fault of a verdict; empty if there is none."""
    fault = plan.fault
    allowed = fault.verdict.split() if fault else [FULL]
    if came.word not in allowed:
        return f"{came.word}, expected {allowed} ({came.error or came.parts})"
    full = fault.parts if fault else (plan.thinking, plan.text)
    before = fault.before if fault else ("", "")
    expected = {FULL: full, CUT: before, FAILED: ("", "")}[came.word]
    if came.parts != expected:
        return f"{came.word} with {came.parts}, expected {expected}"
    return ""
