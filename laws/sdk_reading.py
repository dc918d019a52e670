"""Read a client's bytes with the official SDKs, by a function for each way to call them. A mock
server delivers the bytes: `Wire` to the SDKs of Anthropic and OpenAI, one of httpx to Ollama's.
"""

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import httpx2
import ollama
import openai
from anthropic.types import Message, RawMessageStreamEvent
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from converter.core.dialects.reasoning_fields import TAKEN
from converter.core.dialects.table import Form

# checks that a dict is an event of a Messages stream
STREAM_EVENTS: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
MESSAGE = TypeAdapter(Message)  # checks that a dict is a message of the Messages API
# checks that a dict is an event of the Responses API
RESPONSE_EVENTS: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)
_COMPLETED = "response.completed"  # the last event's type, if the reply is whole
_TYPES = {Form.STREAM: "text/event-stream", Form.WHOLE: "application/json"}
_QUESTION: list[Any] = [{"role": "user", "content": "hi"}]  # not for the Responses API


class Wire:
    """The SDKs' clients, with a mock server that answers with the bytes of the last `serve`."""

    def __init__(self) -> None:
        self._body = b""
        self._form = Form.STREAM
        self._status = 200
        web = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        self.openai = openai.OpenAI(
            api_key="none", base_url="http://server/v1", http_client=web, max_retries=0
        )
        self.anthropic = anthropic.Anthropic(
            api_key="none", base_url="http://server", http_client=web, max_retries=0
        )

    def _answer(self, _: httpx2.Request) -> httpx2.Response:
        # short pieces, as a network might deliver them
        pieces = (self._body[begin : begin + 100] for begin in range(0, len(self._body), 100))
        headers = {"content-type": _TYPES[self._form]}
        return httpx2.Response(self._status, headers=headers, content=pieces)

    def serve(self, body: bytes, form: Form, status: int = 200) -> "Wire":
        """Answer each request with these bytes from now on; return this object."""
        self._body, self._form, self._status = body, form, status
        return self


def anthropic_whole(wire: Wire, body: bytes) -> dict[str, Any]:
    """Return the message object of `messages.create`. Its blocks must fit the SDK's types; blocks
    that the user named (`think_map`) are not checked.
    """
    message = wire.serve(body, Form.WHOLE).anthropic.messages.create(
        model="small", max_tokens=9, messages=_QUESTION
    )
    fields = message.to_dict()
    of_the_api = [block for block in fields["content"] if _of_the_api(block)]  # type: ignore[attr-defined]
    MESSAGE.validate_python(fields | {"content": of_the_api}, strict=True)
    return fields


def anthropic_accumulated(wire: Wire, body: bytes) -> dict[str, Any]:
    """Return the message object that `messages.stream` puts together from the events."""
    wire.serve(body, Form.STREAM)
    with wire.anthropic.messages.stream(model="small", max_tokens=9, messages=_QUESTION) as stream:
        return stream.get_final_message().to_dict()


def anthropic_events(wire: Wire, body: bytes) -> list[dict[str, Any]]:
    """Return the events of `messages.create(stream=True)`. Events of the API must fit the SDK's
    types; those of blocks that the user named (`think_map`) are not checked.
    """
    wire.serve(body, Form.STREAM)
    stream = wire.anthropic.messages.create(
        model="small", max_tokens=9, messages=_QUESTION, stream=True
    )
    events: list[dict[str, Any]] = [event.to_dict() for event in stream]
    for event in events:
        if _of_the_api(event.get("content_block") or event.get("delta") or {}):
            STREAM_EVENTS.validate_python(event, strict=True)
    return events


def _of_the_api(part: dict[str, Any]) -> bool:
    """Return True for a block or a delta of the API, False for one that the user named
    (`think_map`), for which the SDK has no type.
    """
    return TAKEN.fullmatch(str(part.get("type", "text")).removesuffix("_delta")) is not None


def openai_whole(wire: Wire, body: bytes) -> dict[str, Any]:
    """Return the completion of `chat.completions.create`."""
    wire.serve(body, Form.WHOLE)
    return wire.openai.chat.completions.create(model="small", messages=_QUESTION).to_dict()


def openai_frames(wire: Wire, body: bytes) -> list[dict[str, Any]]:
    """Return each frame that `chat.completions.create(stream=True)` yields, as a dict."""
    wire.serve(body, Form.STREAM)
    create = wire.openai.chat.completions.create
    return [chunk.to_dict() for chunk in create(model="small", messages=_QUESTION, stream=True)]


def openai_accumulated(wire: Wire, body: bytes) -> dict[str, Any]:
    """Return what `stream` puts together, even if bytes break off. The finish `length` raises."""
    wire.serve(body, Form.STREAM)
    with wire.openai.chat.completions.stream(model="small", messages=_QUESTION) as stream:
        for _ in stream:
            pass
        return stream.current_completion_snapshot.to_dict()


def blocks(message: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the type and the content of each block of a message object, the content as text."""
    content_keys = {"text": "text", "thinking": "thinking", "tool_use": "input"}
    return [
        (block["type"], json.dumps(block[content_keys[block["type"]]], sort_keys=True))
        for block in message["content"]
    ]


def _error_body(create: Callable[..., Any], form: Form, **fields: Any) -> dict[str, Any]:
    """Return the body of the error that an SDK's `create` raises; empty if it raises none."""
    try:
        answer = create(**fields, model="small", stream=form is Form.STREAM)
        list(answer if form is Form.STREAM else ())
    except (anthropic.APIError, openai.APIError) as error:
        return error.body if isinstance(error.body, dict) else {"message": error.body}
    return {}


def anthropic_error(wire: Wire, body: bytes, form: Form, status: int) -> str:
    """Return the message of the error that the SDK raises; empty where it raises none."""
    create = wire.serve(body, form, status).anthropic.messages.create
    raised = _error_body(create, form, max_tokens=9, messages=_QUESTION)
    return str(raised.get("error", raised).get("message", raised or ""))


def openai_error(wire: Wire, body: bytes, form: Form, status: int) -> str:
    """Return the message of the error that the SDK raises; empty where it raises none."""
    create = wire.serve(body, form, status).openai.chat.completions.create
    raised = _error_body(create, form, messages=_QUESTION)
    return str(raised.get("message", raised or ""))


def responses_read(wire: Wire, body: bytes, form: Form) -> list[dict[str, Any]]:
    """Return a list of response objects. Of a whole reply: the one of `create`. Of a stream: the
    one in the last event and, if the reply is complete, the one that the SDK puts together. What
    the SDK's types refuse raises ValidationError.
    """
    wire.serve(body, form)
    if form is Form.WHOLE:
        whole = wire.openai.responses.create(model="small", input="hi").to_dict()
        Response.model_validate(whole)
        return [whole]
    with wire.openai.responses.stream(model="small", input="hi") as stream:
        for event in stream:
            _check_event(event.to_dict())
        last = event.to_dict()
        summed = [stream.get_final_response().to_dict()] if event.type == _COMPLETED else []
    return [last["response"], *summed]  # type: ignore[list-item]


def _check_event(event: dict[str, Any]) -> None:
    """Raise ValidationError for an event of the Responses API that the SDK's types refuse."""
    if event["type"] == "keepalive":  # the SDK has no type for it
        return
    error = (event.get("response") or {}).get("error") or {}
    if error.get("code") == "context_length_exceeded":  # the API has this code, the types do not
        error["code"] = "server_error"
    RESPONSE_EVENTS.validate_python(event)


def responses_error(wire: Wire, body: bytes, status: int, form: Form = Form.WHOLE) -> str:
    """Return the message of the error that the SDK raises; empty where it raises none."""
    raised = _error_body(wire.serve(body, form, status).openai.responses.create, form, input="hi")
    return str(raised.get("message", ""))


def ollama_read(body: bytes, form: Form, status: int = 200) -> list[dict[str, Any]]:
    """Return each reply that the `ollama` package yields. Raises the package's ResponseError."""
    kind = "application/x-ndjson" if form is Form.STREAM else "application/json"
    answer = httpx.Response(status, headers={"content-type": kind}, content=body)
    client = ollama.Client(transport=httpx.MockTransport(lambda _: answer))
    if form is Form.WHOLE:
        return [client.chat("small", _QUESTION).model_dump(exclude_none=True)]
    parts = client.chat("small", _QUESTION, stream=True)
    return [part.model_dump(exclude_none=True) for part in parts]


def ollama_error(body: bytes, status: int) -> str:
    """Return the message of the error that the `ollama` package raises; empty if it raises none."""
    try:
        ollama_read(body, Form.WHOLE, status)
    except ollama.ResponseError as error:
        return str(error.error)
    return ""


def openai_bodies(wire: Wire, body: bytes, form: Form) -> bytes:
    """Return what the SDK read, written as a server's body, so that `parse_reply` can read it."""
    if form is Form.WHOLE:
        return json.dumps(openai_whole(wire, body)).encode()
    values = [json.dumps(frame).encode() for frame in openai_frames(wire, body)]
    values += [b"[DONE]"] if b"[DONE]" in body else []
    return b"".join(b"data: " + value + b"\n\n" for value in values)
