"""What a real llama.cpp refuses, and takes when it is asked again: schemas, pictures."""

from typing import Any

import openai
import pytest

from tests.conftest import Llama
from tests.support.sdks import openai_client

pytestmark = pytest.mark.slow

PICTURE = "data:image/png;base64,iVBORw0KGgo="


def ask(llama: Llama, **fields: Any) -> Any:
    with openai_client(llama.port) as client:
        reply = client.chat.completions.create(model="m", max_tokens=8, **fields)
        return list(reply) if fields.get("stream") else reply.choices


def tool(name: str, pattern: str) -> dict[str, Any]:
    date = {"type": "string", "pattern": pattern}
    schema = {"type": "object", "properties": {"pattern": date}, "required": ["pattern"]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("pattern", [r"\d{4}", r"^\d{4}-\S+$"])
def test_a_schema_that_the_grammar_refuses(
    pattern: str, stream: bool, llamas: dict[str, Llama]
) -> None:
    llama, words = llamas["tags"], "log_streamed" if stream else "log_whole"
    mark = llama.proxy.mark()
    fields: dict[str, Any] = {"messages": [{"role": "user", "content": words}], "stream": stream}
    for _ in range(2):
        reply = ask(llama, tools=[tool(words, pattern)], tool_choice="required", **fields)
        assert reply
    assert llama.proxy.output[mark:].count("was asked again without") == 1


def test_a_picture_for_a_model_that_cannot_see(llamas: dict[str, Llama]) -> None:
    part = {"type": "image_url", "image_url": {"url": PICTURE}}
    words = {"type": "text", "text": "What is this?"}
    for _ in range(2):
        reply = ask(llamas["tags"], messages=[{"role": "user", "content": [words, part]}])
        assert reply


def test_another_error_stays_one(llamas: dict[str, Llama]) -> None:
    with pytest.raises(openai.APIStatusError):
        ask(llamas["tags"], messages="none")
