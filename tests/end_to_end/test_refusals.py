"""What a real llama.cpp refuses, and takes when it is asked again: schemas, pictures."""

import struct
import zlib
from base64 import b64encode
from typing import Any

import httpx
import ollama
import openai
import pytest

from tests.conftest import Llama
from tests.support.sdks import anthropic_client, openai_client

pytestmark = pytest.mark.slow

SCHEMAS: dict[str, dict[str, Any]] = {
    "failed to parse grammar": {"type": "string", "pattern": "^a{99999}$"},
    "Invalid pattern": {"type": "string", "pattern": "^(ab$"},
    "unrecognized type": {"type": "date"},
    "schema must be an object": {"type": "array", "items": True},
    "cannot resolve": {"$ref": "#/$defs/none"},
}
"""By the words of llama.cpp's refusal. It took `\\d` itself, `\\S` and patterns without anchors."""
AGAIN = "was asked again without"
WORDS = "What is the weather in Oslo?"
ABOUT = "The weather of a city"


def png() -> str:
    """A picture of one dot."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(b"\0\0")), chunk(b"IEND", b"")]
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


CLOSED = {"connection": "close"}


def schema(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"city": value}, "required": ["city"]}


def _asked(value: dict[str, Any], name: str) -> dict[str, Any]:
    function = {"name": name, "description": ABOUT, "parameters": schema(value)}
    return {
        "model": "m",
        "messages": [{"role": "user", "content": WORDS}],
        "tools": [{"type": "function", "function": function}],
        "max_tokens": 8,
    }


def chat(port: int, value: dict[str, Any], name: str) -> str:
    with openai_client(port) as client:
        reply = client.chat.completions.create(**_asked(value, name))
    return str(reply.choices[0].finish_reason)


def streamed(port: int, value: dict[str, Any], name: str) -> str:
    with openai_client(port) as client:
        reply = client.chat.completions.create(**_asked(value, name), stream=True)
        return str([chunk.choices[0].finish_reason for chunk in reply if chunk.choices][-1])


def messages(port: int, value: dict[str, Any], name: str) -> str:
    with anthropic_client(port) as client:
        reply = client.messages.create(
            model="m",
            messages=[{"role": "user", "content": WORDS}],
            tools=[{"name": name, "description": ABOUT, "input_schema": schema(value)}],
            max_tokens=8,
        )
    return str(reply.stop_reason)


def responses(port: int, value: dict[str, Any], name: str) -> str:
    tool: Any = {"type": "function", "name": name, "parameters": schema(value), "strict": False}
    with openai_client(port) as client:
        reply = client.responses.create(
            model="m", input=WORDS, tools=[tool], max_output_tokens=16, store=False
        )
    return str(reply.status)


def ollamas(port: int, value: dict[str, Any], name: str) -> str:
    """By hand: the package drops words of a schema that it does not know."""
    body = {**_asked(value, name), "stream": False, "options": {"num_predict": 8}}
    reply = httpx.post(f"http://127.0.0.1:{port}/api/chat", json=body, timeout=60)
    assert "done_reason" in reply.json(), reply.text
    return str(reply.json()["done_reason"])


@pytest.mark.parametrize("ask", [chat, streamed, messages, responses, ollamas])
@pytest.mark.parametrize("words", SCHEMAS)
def test_a_schema_that_the_grammar_refuses(ask: Any, words: str, llamas: dict[str, Llama]) -> None:
    llama = llamas["tags"]
    mark = llama.proxy.mark()
    for _ in range(2):
        assert ask(llama.port, SCHEMAS[words], f"weather_{ask.__name__}_{len(words)}")
    said = llama.proxy.output[mark:]
    assert said.count(AGAIN) == 1
    assert words in said


@pytest.mark.parametrize("kind", ["chat", "messages", "responses", "ollama"])
def test_a_picture_for_a_model_that_cannot_see(kind: str, llamas: dict[str, Llama]) -> None:
    port, data = llamas["tags"].port, png()
    url = f"data:image/png;base64,{data}"
    if kind == "messages":
        source = {"type": "base64", "media_type": "image/png", "data": data}
        content: Any = [{"type": "text", "text": WORDS}, {"type": "image", "source": source}]
        with anthropic_client(port) as client:
            turn: Any = {"role": "user", "content": content}
            assert client.messages.create(model="m", messages=[turn], max_tokens=8).content
    elif kind == "ollama":
        pictured: Any = {"role": "user", "content": WORDS, "images": [data]}
        with ollama.Client(f"http://127.0.0.1:{port}", headers=CLOSED) as own:
            assert own.chat("m", messages=[pictured], options={"num_predict": 8}).done
    else:
        with openai_client(port) as client:
            if kind == "chat":
                part: Any = {"type": "image_url", "image_url": {"url": url}}
                asked: Any = [{"role": "user", "content": [{"type": "text", "text": WORDS}, part]}]
                reply = client.chat.completions.create(model="m", messages=asked, max_tokens=8)
                assert reply.choices
            else:
                item: Any = {"type": "input_image", "image_url": url, "detail": "auto"}
                said: Any = [{"role": "user", "content": [item]}]
                made = client.responses.create(
                    model="m", input=said, max_output_tokens=16, store=False
                )
                assert made.status != "failed"


def test_another_error_stays_one(llamas: dict[str, Llama]) -> None:
    with pytest.raises(openai.APIStatusError), openai_client(llamas["tags"].port) as client:
        client.chat.completions.create(model="m", messages="none")  # type: ignore[arg-type]
