"""Every reply of the Messages API as the official SDK sees it, from llama.cpp's own server and the
small model.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types import Message

from tests.conftest import Llama
from tests.support.clients import ANTHROPIC, Client
from tests.support.prompts import BETWEEN_STEPS, CUT, MODEL, PROMPTS, Prompt
from tests.support.sdk_types import judged_message, judged_stream
from tests.support.sdks import SAMPLING, anthropic_client

pytestmark = pytest.mark.slow

SERVERS = ["tags", "extracted", "opened by the template", "tags of many tokens"]
SUM = PROMPTS[0]


@pytest.fixture(params=SERVERS)
def llama(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Iterator[Llama]:
    chosen = llamas[request.param]
    mark = chosen.proxy.mark()
    yield chosen
    chosen.proxy.check(mark)


@pytest.fixture
def sdk(llama: Llama) -> Iterator[anthropic.Anthropic]:
    with anthropic_client(llama.port) as client:
        yield client


def fields(prompt: Prompt, **more: object) -> dict[str, Any]:
    system = {"system": prompt.system} if prompt.system else {}
    return {
        "model": MODEL,
        "messages": prompt.user,
        "max_tokens": prompt.max_tokens,
        **system,
        "extra_body": SAMPLING | more,
    }


def raw(prompt: Prompt, **more: object) -> bytes:
    wanted = fields(prompt, **more)
    return json.dumps(wanted | wanted.pop("extra_body")).encode()


def dumped(message: Message) -> dict[str, Any]:
    """All but the id, which is another for each reply, and the nulls that the stream helper adds."""
    return message.to_dict(exclude_none=True) | {"id": ""}


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_every_event_and_every_message_is_of_the_sdks_types_and_says_the_same(
    llama: Llama, prompt: Prompt
) -> None:
    with Client(llama.port) as client:
        streamed = judged_stream(client.ask(ANTHROPIC.path, raw(prompt, stream=True)).body)
        whole = judged_message(client.ask(ANTHROPIC.path, raw(prompt)).body)
    assert not streamed.error
    assert streamed.message | {"id": ""} == whole | {"id": ""}


@pytest.mark.parametrize("prompt", [SUM, BETWEEN_STEPS, CUT], ids=lambda prompt: prompt.name)
def test_the_stream_helper_accumulates_to_the_whole_message(
    sdk: anthropic.Anthropic, prompt: Prompt
) -> None:
    whole = sdk.messages.create(**fields(prompt))
    with sdk.messages.stream(**fields(prompt)) as stream:
        streamed = stream.get_final_message()
    assert dumped(streamed) == dumped(whole)
    assert whole.content[0].type == "thinking"


def test_several_async_streams_at_once_are_kept_apart(llamas: dict[str, Llama]) -> None:
    prompts = PROMPTS[:4]

    async def ask() -> list[Message]:
        address = f"http://127.0.0.1:{llamas['tags'].port}"
        async with anthropic.AsyncAnthropic(
            base_url=address, api_key="none", max_retries=0
        ) as client:

            async def one(prompt: Prompt) -> Message:
                async with client.messages.stream(**fields(prompt)) as stream:
                    return await stream.get_final_message()

            return await asyncio.gather(*map(one, prompts))

    with anthropic_client(llamas["tags"].port) as client:
        alone = [dumped(client.messages.create(**fields(prompt))) for prompt in prompts]
    assert [dumped(message) for message in asyncio.run(ask())] == alone


def test_a_thought_cut_off_is_thinking_and_the_limit_is_reported(sdk: anthropic.Anthropic) -> None:
    message = sdk.messages.create(**fields(CUT))
    assert ([block.type for block in message.content], message.stop_reason) == (
        ["thinking"],
        "max_tokens",
    )
    assert message.usage.output_tokens == CUT.max_tokens


def test_thinking_that_is_sent_back_is_read_again(sdk: anthropic.Anthropic) -> None:
    wanted = fields(SUM)
    before = sdk.messages.create(**wanted)
    wanted["messages"] = [
        *wanted["messages"],
        {"role": "assistant", "content": before.content},
        {"role": "user", "content": "8 * 7"},
    ]
    after = sdk.messages.create(**wanted)
    assert [block.type for block in after.content] == ["thinking", "text"]
    assert after.usage.input_tokens > before.usage.input_tokens + before.usage.output_tokens // 2
